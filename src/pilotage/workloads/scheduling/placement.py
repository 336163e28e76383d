"""Which Pods are on which nodes, and what they take of them: kept up to date by events and by the scheduler itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import msgspec

from pilotage.types.core.v1 import Node, Taint
from pilotage.workloads.scheduling.amounts import whole
from pilotage.workloads.scheduling.requirements import Port, Requirements

Key = tuple[str, str]
K = TypeVar("K")


class PodInfo(msgspec.Struct, frozen=True, gc=False):
    """A Pod as the scheduler sees it."""

    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    owner: str
    """The uid of its controller; empty without one."""
    created: datetime | None
    is_terminating: bool
    claims: tuple[str, ...]
    ephemeral_claims: tuple[str, ...]
    requirements: Requirements

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    @property
    def priority(self) -> int:
        return self.requirements.priority


@dataclass(slots=True)
class NodeInfo:
    """A node and the Pods on it. A node that was never seen, or is gone, does not exist but may still have Pods."""

    name: str
    exists: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_unschedulable: bool = False
    allocatable: dict[str, int] = field(default_factory=dict)
    requested: Counter[str] = field(default_factory=Counter)
    scored: tuple[int, int] = (0, 0)
    """Cpu and memory that its Pods count for in its score."""
    pods: dict[Key, PodInfo] = field(default_factory=dict)
    ports: Counter[Port] = field(default_factory=Counter)
    nominated: dict[Key, PodInfo] = field(default_factory=dict)
    """Pods that have preempted others on it, and are to run on it."""
    version: int = 0
    """Another one with each change, so that what was computed of an earlier state is recognized."""

    def add(self, pod: PodInfo, sign: int = 1) -> None:
        """Count a Pod, or with the sign -1, count it no more."""
        needs = pod.requirements
        for name, amount in needs.amounts.items():
            self.requested[name] += sign * amount
        cpu, memory = needs.scored
        self.scored = self.scored[0] + sign * cpu, self.scored[1] + sign * memory
        for port in needs.ports:
            self.ports[port] += sign
            if not self.ports[port]:
                del self.ports[port]
        if sign > 0:
            self.pods[pod.key] = pod
        else:
            self.pods.pop(pod.key, None)


Group = tuple[str, tuple[tuple[str, str], ...]]
"""A namespace and labels: Pods that selectors cannot distinguish."""


class Placement:
    """All nodes with their Pods, and where Pods with equal labels are."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        """The nodes that exist."""
        self.version = 0
        """Rises with each change of any node or Pod."""
        self.groups: dict[Group, Counter[str]] = {}
        """How many Pods with equal labels each node has."""
        self.staying: dict[Group, Counter[str]] = {}
        """The same without Pods that are being deleted."""
        self.apart: dict[tuple[str, Requirements], Counter[str]] = {}
        """Where Pods with a required anti-affinity are, by their namespace and requirements."""
        self.owned: dict[str, Counter[str]] = {}
        """How many Pods of a controller each node has."""
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """The labels of namespaces."""
        self.preempted: set[str] = set()
        """The uids of Pods that were deleted to make room."""
        self._infos: dict[str, NodeInfo] = {}
        self._where: dict[Key, tuple[PodInfo, str]] = {}

    def node_of(self, key: Key) -> str:
        """The node that a Pod is on, or empty."""
        found = self._where.get(key)
        return found[1] if found is not None else ""

    def pod(self, key: Key) -> PodInfo | None:
        """A Pod that is on a node."""
        found = self._where.get(key)
        return found[0] if found is not None else None

    def set_node(self, node: Node) -> bool:
        """Take over the state of a node. Whether that may let Pods run that could not before."""
        info = self._info(node.metadata.name)
        spec, status = node.spec, node.status
        given = (status.allocatable or status.capacity) if status is not None else {}
        allocatable = {name: whole(name, amount) for name, amount in given.items()}
        labels = node.metadata.labels
        taints = tuple(spec.taints) if spec is not None else ()
        is_unschedulable = bool(spec is not None and spec.unschedulable)
        new = (True, labels, taints, is_unschedulable, allocatable)
        if new == (info.exists, info.labels, info.taints, info.is_unschedulable, info.allocatable):
            return False
        info.exists, info.labels, info.taints, info.is_unschedulable, info.allocatable = new
        self._changed(info)
        self.nodes[info.name] = info
        return True

    def remove_node(self, name: str) -> None:
        """Forget a node; its Pods stay until they are deleted."""
        if (info := self.nodes.pop(name, None)) is not None:
            info.exists = False
            info.nominated.clear()
            self._changed(info)
            if not info.pods:
                del self._infos[name]

    def place(self, pod: PodInfo, node: str) -> None:
        """Put a Pod on a node, instead of what was known of it."""
        self.remove(pod.key)
        self._where[pod.key] = pod, node
        info = self._info(node)
        self._count(pod, info, 1)

    def remove(self, key: Key) -> bool:
        """Take a Pod off its node. Whether it was on one."""
        if (found := self._where.pop(key, None)) is None:
            return False
        pod, node = found
        info = self._infos[node]
        self._count(pod, info, -1)
        if not info.pods and not info.exists:
            del self._infos[node]
        return True

    def nominate(self, pod: PodInfo | None, key: Key, node: str) -> None:
        """Reserve room on a node for a Pod; without one, no longer."""
        for info in self.nodes.values():
            if info.nominated.pop(key, None) is not None:
                self._changed(info)
        if pod is not None:
            self.nodes[node].nominated[key] = pod
            self._changed(self.nodes[node])

    @contextmanager
    def without(self, pods: Iterable[PodInfo], node: NodeInfo) -> Iterator[None]:
        """The placement as if these Pods were not on the node."""
        taken = list(pods)
        for pod in taken:
            self._count(pod, node, -1)
        try:
            yield
        finally:
            for pod in taken:
                self._count(pod, node, 1)

    def _info(self, name: str) -> NodeInfo:
        info = self._infos.get(name)
        if info is None:
            self._infos[name] = info = NodeInfo(name)
        return info

    def _changed(self, info: NodeInfo) -> None:
        self.version += 1
        info.version = self.version

    def _count(self, pod: PodInfo, info: NodeInfo, sign: int) -> None:
        info.add(pod, sign)
        self._changed(info)
        group = pod.namespace, tuple(pod.labels.items())
        _tally(self.groups, group, info.name, sign)
        if not pod.is_terminating:
            _tally(self.staying, group, info.name, sign)
            if pod.owner:
                _tally(self.owned, pod.owner, info.name, sign)
        if pod.requirements.anti_affinity:
            _tally(self.apart, (pod.namespace, pod.requirements), info.name, sign)


def _tally(counts: dict[K, Counter[str]], key: K, node: str, sign: int) -> None:
    found = counts.get(key)
    if found is None:
        counts[key] = found = Counter()
    found[node] += sign
    if not found[node]:
        del found[node]
        if not found:
            del counts[key]
