"""Which nodes a Pod fits on, and why it does not fit on the others, with the words of Kubernetes' scheduler."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.types.core.v1 import Taint
from pilotage.workloads.nodes.matching import NO_SCHEDULE, node_selector_matches, tolerates, tolerates_taint
from pilotage.workloads.scheduling.placement import NodeInfo, PodInfo
from pilotage.workloads.scheduling.requirements import BLOCKING, Assessment, Port, Requirements, Verdict
from pilotage.workloads.scheduling.scores import fixed_score, resource_score

UNSCHEDULABLE = "node(s) were unschedulable"
UNTOLERATED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
NO_PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
_ANY = "0.0.0.0"  # noqa: S104 - what the API calls any address


FITS = Verdict()


def assess(needs: Requirements, node: NodeInfo) -> Assessment:
    """How a node fits, computed once for each of its states."""
    found = needs.assessments.get(node.name)
    if found is not None and found.version == node.version:
        return found
    verdict = verdict_of(needs, node)
    fits = verdict is FITS
    made = Assessment(
        node.version, verdict, fixed_score(needs, node) if fits else (0, 0), resource_score(needs, node) if fits else 0
    )
    needs.assessments[node.name] = made
    return made


def verdict_of(needs: Requirements, node: NodeInfo) -> Verdict:
    """Whether a node fits: the reasons of the first rule that it breaks."""
    spec = needs.spec
    if node.is_unschedulable and not tolerates_taint(_CORDON, spec.tolerations):
        return Verdict((UNSCHEDULABLE,), False)
    if not tolerates(node.taints, spec.tolerations, BLOCKING):
        return Verdict((UNTOLERATED,), False)
    if not node_selector_matches(spec, node.name, node.labels):
        return Verdict((NOT_SELECTED,), False)
    if needs.ports and conflicts(needs.ports, node.ports):
        return Verdict((NO_PORTS,))
    return lacking(needs, node, ())


def conflicts(wanted: Iterable[Port], used: Iterable[Port]) -> bool:
    """Whether any of the ports is in use, at the same address or at any."""
    return any(
        number == other and protocol == spoken and (address == taken or _ANY in (address, taken))
        for address, protocol, number in wanted
        for taken, spoken, other in used
    )


def lacking(needs: Requirements, node: NodeInfo, reserved: Iterable[PodInfo]) -> Verdict:
    """Whether a node has the resources that a Pod requests, beside Pods for which room is reserved."""
    held = list(reserved)
    reasons: list[str] = []
    is_resolvable = True
    if len(node.pods) + len(held) + 1 > node.allocatable.get("pods", 0):
        reasons.append(TOO_MANY_PODS)
    for name, amount in needs.amounts.items():
        size = node.allocatable.get(name, 0)
        used = node.requested[name] + sum(pod.requirements.amounts.get(name, 0) for pod in held)
        if amount > size - used:
            reasons.append(f"Insufficient {name}")
            is_resolvable = is_resolvable and amount <= size
    return Verdict(tuple(reasons), is_resolvable) if reasons else FITS
