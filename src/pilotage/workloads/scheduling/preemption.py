"""Which Pods of lower priority make room for a Pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from pilotage.meta.selectors.selectors import Selector
from pilotage.types.policy.v1 import PodDisruptionBudget
from pilotage.workloads.scheduling import relations
from pilotage.workloads.scheduling.decisions import NOT_HELPFUL, Outcome, Situation, message
from pilotage.workloads.scheduling.filters import FITS
from pilotage.workloads.scheduling.placement import NodeInfo, PodInfo
from pilotage.workloads.scheduling.requirements import Verdict

PREFIX = "no new claims to deallocate, preemption: "
NOT_HELPED = f"{PREFIX}0/{{0}} nodes are available: {{0}} {NOT_HELPFUL}."
NEVER = "not eligible due to preemptionPolicy=Never."
STILL_ENDING = "not eligible due to a terminating pod on the nominated node."
NO_VICTIMS = "No preemption victims found for incoming pod"
_LEAST_PRIORITY = 2**31
_LATE = datetime.max.replace(tzinfo=UTC)


class Preemption(msgspec.Struct, frozen=True, gc=False):
    """The Pods to delete and the node that is free then; without a node, why there is none."""

    node: str = ""
    victims: tuple[PodInfo, ...] = ()
    message: str = ""
    keeps_nomination: bool = False
    """Whether a node that was chosen before stays the chosen one."""


def preempt(
    situation: Situation, outcome: Outcome, nominated: str, budgets: Sequence[PodDisruptionBudget] = ()
) -> Preemption:
    """Where to make room for a Pod that fits nowhere."""
    pod, placement = situation.pod, situation.placement
    if not pod.requirements.can_preempt:
        return Preemption(message=PREFIX + NEVER, keeps_nomination=True)
    if _is_still_ending(situation, outcome, nominated):
        return Preemption(message=PREFIX + STILL_ENDING, keeps_nomination=True)
    refused: list[str] = []
    found: list[tuple[tuple[float, ...], str, tuple[PodInfo, ...]]] = []
    candidates = [name for name, verdict in outcome.verdicts.items() if verdict.is_resolvable]
    for name in candidates:
        victims, violations, verdict = _victims(situation, placement.nodes[name], budgets)
        if verdict is FITS:
            found.append((_cost(victims, violations), name, tuple(victims)))
        else:
            refused += verdict.reasons
    if found:
        _, node, chosen = min(found, key=lambda one: one[0])
        return Preemption(node, chosen)
    total = len(placement.nodes)
    text = message(total, refused, absent=total - len(candidates), absent_reason=NOT_HELPFUL)
    return Preemption(message=PREFIX + text)


def _is_still_ending(situation: Situation, outcome: Outcome, nominated: str) -> bool:
    """Whether Pods that were preempted for this one have not ended yet."""
    node = situation.placement.nodes.get(nominated)
    verdict = outcome.verdicts.get(nominated)
    if node is None or (verdict is not None and not verdict.is_resolvable):
        return False
    preempted = situation.placement.preempted
    return any(
        one.is_terminating and one.uid in preempted and one.priority < situation.pod.priority
        for one in node.pods.values()
    )


def _victims(
    situation: Situation, node: NodeInfo, budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[PodInfo], int, Verdict]:
    """The fewest and least important Pods of a node that must go, and how many of them their budgets protect."""
    pod = situation.pod
    lower = [one for one in node.pods.values() if one.priority < pod.priority]
    if not lower:
        return [], 0, Verdict((NO_VICTIMS,), False)
    lower.sort(key=_importance)
    if (verdict := _verdict_without(situation, node, lower)) is not FITS:
        return [], 0, verdict
    protected = _protected(lower, budgets)
    going = list(lower)
    for one in [*(one for one in lower if one.key in protected), *(one for one in lower if one.key not in protected)]:
        others = [other for other in going if other is not one]
        if _verdict_without(situation, node, others) is FITS:
            going = others
    return going, sum(one.key in protected for one in going), FITS


def _verdict_without(situation: Situation, node: NodeInfo, pods: Iterable[PodInfo]) -> Verdict:
    placement = situation.placement
    with placement.without(pods, node):
        related = relations.Relations(situation.pod, placement) if relations.matter(situation.pod, placement) else None
        return situation.verdict(node, related)


def _importance(pod: PodInfo) -> tuple[int, datetime]:
    return -pod.priority, pod.created or _LATE


def _protected(pods: Iterable[PodInfo], budgets: Sequence[PodDisruptionBudget]) -> set[tuple[str, str]]:
    """The Pods whose budget allows no disruption after the more important ones have used it."""
    left = [(one.status.disruptions_allowed or 0) if one.status is not None else 0 for one in budgets]
    found: set[tuple[str, str]] = set()
    for pod in pods:
        for index, budget in enumerate(budgets):
            if not _is_counted(pod, budget):
                continue
            left[index] -= 1
            if left[index] < 0:
                found.add(pod.key)
    return found


def _is_counted(pod: PodInfo, budget: PodDisruptionBudget) -> bool:
    spec, status = budget.spec, budget.status
    if budget.metadata.namespace != pod.namespace or not pod.labels or spec is None or spec.selector is None:
        return False
    selector = Selector.from_label_selector(spec.selector)
    if not selector.requirements or not selector.matches(pod.labels):
        return False
    return pod.name not in ((status.disrupted_pods or {}) if status is not None else {})


def _cost(victims: Sequence[PodInfo], violations: int) -> tuple[float, ...]:
    """What decides between nodes: the lowest is best."""
    highest = max(one.priority for one in victims)
    earliest = min((one.created or _LATE) for one in victims if one.priority == highest)
    return (
        violations,
        highest,
        sum(one.priority + _LEAST_PRIORITY for one in victims),
        len(victims),
        -earliest.timestamp(),
    )
