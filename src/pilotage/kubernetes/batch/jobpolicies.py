"""The policies of a Job: when a failed pod fails it, when it has succeeded, when pods are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pilotage.errors import Cause
from pilotage.kubernetes.batch.indexes import count_indexes
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import fields, items, numbers, texts

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_MAX_RULES = 20
_MAX_PATTERNS = 20
_MAX_EXIT_CODES = 255
_MAX_INDEXES = 64 * 1024


def validate_replacement_policy(spec: Document, path: str) -> Iterator[Cause]:
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else _REPLACEMENTS
    yield from fields.optional_choice(policy, path, allowed)


def validate_failure_policy(spec: Document, path: str) -> Iterator[Cause]:
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    rules = policy.get("rules") or []
    yield from items.at_most(rules, f"{path}.rules", _MAX_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {
        container.get("name") or "" for key in ("containers", "initContainers") for container in pod.get(key) or ()
    }
    per_index = spec.get("backoffLimitPerIndex") is not None
    for index, rule in enumerate(rules[: _MAX_RULES * 5]):  # more than that is refused already
        where = f"{path}.rules[{index}]"
        yield from _validate_action(rule.get("action") or "", f"{where}.action", per_index=per_index)
        yield from _validate_failure_rule(rule, where, names)


def _validate_action(action: str, path: str, *, per_index: bool) -> Iterator[Cause]:
    yield from fields.required_choice(action, path, _ACTIONS, _valid(_ACTIONS))
    if action == "FailIndex" and not per_index:
        yield invalid(path, action, "requires the backoffLimitPerIndex to be set")


def _validate_failure_rule(rule: Document, path: str, names: set[str]) -> Iterator[Cause]:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    yield from fields.given(codes, f"{path}.onExitCodes", _validate_exit_codes, names)
    yield from items.at_most(conditions, f"{path}.onPodConditions", _MAX_PATTERNS)
    yield from items.each(conditions[: _MAX_PATTERNS * 5], f"{path}.onPodConditions", _validate_pattern)
    if codes is not None and conditions:
        yield invalid(path, {}, "specifying both OnExitCodes and OnPodConditions is not supported")
    elif codes is None and not conditions:
        yield invalid(path, {}, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_exit_codes(codes: Document, path: str, names: set[str]) -> Iterator[Cause]:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    yield from fields.required_choice(operator, f"{path}.operator", _OPERATORS, _valid(_OPERATORS))
    name = codes.get("containerName")
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, detail)
    if not values:
        yield invalid(f"{path}.values", codes.get("values"), "at least one value is required", whole=True)
    yield from items.at_most(values, f"{path}.values", _MAX_EXIT_CODES)
    seen: set[int] = set()
    for index, value in enumerate(values[: _MAX_EXIT_CODES + 1]):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        yield from items.unique(value, f"{path}.values[{index}]", seen)
    if any(one > other for one, other in pairwise(values)):
        yield invalid(f"{path}.values", values, "must be ordered", whole=True)


def _validate_pattern(pattern: Document, path: str) -> Iterator[Cause]:
    kind, status = pattern.get("type") or "", pattern.get("status") or ""
    yield from texts.text(kind, f"{path}.type", qualified_name)
    yield from fields.required_choice(status, f"{path}.status", _STATUSES, _valid(_STATUSES))


def validate_success_policy(spec: Document, path: str) -> Iterator[Cause]:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(path, policy, "requires indexed completion mode", whole=True)
        return
    rules = policy.get("rules") or []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", detail)
    yield from items.at_most(rules, f"{path}.rules", _MAX_RULES)
    completions = spec.get("completions") or 0
    yield from items.each(rules[: _MAX_RULES * 5], f"{path}.rules", _validate_success_rule, completions)


def _validate_success_rule(rule: Document, path: str, completions: int) -> Iterator[Cause]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        yield from texts.length(indexes, f"{path}.succeededIndexes", _MAX_INDEXES)
        try:
            total = count_indexes(indexes, completions)
        except ValueError as error:
            yield invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    yield from numbers.not_negative(count, f"{path}.succeededCount")
    limit = "must be less than or equal to"
    if count > completions:
        detail = f"{limit} {completions} (the number of specified completions)"
        yield invalid(f"{path}.succeededCount", count, detail)
    if indexes is not None and count > total:
        detail = f"{limit} {total} (the number of indexes in the specified succeededIndexes field)"
        yield invalid(f"{path}.succeededCount", count, detail)


def _valid(values: tuple[str, ...]) -> str:
    quoted = " ".join(f'"{value}"' for value in values)
    return f"valid values: [{quoted}]"
