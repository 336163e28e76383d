"""FlowSchemas and PriorityLevelConfigurations: which requests belong together, and how many of them run at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.paths import mapping
from pilotage.meta.validation.names import RULES, dns_1123_label
from pilotage.server.strategies.checks.fields import validate_needed
from pilotage.server.strategies.checks.numbers import validate_in_range
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.flowcontrol import mandatory
from pilotage.server.strategies.strategy import Strategy, default_empty

_MAX_PRECEDENCE = 10000
_MAX_QUEUES = 10_000_000
_MAX_ENTROPY_BITS = 60
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_DISTINGUISHERS = ("ByNamespace", "ByUser")


class FlowSchemaStrategy(Strategy):
    """FlowSchemas select requests by their user and by what they request."""

    kept_by_status = None

    def default(self, document: Document) -> None:
        spec = document.setdefault("spec", {})
        default_empty(spec, "matchingPrecedence", 1000)

    def validate(self, document: Document) -> list[Cause]:
        spec, name = mapping(document.get("spec")), document["metadata"].get("name", "")
        return [*_validate_schema(spec, name), *mandatory.schema_causes(name, spec)]

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_conditions(document)


class PriorityLevelStrategy(Strategy):
    """PriorityLevelConfigurations limit the requests that run at a time."""

    kept_by_status = None

    def default(self, document: Document) -> None:
        spec = document.setdefault("spec", {})
        limited = spec.get("limited")
        if limited is not None:
            limited.setdefault("nominalConcurrencyShares", 30)
            limited.setdefault("lendablePercent", 0)
            response = limited.setdefault("limitResponse", {})
            queuing = response.get("queuing")
            if queuing is not None:
                for key, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
                    queuing[key] = queuing.get(key) or value
        exempt = spec.get("exempt")
        if spec.get("type") == "Exempt" and exempt is None:
            exempt = spec["exempt"] = {}
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)

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
    level = mapping(spec.get("priorityLevelConfiguration")).get("name")
    if level:
        yield from validate_text(level, "spec.priorityLevelConfiguration.name")
    else:
        yield required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    for index, rule in enumerate(spec.get("rules") or ()):
        yield from _validate_rule(mapping(rule), f"spec.rules[{index}]")


def _validate_rule(rule: Document, path: str) -> Iterator[Cause]:
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        yield from _validate_subject(mapping(subject), f"{path}.subjects[{index}]")
    resources, others = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resources and not others:
        yield required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, each in enumerate(resources):
        yield from _validate_resource_rule(mapping(each), f"{path}.resourceRules[{index}]")
    for index, each in enumerate(others):
        yield from _validate_non_resource_rule(mapping(each), f"{path}.nonResourceRules[{index}]")


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
            else:
                yield from _SUBJECT_CHECKS[field](value, f"{path}.{field}")
        elif value is not None:
            yield forbidden(f"{path}.{field}", f"{field} is forbidden when subject kind is not '{known}'")


def _validate_named(subject: Document, path: str) -> Iterator[Cause]:
    yield from validate_needed(subject, path, "name")


def _validate_service_account(account: Document, path: str) -> Iterator[Cause]:
    name, namespace = account.get("name") or "", account.get("namespace") or ""
    if not name:
        yield required(f"{path}.name")
    elif name != "*":
        yield from validate_text(name, f"{path}.name")
    if namespace:
        yield from validate_text(namespace, f"{path}.namespace", dns_1123_label)
    else:
        yield required(f"{path}.namespace", "must specify namespace for service account")


_SUBJECT_CHECKS: Mapping[str, Callable[[Document, str], Iterator[Cause]]] = {
    "group": _validate_named,
    "serviceAccount": _validate_service_account,
    "user": _validate_named,
}


def _validate_verbs(rule: Document, path: str) -> Iterator[Cause]:
    verbs = [verb or "" for verb in rule.get("verbs") or ()]
    if not verbs:
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    elif "*" in verbs:
        if len(verbs) > 1:
            yield invalid(f"{path}.verbs", verbs, "if '*' is present, must not specify other verbs", whole=True)
    elif not set(verbs) <= set(_VERBS):
        yield not_supported(f"{path}.verbs", verbs, _VERBS)


def _validate_wildcard(values: list[str], path: str, what: str) -> Iterator[Cause]:
    if len(values) > 1 and "*" in values:
        yield invalid(path, values, f"if '*' is present, must not specify other {what}", whole=True)


def _validate_resource_rule(rule: Document, path: str) -> Iterator[Cause]:
    yield from _validate_verbs(rule, path)
    groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
    if not groups:
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    yield from _validate_wildcard(groups, f"{path}.apiGroups", "api groups")
    if not resources:
        yield required(f"{path}.resources", "resource rules must supply at least one resource")
    yield from _validate_wildcard(resources, f"{path}.resources", "resources")
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(f"{path}.namespaces", detail)
    elif "*" in namespaces:
        yield from _validate_wildcard(namespaces, f"{path}.namespaces", "namespaces")
    else:
        for index, namespace in enumerate(namespaces):
            for problem in RULES["label"](namespace or ""):
                detail = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
                yield invalid(f"{path}.namespaces[{index}]", namespace or "", detail)


def _validate_non_resource_rule(rule: Document, path: str) -> Iterator[Cause]:
    yield from _validate_verbs(rule, path)
    urls = [url or "" for url in rule.get("nonResourceURLs") or ()]
    place = f"{path}.nonResourceURLs"
    if not urls:
        yield required(place, "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        if len(urls) > 1:
            detail = "if '*' is present, must not specify other non-resource URLs"
            yield invalid(place, urls, detail, whole=True)
    else:
        for index, url in enumerate(urls):
            if problem := _url_problem(url):
                yield invalid(f"{place}[{index}]", url, problem)


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
        case "":
            yield required("spec.type")
        case _:
            yield not_supported("spec.type", kind, ("Exempt", "Limited"))


def _validate_shares(exempt: Document, path: str) -> Iterator[Cause]:
    shares = exempt.get("nominalConcurrencyShares") or 0
    if shares < 0:
        yield invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    yield from validate_in_range(exempt.get("lendablePercent") or 0, f"{path}.lendablePercent", 0, 100)


def _validate_limited(limited: Document, path: str) -> Iterator[Cause]:
    shares = limited.get("nominalConcurrencyShares") or 0
    if shares < 0:
        yield invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    yield from _validate_response(mapping(limited.get("limitResponse")), f"{path}.limitResponse")
    yield from validate_in_range(limited.get("lendablePercent") or 0, f"{path}.lendablePercent", 0, 100)
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
        case "":
            yield required(f"{path}.type")
        case _:
            yield not_supported(f"{path}.type", kind, ("Queue", "Reject"))


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
    seen = set()
    conditions: list[Any] = mapping(document.get("status")).get("conditions") or []
    for index, condition in enumerate(conditions):
        path = f"status.conditions[{index}]"
        yield from validate_condition_keys(condition, path)
        if condition.get("type") in seen:
            yield Cause("FieldValueDuplicate", f'Duplicate value: "{condition.get("type")}"', f"{path}.type")
        seen.add(condition.get("type"))


def validate_condition_keys(condition: Document, path: str) -> Iterator[Cause]:
    yield from validate_needed(condition, path, "type")
