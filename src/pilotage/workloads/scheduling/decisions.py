"""On which node a Pod is to run, or the message why it cannot run on any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random

import msgspec

from pilotage.workloads.scheduling import relations
from pilotage.workloads.scheduling.filters import FITS, assess, lacking
from pilotage.workloads.scheduling.placement import NodeInfo, Placement, PodInfo
from pilotage.workloads.scheduling.requirements import Verdict

NO_NODES = "no nodes available to schedule pods"
CONFLICT = "pod affinity terms conflict"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_TAINTS, _AFFINITY, _SPREAD = 3, 2, 2
"""The weights of the scores, beside 1 for the resources."""
_MOST = 100

NodeRule = Callable[[NodeInfo], Verdict]


class Situation(msgspec.Struct, frozen=True, gc=False):
    """A Pod among all others, with the rules of its volumes."""

    pod: PodInfo
    placement: Placement
    volumes: NodeRule | None = None

    def verdict(self, node: NodeInfo, related: relations.Relations | None) -> Verdict:
        """Whether a node fits the Pod in every respect, with room for the Pods that have preempted others on it."""
        verdict = assess(self.pod.requirements, node).verdict
        if verdict is FITS and node.nominated:
            verdict = lacking(self.pod.requirements, node, self._reserved(node))
        if verdict is FITS and self.volumes is not None:
            verdict = self.volumes(node)
        return related.verdict(node) if verdict is FITS and related is not None else verdict

    def _reserved(self, node: NodeInfo) -> list[PodInfo]:
        pod = self.pod
        return [one for one in node.nominated.values() if one.key != pod.key and one.priority >= pod.priority]


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The node for a Pod, or why there is none."""

    node: str = ""
    verdicts: Mapping[str, Verdict] = {}
    """Of each node that does not fit."""


def choose(situation: Situation, nominated: str, random: Random) -> Outcome:
    """The best node of those that fit: the nominated one, or that with the best score, one of them at random if several
    are equally good."""
    pod, placement = situation.pod, situation.placement
    related = relations.Relations(pod, placement) if relations.matter(pod, placement) else None
    if (node := placement.nodes.get(nominated)) is not None and situation.verdict(node, related) is FITS:
        return Outcome(nominated)
    only = pod.requirements.only_nodes
    nodes = placement.nodes
    candidates = nodes.values() if only is None else [nodes[name] for name in sorted(only & nodes.keys())]
    is_plain = related is None and situation.volumes is None
    known = pod.requirements.assessments
    verdicts: dict[str, Verdict] = {}
    fitting: list[NodeInfo] = []
    for node in candidates:
        found = known.get(node.name)
        if is_plain and found is not None and found.version == node.version and not node.nominated:
            verdict = found.verdict  # what the call would find, for most nodes of most Pods
        else:
            verdict = situation.verdict(node, related)
        if verdict is FITS:
            fitting.append(node)
        else:
            verdicts[node.name] = verdict
    return Outcome(_best(pod, fitting, placement, random)) if fitting else Outcome(verdicts=verdicts)


def _best(pod: PodInfo, nodes: list[NodeInfo], placement: Placement, random: Random) -> str:
    needs = pod.requirements
    if len(nodes) == 1:
        return nodes[0].name
    owned = placement.owned.get(pod.owner, _NONE) if pod.owner else _NONE
    counts = [owned[node.name] for node in nodes] if owned else [0] * len(nodes)
    most, least = max(counts), min(counts)
    assessed = [needs.assessments[node.name] for node in nodes]
    weight = max(one.fixed[0] for one in assessed) or 1
    repelling = max(one.fixed[1] for one in assessed) or 1
    scores = [
        one.score
        + _SPREAD * (_MOST * (most + least - count) // most if most else _MOST)
        + _AFFINITY * (_MOST * one.fixed[0] // weight)
        - _TAINTS * (_MOST * one.fixed[1] // repelling)
        for one, count in zip(assessed, counts, strict=True)
    ]
    best = max(scores)
    chosen = [node.name for node, score in zip(nodes, scores, strict=True) if score == best]
    return chosen[0] if len(chosen) == 1 else random.choice(chosen)


_NONE: Counter[str] = Counter()


def message(count: int, reasons: Iterable[str], *, absent: int = 0, absent_reason: str = "") -> str:
    """Why none of `count` nodes is right, as the scheduler says it; `absent` of them were not looked at."""
    found = Counter(reasons)
    if absent:
        found[absent_reason] += absent
    listed = ", ".join(sorted(f"{number} {reason}" for reason, number in found.items()))
    return f"0/{count} nodes are available:{f' {listed}.' if listed else ''}"


def unfit_message(outcome: Outcome, count: int) -> str:
    """Why no node fits a Pod, without what is said about preemption."""
    reasons = [reason for verdict in outcome.verdicts.values() for reason in verdict.reasons]
    return message(
        count,
        reasons,
        absent=count - len(outcome.verdicts),
        absent_reason="node(s) didn't satisfy plugin(s) [NodeAffinity]",
    )
