"""Which Pods a DaemonSet creates and deletes next, decided from its Pods and the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pilotage.meta.values import Value
from pilotage.types.apps.v1 import DaemonSet
from pilotage.workloads.daemonsets.placement import (
    GENERATION_LABEL,
    HASH_LABEL,
    Fit,
    Placement,
    surge_count,
    template_generation,
)
from pilotage.workloads.nodes.view import NodeView
from pilotage.workloads.pods.availability import is_available
from pilotage.workloads.pods.view import PodView

BURST_REPLICAS = 250
"""The most Pods that one reconcile creates, and deletes."""


class Observed(Value, frozen=True):
    """What the next steps depend on."""

    owner: DaemonSet
    hash: str
    """The label of Pods of the current template."""
    nodes: Sequence[NodeView]
    fits: Mapping[str, Fit]
    """What is decided for each node."""
    pods: Mapping[str, Sequence[PodView]]
    """The Pods by the node that they are for."""
    now: datetime

    @property
    def desired(self) -> int:
        """How many nodes should have a Pod."""
        return sum(fit.should_run for fit in self.fits.values())

    def available(self, pod: PodView) -> bool:
        return is_available(pod, self.owner.spec.min_ready_seconds, self.now)


class Ended(NamedTuple):
    """A Pod that has ended and is deleted, so that another one runs on its node."""

    pod: PodView
    node: str


class Plan(Value, frozen=True):
    """The Pods to delete, and the nodes that get one."""

    delete: Sequence[PodView] = ()
    create: Sequence[str] = ()
    ended: Sequence[Ended] = ()
    """The ones of `delete` that have ended: each has an Event."""

    @property
    def is_empty(self) -> bool:
        return not self.delete and not self.create


def observe(
    owner: DaemonSet, hashed: str, nodes: Sequence[NodeView], pods: Mapping[str, Sequence[PodView]], now: datetime
) -> Observed:
    """What is observed, with the decision for each node."""
    placement = Placement(owner)
    return Observed(owner, hashed, nodes, {node.name: placement.fit(node) for node in nodes}, pods, now)


def next_plan(seen: Observed, may_delete_failed: Callable[[str], bool]) -> Plan:
    """One Pod for each node that should have one, and none on the others. A failed Pod is deleted if
    `may_delete_failed` of its node says so; else it is left for later."""
    delete: list[PodView] = []
    create: list[str] = []
    ended: list[Ended] = []
    for node in seen.nodes:
        fit, here = seen.fits[node.name], seen.pods.get(node.name, ())
        if fit.should_run and node.name not in seen.pods:
            create.append(node.name)
        elif fit.should_continue:
            gone = _ended(here, node.name, may_delete_failed)
            ended += gone
            running = [pod for pod in here if pod.is_active]
            delete += [one.pod for one in gone] + _superfluous(seen, running)
            if not running and fit.should_run and _allows_surge(seen.owner):
                create.append(node.name)
        else:
            delete += [pod for pod in here if pod.deleted is None]
    delete += _without_node(seen)
    return Plan(delete, create, ended)


def _ended(pods: Iterable[PodView], node: str, may_delete_failed: Callable[[str], bool]) -> list[Ended]:
    found = [pod for pod in pods if pod.deleted is None and pod.is_finished]
    return [Ended(pod, node) for pod in found if pod.phase == "Succeeded" or may_delete_failed(node)]


def _allows_surge(owner: DaemonSet) -> bool:
    return surge_count(owner, 1) > 0


def _superfluous(seen: Observed, running: Sequence[PodView]) -> list[PodView]:
    """The running Pods of a node that are too many: all but the oldest one. With a surge, an old and a new one may
    run until the new one is available or the old one is not ready."""
    if len(running) <= 1:
        return []
    oldest = in_order(running)
    if not _allows_surge(seen.owner):
        return oldest[1:]
    new = next((pod for pod in oldest if pod.labels.get(HASH_LABEL) == seen.hash), None)
    old = next((pod for pod in oldest if pod.labels.get(HASH_LABEL) != seen.hash), None)
    found = [pod for pod in oldest if pod is not new and pod is not old]
    if new is not None and old is not None and (not old.is_ready or seen.available(new)):
        found.append(old)
    return found


def in_order(pods: Iterable[PodView]) -> list[PodView]:
    """Pods that have a node first, then the older ones, then by name."""

    def key(pod: PodView) -> tuple[bool, float, str]:
        return not pod.node, pod.created.timestamp() if pod.created is not None else 0.0, pod.name

    return sorted(pods, key=key)


def _without_node(seen: Observed) -> list[PodView]:
    """The Pods for nodes that do not exist: they are never scheduled."""
    return [pod for node, pods in seen.pods.items() if node not in seen.fits for pod in pods if not pod.node]


def is_updated(owner: DaemonSet, pod: PodView, hashed: str) -> bool:
    """Whether a Pod has the current template, by its hash or by the count of templates."""
    generation = template_generation(owner)
    if generation is not None and pod.labels.get(GENERATION_LABEL) == str(generation):
        return True
    return bool(hashed) and pod.labels.get(HASH_LABEL) == hashed
