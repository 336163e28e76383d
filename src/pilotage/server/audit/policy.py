"""Audit policies (audit.k8s.io/v1): at which level a request is logged, and which of its stages."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.errors import InvalidDefinition
from pilotage.server.access.policyrules import AccessAttributes, path_matches

API_VERSION = "audit.k8s.io/v1"
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
_ANY = "*"


class Level(enum.IntEnum):
    """How much of a request is logged."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


LEVELS = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}
LEVEL_NAMES = {level: name for name, level in LEVELS.items()}


class _GroupResources(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    group: str = ""
    resources: list[str] = []
    resource_names: list[str] = []


class _Rule(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    level: str
    users: list[str] = []
    user_groups: list[str] = []
    verbs: list[str] = []
    resources: list[_GroupResources] = []
    namespaces: list[str] = []
    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs", default_factory=list)
    omit_stages: list[str] = []
    omit_managed_fields: bool | None = None


class _Policy(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    rules: list[_Rule]
    api_version: str = ""
    kind: str = ""
    metadata: dict[str, Any] = {}
    omit_stages: list[str] = []
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True)
class AuditDecision:
    """How a request is logged."""

    level: Level
    omitted_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


class AuditPolicy:
    """Selects how requests are logged: by the first rule that matches, else not at all."""

    def __init__(self, policy: _Policy) -> None:
        self._rules = [(rule, _selection(rule, policy)) for rule in policy.rules]

    @classmethod
    def of(cls, document: Any, source: str = "the audit policy") -> AuditPolicy:
        """The policy of a document. Raises InvalidDefinition."""
        try:
            policy = msgspec.convert(document, _Policy)
        except msgspec.ValidationError as error:
            raise InvalidDefinition(f"{source}: {error}") from None
        if (policy.api_version, policy.kind) != (API_VERSION, "Policy"):
            raise InvalidDefinition(
                f"{source}: it is a {policy.kind or 'document'} of {policy.api_version or 'no apiVersion'}; "
                f"an audit policy is a Policy of {API_VERSION}"
            )
        problem = next(_problems(policy), "")
        if problem:
            raise InvalidDefinition(f"{source}: {problem}")
        return cls(policy)

    def select(self, attributes: AccessAttributes) -> AuditDecision:
        """How a request is logged."""
        for rule, selection in self._rules:
            if _matches(rule, attributes):
                return selection
        return _NOTHING


_NOTHING = AuditDecision(Level.NONE)


def everything(level: str = "Metadata") -> AuditPolicy:
    """The policy of a log without a policy file: each request, at one level."""
    return AuditPolicy(_Policy([_Rule(level)]))


def _selection(rule: _Rule, policy: _Policy) -> AuditDecision:
    omit = rule.omit_managed_fields
    return AuditDecision(
        LEVELS[rule.level],
        frozenset((*policy.omit_stages, *rule.omit_stages)),
        policy.omit_managed_fields if omit is None else omit,
    )


def _problems(policy: _Policy) -> Iterator[str]:
    """What is wrong with a policy of the right shape."""
    yield from _wrong_stages(policy.omit_stages, "omitStages")
    if not policy.rules:
        yield "rules: at least one rule is required, because nothing is logged without rules"
    for index, rule in enumerate(policy.rules):
        at = f"rules[{index}]"
        if rule.level not in LEVELS:
            yield f"{at}.level: {rule.level!r} is not one of {', '.join(LEVELS)}"
        yield from _wrong_stages(rule.omit_stages, f"{at}.omitStages")
        if rule.non_resource_urls and (rule.resources or rule.namespaces):
            yield f"{at}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"
        for url in rule.non_resource_urls:
            if url != _ANY and not url.startswith("/"):
                yield f"{at}.nonResourceURLs: {url!r} must begin with a '/'"
            elif _ANY in url[:-1]:
                yield f"{at}.nonResourceURLs: {url!r} has a '*' that is not its last character"
        for group in rule.resources:
            if group.resource_names and not group.resources:
                yield f"{at}.resources: resourceNames need resources"


def _wrong_stages(stages: Sequence[str], at: str) -> Iterator[str]:
    for stage in stages:
        if stage not in STAGES:
            yield f"{at}: {stage!r} is not one of {', '.join(STAGES)}"


def _matches(rule: _Rule, attributes: AccessAttributes) -> bool:
    user = attributes.user
    if rule.users and user.name not in rule.users:
        return False
    if rule.user_groups and not set(rule.user_groups) & set(user.groups):
        return False
    if rule.verbs and attributes.verb not in rule.verbs:
        return False
    if rule.namespaces or rule.resources:
        return not attributes.path and _matches_resource(rule, attributes)
    if rule.non_resource_urls:
        return bool(attributes.path) and any(path_matches(url, attributes.path) for url in rule.non_resource_urls)
    return True


def _matches_resource(rule: _Rule, attributes: AccessAttributes) -> bool:
    if rule.namespaces and attributes.namespace not in rule.namespaces:
        return False
    return not rule.resources or any(_matches_group(each, attributes) for each in rule.resources)


def _matches_group(group: _GroupResources, attributes: AccessAttributes) -> bool:
    if group.group not in (attributes.group, _ANY):
        return False
    if not group.resources:
        return True
    if group.resource_names and attributes.name not in group.resource_names:
        return False
    wanted = {_ANY, attributes.full_resource, f"{attributes.resource}/{_ANY}"}
    if attributes.subresource:
        wanted.add(f"{_ANY}/{attributes.subresource}")
    return not wanted.isdisjoint(group.resources)
