"""On which nodes a DaemonSet runs Pods, and how a Pod is bound to its node."""

from __future__ import annotations

from typing import NamedTuple

from pilotage.meta.models import ObjectMeta
from pilotage.meta.objects import copy_of
from pilotage.meta.scalars.intorstring import scaled_value
from pilotage.types.apps.v1 import DaemonSet, RollingUpdateDaemonSet
from pilotage.types.core.v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Toleration,
)
from pilotage.workloads.integers import parse_integer
from pilotage.workloads.nodes.matching import NO_EXECUTE, NO_SCHEDULE, node_selector_matches, tolerates
from pilotage.workloads.nodes.view import NodeView

NODE_NAME_FIELD = "metadata.name"
HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
ROLLING_UPDATE = "RollingUpdate"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK = (("node.kubernetes.io/network-unavailable", NO_SCHEDULE),)


class Fit(NamedTuple):
    """Whether a node gets a Pod, and whether a Pod that runs there may stay."""

    should_run: bool
    should_continue: bool


class Placement:
    """Decides for each node about the Pods of one DaemonSet."""

    def __init__(self, owner: DaemonSet) -> None:
        spec = owner.spec.template.spec or PodSpec(containers=[])
        self._spec = spec
        self._tolerations = with_daemon_tolerations(spec.tolerations, host_network=bool(spec.host_network))

    def fit(self, node: NodeView) -> Fit:
        """Whether the node is selected and its taints are tolerated; with a new taint that only keeps Pods away, those
        on the node stay."""
        spec = self._spec
        if spec.node_name and spec.node_name != node.name:
            return Fit(should_run=False, should_continue=False)
        if not node_selector_matches(spec, node.name, node.labels):
            return Fit(should_run=False, should_continue=False)
        if tolerates(node.taints, self._tolerations, (NO_SCHEDULE, NO_EXECUTE)):
            return Fit(should_run=True, should_continue=True)
        return Fit(should_run=False, should_continue=tolerates(node.taints, self._tolerations, (NO_EXECUTE,)))


def with_daemon_tolerations(given: list[Toleration], *, host_network: bool) -> list[Toleration]:
    """Tolerations with those that each Pod of a DaemonSet has: it stays on a node that is not ready."""
    found = list(given)
    for key, effect in (*_TOLERATED, *(_TOLERATED_ON_HOST_NETWORK if host_network else ())):
        made = Toleration(key=key, operator="Exists", effect=effect)
        same = [index for index, one in enumerate(found) if _same_taint(one, made)]
        for index in same:
            found[index] = made
        if not same:
            found.append(made)
    return found


def _same_taint(one: Toleration, other: Toleration) -> bool:
    def taint(toleration: Toleration) -> tuple[str, str, str, str]:
        return toleration.key or "", toleration.effect or "", toleration.operator or "", toleration.value or ""

    return taint(one) == taint(other)


def pod_template(owner: DaemonSet, hashed: str) -> PodTemplateSpec:
    """The template of the Pods, with their tolerations and the labels of the revision."""
    template = copy_of(owner.spec.template)
    meta = template.metadata or ObjectMeta()
    spec = template.spec or PodSpec(containers=[])
    spec.tolerations = with_daemon_tolerations(spec.tolerations, host_network=bool(spec.host_network))
    labels = dict(meta.labels)
    if (generation := template_generation(owner)) is not None:
        labels[GENERATION_LABEL] = str(generation)
    meta.labels = {**labels, HASH_LABEL: hashed} if hashed else labels
    template.metadata, template.spec = meta, spec
    return template


def template_generation(owner: DaemonSet) -> int | None:
    """The count of templates in an annotation that an old version of the API had as a field."""
    return parse_integer(owner.metadata.annotations.get(GENERATION_ANNOTATION, ""))


def affinity_to(node: str, given: Affinity | None) -> Affinity:
    """An affinity that requires just this node; the scheduler does the rest. The node was selected by the terms that it
    replaces, so they are not needed any more."""
    requirement = NodeSelectorRequirement(key=NODE_NAME_FIELD, operator="In", values=[node])
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[requirement])])
    affinity = copy_of(given) if given is not None else Affinity()
    if affinity.node_affinity is None:
        affinity.node_affinity = NodeAffinity()
    affinity.node_affinity.required_during_scheduling_ignored_during_execution = required
    return affinity


def target_node(pod: Pod) -> str:
    """The node of a Pod, or the one that its affinity requires; empty for a Pod that is for no single node."""
    spec = pod.spec
    if spec is None or spec.node_name:
        return (spec.node_name if spec is not None else None) or ""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == NODE_NAME_FIELD and field.operator == "In":
                return field.values[0] if len(field.values) == 1 else ""
    return ""


def surge_count(owner: DaemonSet, nodes: int) -> int:
    """How many nodes may have two Pods during an update."""
    rolling = _rolling(owner)
    if rolling is None or rolling.max_surge is None:
        return 0
    return scaled_value(rolling.max_surge, nodes, round_up=True)


def unavailable_count(owner: DaemonSet, nodes: int) -> int:
    """How many nodes may have no available Pod during an update."""
    rolling = _rolling(owner)
    if rolling is None or rolling.max_unavailable is None:
        return 0
    return scaled_value(rolling.max_unavailable, nodes, round_up=True)


def _rolling(owner: DaemonSet) -> RollingUpdateDaemonSet | None:
    strategy = owner.spec.update_strategy
    return strategy.rolling_update if strategy is not None and strategy.type == ROLLING_UPDATE else None
