"""The status of a budget, decided without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import Pod, PodCondition, PodSpec, PodStatus
from pilotage.types.meta.v1 import Condition, LabelSelector, LabelSelectorRequirement
from pilotage.types.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from pilotage.workloads.disruptions.decisions import (
    Expected,
    disrupted,
    expected,
    has_status,
    healthy,
    next_status,
    selector_text,
)
from pilotage.workloads.disruptions.stale import stale_at
from tests.workloads.kit import view

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = PodSpec(containers=[])


@pytest.mark.parametrize(
    ("spec", "pods", "scale", "wanted"),
    [
        (PodDisruptionBudgetSpec(min_available=3), 4, 0, Expected(4, 3)),
        (PodDisruptionBudgetSpec(min_available="28%"), 1, 0, Expected(0, 0)),
        (PodDisruptionBudgetSpec(min_available="20%"), 1, 10, Expected(10, 2)),
        (PodDisruptionBudgetSpec(min_available="67%"), 1, 10, Expected(10, 7)),
        (PodDisruptionBudgetSpec(max_unavailable=2), 1, 7, Expected(7, 5)),
        (PodDisruptionBudgetSpec(max_unavailable=9), 1, 7, Expected(7, 0)),
        (PodDisruptionBudgetSpec(max_unavailable="30%"), 1, 7, Expected(7, 4)),
        (PodDisruptionBudgetSpec(max_unavailable="30%"), 1, 3, Expected(3, 2)),
        (PodDisruptionBudgetSpec(), 3, 3, Expected(0, 0)),
    ],
)
def test_a_budget_asks_for_a_number_of_healthy_pods(
    spec: PodDisruptionBudgetSpec, pods: int, scale: int, wanted: Expected
) -> None:
    assert expected(spec, pods, scale) == wanted


def test_a_pod_whose_eviction_was_allowed_is_waited_for_two_minutes() -> None:
    given = {
        "deleted": NOW,
        "overdue": NOW - timedelta(minutes=3),
        "waiting": NOW - timedelta(minutes=1),
        "gone": NOW,
    }
    pods = [view("deleted", deleted=NOW, ready=True), view("overdue", ready=True), view("waiting", ready=True)]
    found = disrupted(given, pods, NOW)
    assert found.pods == {"waiting": NOW - timedelta(minutes=1)}
    assert [pod.name for pod in found.overdue] == ["overdue"]
    assert found.recheck == NOW + timedelta(minutes=1)
    assert healthy(pods, found.pods, NOW) == 1


def test_no_disruption_is_allowed_while_there_are_no_pods() -> None:
    budget = PodDisruptionBudget(metadata=ObjectMeta(name="budget", generation=1))
    assert next_status(budget, Expected(0, 0), 5, {}, NOW).disruptions_allowed == 0


def test_other_conditions_of_a_budget_are_kept() -> None:
    other = Condition(type="Other", status="True", reason="Test", message="", last_transition_time=NOW)
    budget = PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", generation=1), status=PodDisruptionBudgetStatus(conditions=[other])
    )
    status = next_status(budget, Expected(0, 3), 0, {}, NOW)
    assert [one.type for one in status.conditions] == ["Other", "DisruptionAllowed"]
    budget.status = status
    assert has_status(budget, next_status(budget, Expected(0, 3), 0, {}, NOW + timedelta(hours=1)))
    assert not has_status(budget, next_status(budget, Expected(3, 3), 4, {}, NOW))


def with_condition(status: str = "True", reason: str = "", *, deleted: bool = False, phase: str = "Running") -> Pod:
    condition = PodCondition(type="DisruptionTarget", status=status, reason=reason, last_transition_time=NOW)
    metadata = ObjectMeta(name="pod", deletion_timestamp=NOW if deleted else None)
    return Pod(metadata=metadata, spec=SPEC, status=PodStatus(phase=phase, conditions=[condition]))


@pytest.mark.parametrize(
    ("pod", "due"),
    [
        (with_condition(), NOW + timedelta(minutes=2)),
        (with_condition(deleted=True), None),
        (Pod(metadata=ObjectMeta(name="pod", deletion_timestamp=NOW), spec=SPEC), None),
        (with_condition("False"), None),
        (with_condition(reason="TerminationByKubelet"), None),
        (with_condition(phase="Failed"), None),
    ],
    ids=["stale", "actuated", "none", "cleared", "by the kubelet", "ended"],
)
def test_the_disruption_of_a_pod_is_stale_after_two_minutes(pod: Pod, due: datetime | None) -> None:
    assert stale_at(pod) == due


def test_a_selector_in_an_event_is_written_as_go_prints_it() -> None:
    selector = LabelSelector(
        match_labels={"b": "2", "a": "1"},
        match_expressions=[LabelSelectorRequirement(key="tier", operator="In", values=["x", "y"])],
    )
    assert selector_text(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
        "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:tier,Operator:In,Values:[x y],},},}"
    )
