"""The criteria of a webhook or a policy, without its match conditions: rules, selectors and match policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.selectors.selectors import Selector
from pilotage.server.admission import Attributes
from pilotage.server.matching.rules import MatchRule, first_match
from pilotage.server.matching.selectors import NamespaceLabels, matches_object, selector_of
from pilotage.server.resources import ResourceInfo

EQUIVALENT = "Equivalent"
_ALL = ["*"]
_EVERYTHING = {"operations": _ALL, "apiGroups": _ALL, "apiVersions": _ALL, "resources": ["*/*"]}
"""The rule of match resources without rules."""


@dataclass(frozen=True, slots=True)
class Match:
    """The resource by which a request matches, and what its objects are there: not always the resource of the
    request."""

    resource: GroupVersionResource
    kind: GroupVersionKind
    info: ResourceInfo


@dataclass(frozen=True, slots=True)
class Criteria:
    """Rules, selectors and match policy, compiled."""

    rules: tuple[MatchRule, ...]
    excluded: tuple[MatchRule, ...] = ()
    """Rules of requests that do not match. Only policies have them."""
    namespaces: Selector | None = None
    objects: Selector | None = None
    equivalent: bool = True

    @classmethod
    def of_webhook(cls, webhook: Document) -> Criteria:
        """The criteria in an entry of `webhooks`."""
        return cls._of(webhook, webhook.get("rules") or ())

    @classmethod
    def of_match_resources(cls, resources: Document) -> Criteria:
        """The criteria in `matchConstraints` of a policy, or in `matchResources` of its binding."""
        excluded = resources.get("excludeResourceRules") or ()
        return cls._of(resources, resources.get("resourceRules") or (_EVERYTHING,), excluded)

    @classmethod
    def _of(cls, value: Document, rules: Sequence[Document], excluded: Sequence[Document] = ()) -> Criteria:
        return cls(
            rules=tuple(map(MatchRule.of, rules)),
            excluded=tuple(map(MatchRule.of, excluded)),
            namespaces=selector_of(value.get("namespaceSelector")),
            objects=selector_of(value.get("objectSelector")),
            equivalent=value.get("matchPolicy", EQUIVALENT) == EQUIVALENT,
        )

    async def match(self, attributes: Attributes, namespaces: NamespaceLabels) -> Match | None:
        """How a request matches; None if it does not. Raises NotFound if its namespace does not exist."""
        if not matches_object(self.objects, attributes) or (
            self.excluded and self._matched(self.excluded, attributes) is not None
        ):
            return None
        found = self._matched(self.rules, attributes)
        if found is None or not await namespaces.matches(self.namespaces, attributes):
            return None
        return found

    def _matched(self, rules: tuple[MatchRule, ...], attributes: Attributes) -> Match | None:
        info = attributes.info
        assert info is not None, "verbs set the resource info before admission"
        if any(rule.matches(attributes, info.gvr) for rule in rules):
            return Match(info.gvr, attributes.kind, info)
        if not self.equivalent or not rules:
            return None
        others = list(equivalents(info, attributes.subresource))
        index = first_match(rules, attributes, (other.gvr for other in others)) if others else -1
        if index < 0:
            return None
        other = others[index]
        return Match(other.gvr, attributes.kind if attributes.body is not None else other.gvk, other)


def equivalents(info: ResourceInfo, subresource: str) -> Iterator[ResourceInfo]:
    """The other served versions and groups of the same objects that have a subresource, too."""
    for other in info.versions.values():
        if other.gvr != info.gvr and other.served and (not subresource or subresource in other.rules.subresources):
            yield other
