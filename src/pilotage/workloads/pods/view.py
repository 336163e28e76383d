"""A Pod as controllers see it: the fields that decide, decoded once for each version of the Pod."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.values import Value

JOB_TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
_MOST_LABELS = 10_000


class PodView(Value, frozen=True, gc=False):
    """The fields of a Pod that controllers read. `is_ready` and the like are computed once."""

    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    labels: dict[str, str] = {}
    """Shared by all Pods with these labels, so it is not changed."""
    annotations: dict[str, str] = {}
    controller_uid: str = ""
    """Empty for a Pod that no object controls."""
    controller_kind: str = ""
    controller_name: str = ""
    created: datetime | None = None
    deleted: datetime | None = None
    """The deletion timestamp."""
    finalizers: tuple[str, ...] = ()
    node: str = ""
    """The name of its node; empty while it is not scheduled."""
    phase: str = "Pending"
    is_ready: bool = False
    ready_since: datetime | None = None
    """When the condition Ready changed last; None where there is none."""
    restarts: int = 0
    """Of all containers together."""
    waiting: tuple[str, ...] = ()
    """Why containers wait."""
    most_restarts: tuple[int, int] = (0, 0)
    """Of one container, and of one sidecar."""
    generation: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and name."""
        return self.namespace, self.name

    @property
    def is_active(self) -> bool:
        """Whether it has not ended and is not being deleted: the Pods that count as replicas."""
        return self.deleted is None and self.phase not in ("Succeeded", "Failed")

    @property
    def is_finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


def view_of(data: bytes) -> PodView:
    """The view of a Pod in its JSON form."""
    pod = _POD.decode(data)
    metadata, status = pod.metadata, pod.status
    controller = next((owner for owner in metadata.owner_references or () if owner.controller), _NO_OWNER)
    ready = next((one for one in status.conditions or () if one.type == "Ready"), None)
    return PodView(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.resource_version,
        _shared(metadata.labels),
        _shared(metadata.annotations),
        controller.uid,
        controller.kind,
        controller.name,
        metadata.creation_timestamp,
        metadata.deletion_timestamp,
        tuple(metadata.finalizers or ()),
        pod.spec.node_name or "",
        status.phase or "Pending",
        ready is not None and ready.status == "True",
        ready.last_transition_time if ready is not None else None,
        sum(one.restart_count for one in status.container_statuses or ()),
        _waiting(status),
        _most_restarts(pod),
        metadata.generation,
    )


class _Part(msgspec.Struct, rename="camel", gc=False):
    pass


class _Owner(_Part):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(_Part):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: list[str] | None = None


class _InitContainer(_Part):
    name: str = ""
    restart_policy: str | None = None


class _Spec(_Part):
    node_name: str | None = None
    init_containers: list[_InitContainer] | None = None


class _Condition(_Part):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _Waiting(_Part):
    reason: str = ""


class _State(_Part):
    waiting: _Waiting | None = None


class _ContainerStatus(_Part):
    name: str = ""
    restart_count: int = 0
    state: _State | None = None


class _Status(_Part):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class _Pod(_Part):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


def _most_restarts(pod: _Pod) -> tuple[int, int]:
    status = pod.status
    most = max((one.restart_count for one in status.container_statuses or ()), default=0)
    if not status.init_container_statuses:
        return most, 0
    sidecars = [one.name for one in pod.spec.init_containers or () if one.restart_policy == "Always"]
    counts = (one.restart_count for one in status.init_container_statuses if one.name in sidecars)
    return most, max(counts, default=0)


_POD = msgspec.json.Decoder(_Pod)
_NO_OWNER = _Owner()
_maps: Recent[tuple[tuple[str, str], ...], dict[str, str]] = Recent(_MOST_LABELS)


def _waiting(status: _Status) -> tuple[str, ...]:
    statuses = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    return tuple(
        one.state.waiting.reason for one in statuses if one.state is not None and one.state.waiting is not None
    )


def _shared(texts: dict[str, str] | None) -> dict[str, str]:
    """An equal map that was seen before, so that ten thousand Pods of one template have one."""
    if not texts:
        return {}
    key = tuple(texts.items())
    found = _maps.get(key)
    if found is None:
        _maps[key] = found = texts
    return found
