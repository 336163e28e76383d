from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("poddisruptionbudgets.policy")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%"}, []),
        ({"minAvailable": 1, "maxUnavailable": 1}, ["spec"]),
        ({"minAvailable": "150%"}, ["spec.minAvailable"]),
        ({"maxUnavailable": -1}, ["spec.maxUnavailable"]),
        ({"selector": {"matchLabels": {"a b": "c"}}}, ["spec.selector.matchLabels"]),
        ({"unhealthyPodEvictionPolicy": "Never"}, ["spec.unhealthyPodEvictionPolicy"]),
    ],
)
def test_rules_over_the_spec(spec: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(STRATEGY, spec=spec)[1]) == expected


def test_a_selector_with_an_old_value_can_stay() -> None:
    old, _ = created(STRATEGY, spec={"minAvailable": 1})
    old["spec"]["selector"] = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}
    document, causes = updated(STRATEGY, old, spec=old["spec"] | {"minAvailable": 2})
    assert not causes
    assert document["metadata"]["generation"] == 2


def test_conditions_and_counts_in_the_status_are_checked() -> None:
    old, _ = created(STRATEGY, spec={})
    condition = {"type": "A", "status": "True", "reason": "B", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    _, causes = status_written(STRATEGY, old, status={"conditions": [condition]})
    assert not causes
    wrong = [condition, {"type": "A", "status": "Some", "reason": "-", "message": "x" * 40_000}]
    _, causes = status_written(STRATEGY, old, status={"conditions": wrong, "expectedPods": -1})
    assert fields(causes) == [
        "status.conditions[1].type",
        "status.conditions[1].status",
        "status.conditions[1].lastTransitionTime",
        "status.conditions[1].reason",
        "status.conditions[1].message",
        "status.expectedPods",
    ]
