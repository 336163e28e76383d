"""How fast an autoscaler scales: its rules for each direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document, copied
from pilotage.server.strategies.checks.fields import validate_choice, validate_given, validate_optional_choice
from pilotage.server.strategies.checks.items import validate_each
from pilotage.server.strategies.checks.quantities import validate_quantity_not_negative

_PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
_PODS = {"type": "Pods", "value": 4, "periodSeconds": 15}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [_PODS, _PERCENT]},
    "scaleDown": {"selectPolicy": "Max", "policies": [_PERCENT]},
}
_SELECTIONS = ("Disabled", "Max", "Min")
_TYPES = ("Percent", "Pods")
_MAX_WINDOW = 3600
_MAX_PERIOD = 1800


def default_behavior(behavior: Document) -> None:
    """Fill in the rules of both directions, in place."""
    for direction, rules in _DEFAULTS.items():
        given = {key: value for key, value in (behavior.get(direction) or {}).items() if value is not None}
        behavior[direction] = copied(rules) | given


def validate_behavior(behavior: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the rules of both directions."""
    for direction in ("scaleUp", "scaleDown"):
        if behavior.get(direction) is not None:
            yield from _validate_rules(behavior[direction], f"{path}.{direction}")


def _validate_rules(rules: Document, path: str) -> Iterator[Cause]:
    window = rules.get("stabilizationWindowSeconds") or 0
    if window < 0:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window > _MAX_WINDOW:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, f"must be less than or equal to {_MAX_WINDOW}")
    yield from validate_optional_choice(rules.get("selectPolicy"), f"{path}.selectPolicy", _SELECTIONS)
    policies = rules.get("policies") or []
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    yield from validate_each(policies, f"{path}.policies", _validate_policy)
    yield from validate_given(rules.get("tolerance"), f"{path}.tolerance", validate_quantity_not_negative)


def _validate_policy(policy: Document, path: str) -> Iterator[Cause]:
    kind, value, period = policy.get("type") or "", policy.get("value") or 0, policy.get("periodSeconds") or 0
    yield from validate_choice(kind, f"{path}.type", _TYPES)
    if value <= 0:
        yield invalid(f"{path}.value", value, "must be greater than zero")
    if period <= 0:
        yield invalid(f"{path}.periodSeconds", period, "must be greater than zero")
    if period > _MAX_PERIOD:
        yield invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}")
