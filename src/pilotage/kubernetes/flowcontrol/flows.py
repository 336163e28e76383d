"""FlowSchemas and PriorityLevelConfigurations: which requests belong together, and how many of them run at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.flowcontrol import mandatory
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.paths import mapping
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, items, numbers, texts
from pilotage.server.strategies.strategy import Strategy

_MAX_PRECEDENCE = 10000
_MAX_QUEUES = 10_000_000
_MAX_ENTROPY_BITS = 60
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_DISTINGUISHERS = ("ByNamespace", "ByUser")


class FlowSchemaStrategy(Strategy):
    """FlowSchemas select requests by their user and by what they request."""

    def validate(self, document: Document) -> list[Cause]:
        spec, name = mapping(document.get("spec")), document["metadata"].get("name", "")
        return [*_validate_schema(spec, name), *mandatory.schema_causes(name, spec)]

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_conditions(document)


class PriorityLevelStrategy(Strategy):
    """PriorityLevelConfigurations limit the requests that run at a time."""

    def validate(self, document: Document) -> list[Cause]:
        spec, name = mapping(document.get("spec")), document["metadata"].get("name", "")
        return [*_validate_level(spec, name), *mandatory.level_causes(name, spec)]

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_conditions(document)


def _validate_schema(spec: Document, name: str) -> Iterator[Cause]:
    precedence = spec.get("matchingPrecedence") or 0
    if precedence <= 0:
        yield invalid("spec.matchingPrecedence", precedence, "must be a positive value")
    if precedence > _MAX_PRECEDENCE:
        yield invalid("spec.matchingPrecedence", precedence, f"must not be greater than {_MAX_PRECEDENCE}")
    if precedence == 1 and name != "exempt":
        yield invalid(
            "spec.matchingPrecedence", precedence, "only the schema named 'exempt' may have matchingPrecedence 1"
        )
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        shown = {"Type": method.get("type") or ""}
        yield not_supported("spec.distinguisherMethod.type", shown, _DISTINGUISHERS)
    level, path = mapping(spec.get("priorityLevelConfiguration")).get("name"), "spec.priorityLevelConfiguration.name"
    yield from texts.required_text(level, path, detail="must reference a priority level")
    yield from items.each(spec.get("rules"), "spec.rules", _validate_rule)


def _validate_rule(rule: Document, path: str) -> Iterator[Cause]:
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield required(f"{path}.subjects", "subjects must contain at least one value")
    yield from items.each(subjects, f"{path}.subjects", _validate_subject)
    resources, others = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resources and not others:
        yield required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    yield from items.each(resources, f"{path}.resourceRules", _validate_resource_rule)
    yield from items.each(others, f"{path}.nonResourceRules", _validate_non_resource_rule)


def _validate_subject(subject: Document, path: str) -> Iterator[Cause]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        yield not_supported(f"{path}.kind", kind, list(_SUBJECTS))
        return
    for known, field in _SUBJECTS.items():
        value = subject.get(field)
        if known == kind:
            if value is None:
                yield required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")
            elif kind == "ServiceAccount":
                yield from _validate_service_account(value, f"{path}.{field}")
            else:
                yield from fields.needed(value, f"{path}.{field}", "name")
        elif value is not None:
            yield forbidden(f"{path}.{field}", f"{field} is forbidden when subject kind is not '{known}'")


def _validate_service_account(account: Document, path: str) -> Iterator[Cause]:
    if account.get("name") != "*":
        yield from texts.required_text(account.get("name"), f"{path}.name")
    detail = "must specify namespace for service account"
    yield from texts.required_text(account.get("namespace"), f"{path}.namespace", dns_1123_label, detail)


def _validate_verbs(rule: Document, path: str) -> Iterator[Cause]:
    verbs = rule.get("verbs") or []
    if not verbs:
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    yield from items.wildcard(verbs, f"{path}.verbs", "verbs")
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield not_supported(f"{path}.verbs", verbs, _VERBS)


def _validate_resource_rule(rule: Document, path: str) -> Iterator[Cause]:
    yield from _validate_verbs(rule, path)
    groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
    if not groups:
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    yield from items.wildcard(groups, f"{path}.apiGroups", "api groups")
    if not resources:
        yield required(f"{path}.resources", "resource rules must supply at least one resource")
    yield from items.wildcard(resources, f"{path}.resources", "resources")
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(f"{path}.namespaces", detail)
    yield from items.wildcard(namespaces, f"{path}.namespaces", "namespaces")
    for index, namespace in enumerate(namespaces if "*" not in namespaces else ()):
        for problem in dns_1123_label(namespace):
            detail = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
            yield invalid(f"{path}.namespaces[{index}]", namespace, detail)


def _validate_non_resource_rule(rule: Document, path: str) -> Iterator[Cause]:
    yield from _validate_verbs(rule, path)
    urls, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        yield required(at, "nonResourceURLs must contain at least one value")
    yield from items.wildcard(urls, at, "non-resource URLs")
    for index, url in enumerate(urls if "*" not in urls else ()):
        if problem := _url_problem(url):
            yield invalid(f"{at}[{index}]", url, problem)


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url[:-1] or (url.endswith("*") and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _validate_level(spec: Document, name: str) -> Iterator[Cause]:
    kind = spec.get("type") or ""
    if (name == "exempt" and kind != "Exempt") or (kind == "Exempt" and name != "exempt"):
        yield invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    match kind:
        case "Exempt":
            if spec.get("limited") is not None:
                yield forbidden("spec.limited", "must be nil if the type is not Limited")
            yield from _validate_shares(mapping(spec.get("exempt")), "spec.exempt")
        case "Limited":
            if spec.get("exempt") is not None:
                yield forbidden("spec.exempt", "must be nil if the type is Limited")
            if spec.get("limited") is None:
                yield required("spec.limited", "must not be empty when type is Limited")
            else:
                yield from _validate_limited(spec["limited"], "spec.limited")
        case _:
            yield from fields.required_choice(kind, "spec.type", ("Exempt", "Limited"))


def _validate_shares(level: Document, path: str) -> Iterator[Cause]:
    shares = level.get("nominalConcurrencyShares") or 0
    if shares < 0:
        yield invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    yield from fields.given(level.get("limitResponse"), f"{path}.limitResponse", _validate_response)
    yield from numbers.in_range(level.get("lendablePercent") or 0, f"{path}.lendablePercent", 0, 100)


def _validate_limited(limited: Document, path: str) -> Iterator[Cause]:
    yield from _validate_shares(limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        yield invalid(f"{path}.borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer")


def _validate_response(response: Document, path: str) -> Iterator[Cause]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    match kind:
        case "Reject":
            if queuing is not None:
                yield forbidden(f"{path}.queuing", "must be nil if limited.limitResponse.type is not Limited")
        case "Queue":
            if queuing is None:
                yield required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")
            else:
                yield from _validate_queuing(queuing, f"{path}.queuing")
        case _:
            yield from fields.required_choice(kind, f"{path}.type", ("Queue", "Reject"))


def _validate_queuing(queuing: Document, path: str) -> Iterator[Cause]:
    length, queues, hand = (queuing.get(key) or 0 for key in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        yield invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _MAX_QUEUES:
        yield invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}")
    if hand <= 0:
        yield invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif _entropy_bits(queues, hand) > _MAX_ENTROPY_BITS:
        detail = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than 60"
        yield invalid(f"{path}.handSize", hand, detail)


def _entropy_bits(queues: int, hand: int) -> float:
    """How many random bits it takes to choose a hand of queues."""
    return math.ceil(sum(math.log2(queues - index) for index in range(min(hand, 64))))


def _validate_conditions(document: Document) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, condition in enumerate(mapping(document.get("status")).get("conditions") or ()):
        path = f"status.conditions[{index}]"
        yield from fields.needed(condition, path, "type")
        yield from items.unique(condition.get("type") or "", f"{path}.type", seen)
