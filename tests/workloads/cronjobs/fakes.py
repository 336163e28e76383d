"""A client and a context in memory, for one reconcile of a CronJob."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from pilotage.cluster.events import EventRecorder
from pilotage.errors import AlreadyExists, ApiError, InternalError, NotFound
from pilotage.types.batch.v1 import Job
from pilotage.workloads.context import Context
from pilotage.workloads.recording import NO_EVENTS


class FakeClient:
    """Records the writes. Every read of a Job finds `found`, unless it fails."""

    def __init__(self, found: Job | None = None, get_error: str = "", create_error: str = "") -> None:
        self._found = found
        self._get_error = get_error
        self._create_error = create_error
        self.created: list[Job] = []
        self.deleted: list[str] = []

    @property
    def api_reader(self) -> FakeClient:
        return self

    async def find(self, kind: type[object], name: str, *, namespace: str = "") -> Job | None:
        try:
            return await self.get(kind, name, namespace=namespace)
        except NotFound:
            return None

    async def get(self, kind: type[object], name: str, *, namespace: str = "") -> Job:
        if self._get_error:
            raise _error(self._get_error)
        if self._found is None:
            raise NotFound(f'jobs.batch "{name}" not found')
        return self._found

    async def create(self, job: Job) -> Job:
        if self._create_error:
            raise _error(self._create_error)
        self.created.append(job)
        job.metadata.uid = "test-uid"
        return job

    async def delete(self, kind: type[object], name: str, *, namespace: str, propagation_policy: str) -> None:
        if self._get_error:  # as in Kubernetes' fake
            raise _error(self._get_error)
        self.deleted.append(name)


class FakeRecorder(EventRecorder):
    """Keeps the Events."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, obj: object, type: str, reason: str, message: str, **options: object) -> None:  # noqa: A002
        self.events.append(f"{type} {reason} {message}")


class FakeContext:
    """The parts of a context that the reconciler uses."""

    def __init__(self, client: FakeClient, now: datetime, recorder: EventRecorder) -> None:
        self.client = client
        self._now = now
        self._recorder = recorder

    def clock(self) -> datetime:
        return self._now

    def recorder(self, component: str) -> EventRecorder:
        return self._recorder


def fake_context(client: FakeClient, now: datetime, recorder: EventRecorder = NO_EVENTS) -> Context:
    return cast(Context, FakeContext(client, now, recorder))


def _error(message: str) -> ApiError:
    if "not found" in message:
        return NotFound(message)
    return AlreadyExists(message) if "already exists" in message else InternalError(message)
