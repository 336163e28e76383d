"""A DaemonSet whose plan is carried out on Pods in memory, as the tests of Kubernetes' controller do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from pilotage.meta.models import ObjectMeta
from pilotage.types.apps.v1 import DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet
from pilotage.types.core.v1 import Taint, Toleration
from pilotage.workloads.daemonsets.placement import HASH_LABEL
from pilotage.workloads.daemonsets.plan import Observed, Plan, next_plan, observe
from pilotage.workloads.daemonsets.rollout import next_rollout
from pilotage.workloads.nodes.view import NodeView
from pilotage.workloads.pods.view import PodView
from tests.workloads.kit import NAMESPACE, selecting, template, view

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LABELS = {"app": "agent"}


def rolling(max_unavailable: int | str = 0, max_surge: int | str = 0) -> DaemonSetUpdateStrategy:
    return DaemonSetUpdateStrategy(
        type="RollingUpdate",
        rolling_update=RollingUpdateDaemonSet(max_unavailable=max_unavailable, max_surge=max_surge),
    )


def daemon_set(
    strategy: DaemonSetUpdateStrategy | None = None, tolerations: Iterable[Toleration] = (), **labels: str
) -> DaemonSet:
    """A DaemonSet as the server defaults it; `labels` are its node selector."""
    made = DaemonSet(
        metadata=ObjectMeta(name="agent", namespace=NAMESPACE, uid="set", generation=1),
        spec=DaemonSetSpec(
            selector=selecting(LABELS), template=template(LABELS), update_strategy=strategy or rolling(1)
        ),
    )
    assert made.spec.template.spec is not None
    made.spec.template.spec.tolerations = list(tolerations)
    made.spec.template.spec.node_selector = labels
    return made


def node(name: str = "node-0", *taints: Taint, **labels: str) -> NodeView:
    return NodeView(name, labels, tuple(taints))


class Simulation:
    """The Pods of a DaemonSet on some nodes. Its revisions are plain names: `hash` is that of its template."""

    def __init__(self, owner: DaemonSet, nodes: Iterable[NodeView] = ()) -> None:
        self.owner = owner
        self.nodes = {each.name: each for each in nodes}
        self.pods: dict[str, PodView] = {}
        self.hash = "first"
        self.now = NOON
        self._made = 0

    def add(
        self,
        on: str,
        hashed: str = "first",
        *,
        ready: bool = False,
        ready_since: datetime | None = None,
        age: int = 0,
        phase: str = "Running",
        deleted: bool = False,
    ) -> PodView:
        """Add a Pod on a node."""
        self._made += 1
        pod = view(
            f"pod-{self._made:03}",
            labels=LABELS | {HASH_LABEL: hashed},
            node=on,
            phase=phase,
            ready=ready,
            ready_since=(ready_since or self.now) if ready else None,
            created=NOON - timedelta(seconds=age),
            deleted=self.now if deleted else None,
        )
        self.pods[pod.name] = pod
        return pod

    def observe(self) -> Observed:
        by_node: dict[str, list[PodView]] = {}
        for pod in self.pods.values():
            by_node.setdefault(pod.node, []).append(pod)
        return observe(self.owner, self.hash, list(self.nodes.values()), by_node, self.now)

    def plan(self, may_delete_failed: Callable[[str], bool] = lambda node: True) -> Plan:
        return next_plan(self.observe(), may_delete_failed)

    def sync(self) -> tuple[int, int]:
        """Create and delete Pods, then replace some; how many were created and deleted in all."""
        first = self.plan()
        self._do(first)
        strategy = self.owner.spec.update_strategy
        second = next_rollout(self.observe()) if strategy and strategy.type == "RollingUpdate" else Plan()
        self._do(second)
        return len(first.create) + len(second.create), len(first.delete) + len(second.delete)

    def _do(self, plan: Plan) -> None:
        for name in plan.create:
            self.add(name, self.hash)
        for pod in plan.delete:
            del self.pods[pod.name]

    def set_ready(
        self, count: int = 10**9, of: Callable[[PodView], bool] = lambda pod: True, ready: bool = True
    ) -> None:
        """Change the readiness of some Pods."""
        for name, pod in list(self.pods.items()):
            if count > 0 and pod.is_ready is not ready and of(pod):
                self.pods[name] = replace(pod, is_ready=ready, ready_since=self.now)
                count -= 1

    def update(self, hashed: str, strategy: DaemonSetUpdateStrategy) -> None:
        """Give the DaemonSet another template."""
        self.hash, self.owner.spec.update_strategy = hashed, strategy


def simulation(strategy: DaemonSetUpdateStrategy | None = None, nodes: int = 5) -> Simulation:
    return Simulation(daemon_set(strategy), [node(f"node-{number}") for number in range(nodes)])


def running(nodes: int = 5, *, ready: bool = True) -> Simulation:
    """A DaemonSet with a Pod on each node."""
    made = simulation(nodes=nodes)
    assert made.sync() == (nodes, 0)
    if ready:
        made.set_ready()
    return made
