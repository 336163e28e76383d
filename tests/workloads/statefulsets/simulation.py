"""A StatefulSet whose plan is carried out on Pods in memory, as the tests of Kubernetes' controller do it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from msgspec.structs import replace

from pilotage.meta.models import ObjectMeta
from pilotage.types.apps.v1 import (
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetSpec,
    StatefulSetStatus,
    StatefulSetUpdateStrategy,
)
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.statefulsets.identity import REVISION_LABEL, ordinal_of, ordinals_of
from pilotage.workloads.statefulsets.plan import Observed, Plan, Step, next_plan
from pilotage.workloads.statefulsets.status import complete_rolling_update, next_status, without_one_current
from tests.workloads.kit import NAMESPACE, selecting, template, view

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LABELS = {"app": "web"}
Failure = Callable[[Step], bool]


def stateful_set(
    replicas: int = 3,
    *,
    parallel: bool = False,
    start: int = 0,
    partition: int | None = 0,
    strategy: str = "RollingUpdate",
    min_ready_seconds: int = 0,
) -> StatefulSet:
    """A StatefulSet as the server defaults it."""
    rolling = RollingUpdateStatefulSetStrategy(partition=partition) if partition is not None else None
    return StatefulSet(
        metadata=ObjectMeta(name="web", namespace=NAMESPACE, uid="set", generation=1),
        spec=StatefulSetSpec(
            replicas=replicas,
            selector=selecting(LABELS),
            template=template(LABELS),
            ordinals=StatefulSetOrdinals(start=start) if start else None,
            pod_management_policy="Parallel" if parallel else "OrderedReady",
            update_strategy=StatefulSetUpdateStrategy(
                type=strategy, rolling_update=rolling if strategy == "RollingUpdate" else None
            ),
            min_ready_seconds=min_ready_seconds,
        ),
    )


class Simulation:
    """The Pods of a StatefulSet. Its revisions are plain names: `update` is the revision of its template."""

    def __init__(self, owner: StatefulSet) -> None:
        self.owner = owner
        self.pods: dict[int, PodView] = {}
        self.update = "first"
        self.now = NOON
        self.creates = 0
        self.deletes = 0
        self.status = StatefulSetStatus(replicas=0)

    @property
    def current(self) -> str:
        return self.status.current_revision or self.update

    @property
    def revisions(self) -> dict[int, str]:
        """The revision of each Pod."""
        return {ordinal: pod.labels[REVISION_LABEL] for ordinal, pod in sorted(self.pods.items())}

    def plan(self) -> Plan:
        self.owner.status = self.status
        return next_plan(Observed(self.owner, self.current, self.update, list(self.pods.values()), self.now))

    def sync(self, fails: Failure = lambda step: False) -> StatefulSetStatus:
        """One reconcile. A deleted Pod is gone at once. After a step that fails, nothing more happens."""
        plan = self.plan()
        status = next_status(self.owner, self.current, self.update, 0, self.pods.values(), self.now)
        for step in plan.steps:
            if fails(step):
                break
            self._do(step)
        else:
            if plan.deletes_for_update:
                without_one_current(status)
        complete_rolling_update(self.owner, status)
        self.status = status
        return status

    def _do(self, step: Step) -> None:
        if step.verb == "create":
            self.creates += 1
            name = f"web-{step.ordinal}"
            revision = self.current if step.is_current else self.update
            labels = {**LABELS, "statefulset.kubernetes.io/pod-name": name, REVISION_LABEL: revision}
            assert step.ordinal not in self.pods
            self.pods[step.ordinal] = view(name, labels=labels, phase="Pending", ready=False)
        elif step.verb == "delete":
            self.deletes += 1
            del self.pods[step.ordinal]

    def change(self, ordinal: int, phase: str, ready: bool = False, since: datetime | None = None) -> None:
        """What a kubelet writes."""
        ready_since = (since or self.now) if ready else None
        self.pods[ordinal] = replace(self.pods[ordinal], phase=phase, is_ready=ready, ready_since=ready_since)

    def terminate(self, ordinal: int) -> None:
        """A Pod is being deleted, and its containers still run."""
        self.pods[ordinal] = replace(self.pods[ordinal], deleted=self.now)

    def settle(self, check: Callable[[], None] = lambda: None, ready_for: timedelta = timedelta()) -> StatefulSetStatus:
        """Reconcile and let the Pods become ready, one by one, until nothing changes."""
        for _ in range(10 * (len(self.pods) + len(ordinals_of(self.owner)) + 2)):
            before = dict(self.pods), self.status
            self.sync()
            check()
            self._advance(ready_for)
            check()
            if before == (self.pods, self.status):
                return self.status
        raise AssertionError("the Pods do not settle")

    def _advance(self, ready_for: timedelta) -> None:
        """The next step of the first Pod that is not ready."""
        for ordinal, pod in sorted(self.pods.items()):
            if pod.phase == "Pending":
                return self.change(ordinal, "Running")
            if pod.phase == "Running" and not pod.is_ready:
                return self.change(ordinal, "Running", ready=True, since=self.now - ready_for)
        return None

    def check_order(self) -> None:
        """Pods exist without gaps, and no Pod is ready before the one below it."""
        start = ordinals_of(self.owner).start
        pods = [pod for _, pod in sorted(self.pods.items())]
        assert [ordinal_of(pod.name) for pod in pods] == list(range(start, start + len(pods)))
        for below, above in pairwise(pods):
            assert below.is_ready or not above.is_ready

    def check_revisions(self) -> None:
        """The lowest Pods have the current revision, and the highest ones the update revision, as the status says."""
        found = list(self.revisions.values())
        currents, updated = self.status.current_replicas or 0, self.status.updated_replicas or 0
        assert all(revision == self.status.current_revision for revision in found[:currents])
        assert all(revision == self.status.update_revision for revision in found[len(found) - updated :])
