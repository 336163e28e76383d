"""A client, Pods and a context in memory, for one reconcile of a Job with calls that fail on request."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from pilotage.cluster.events import EventRecorder
from pilotage.errors import ApiError, InternalError
from pilotage.meta.objects import document_of
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import Pod
from pilotage.workloads.context import Context
from pilotage.workloads.pods.view import PodView, view_of
from pilotage.workloads.progress import Progress

Document = dict[str, Any]


class FakeClient:
    """Records the writes; those of Pods fail with `error`, and those of the status with `status_error`."""

    def __init__(
        self, job: Job, pods: Sequence[Pod], error: str = "", create_limit: int = 0, status_error: str = ""
    ) -> None:
        self._job = job
        self._pods = {pod.metadata.name: pod for pod in pods}
        self._error = error
        self._create_limit = create_limit
        self._status_error = status_error
        self.statuses: list[Document] = []
        self.created: list[Pod] = []
        self.deleted: list[str] = []
        self.patched: list[str] = []

    async def find(self, kind: type[object], name: str, *, namespace: str = "") -> object:
        return self._job if kind is Job else self._pods.get(name)

    async def update_status(self, job: Job) -> Job:
        self.statuses.append(document_of(job)["status"])
        if self._status_error:
            raise self._failure(self._status_error)
        return job

    async def create(self, pod: Pod) -> Pod:
        if self._create_limit and len(self.created) >= self._create_limit:
            raise self._failure("limit reached")
        self.created.append(pod)
        self._fail()
        return pod

    async def patch(self, kind: type[object], patch: object, *, name: str, namespace: str) -> None:
        self.patched.append(name)
        self._fail()

    async def delete(self, kind: type[object], name: str, *, namespace: str, uid: str) -> None:
        self.deleted.append(name)
        self._fail()

    def _fail(self) -> None:
        if self._error:
            raise self._failure(self._error)

    @staticmethod
    def _failure(message: str) -> ApiError:
        return InternalError(message)


class FakePods:
    """The Pods of a Job, all in one namespace."""

    def __init__(self, pods: Sequence[PodView]) -> None:
        self._pods = {pod.key: pod for pod in pods}

    async def current(self) -> None:
        """Nothing changes them."""

    def controlled_by(self, uid: str) -> list[PodView]:
        return [pod for pod in self._pods.values() if pod.controller_uid == uid]

    def orphans(self, namespace: str) -> list[PodView]:
        return []

    def get(self, namespace: str, name: str) -> PodView | None:
        return self._pods.get((namespace, name))


class FakeRecorder(EventRecorder):
    """Keeps the Events about Jobs, without those of PodControl."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, obj: object, type: str, reason: str, message: str, **options: object) -> None:  # noqa: A002
        if reason not in ("SuccessfulCreate", "SuccessfulDelete", "FailedCreate", "FailedDelete"):
            self.events.append(f"{type} {reason} {message}")


class FakeContext:
    """The parts of a context that the reconciler uses."""

    def __init__(self, client: FakeClient, pods: FakePods, now: datetime) -> None:
        self.client = client
        self.pods = pods
        self.progress = Progress()
        self._now = now

    def clock(self) -> datetime:
        return self._now


def fake_context(client: FakeClient, pods: Sequence[Document], now: datetime) -> Context:
    views = [view_of(msgspec.json.encode(pod)) for pod in pods]
    return cast(Context, FakeContext(client, FakePods(views), now))
