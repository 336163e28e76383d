"""The Jobs of CronJobs, kept up to date by the events of Jobs."""

from __future__ import annotations

from pilotage.cluster.cachedclient import CachedClient
from pilotage.controller.event import Event
from pilotage.controller.request import Request
from pilotage.types.batch.v1 import Job
from pilotage.workloads.jobs.view import JobView, view_of

Key = tuple[str, str]


class ControlledJobs:
    """Views of the Jobs that an object controls, by the namespace and the name of that object."""

    def __init__(self, client: CachedClient) -> None:
        self._client = client
        self._all: dict[Key, JobView] = {}
        self._controlled: dict[Key, dict[str, JobView]] = {}

    async def of(self, namespace: str, controller: str) -> list[JobView]:
        """The Jobs as this program has written them."""
        await self._client.wait_for_writes(Job)
        return list(self._controlled.get((namespace, controller), {}).values())

    def requests(self, event: Event[Job]) -> list[Request]:
        """The handler of events of Jobs: notes the Job, and requests its controllers if their status may change."""
        data = event.new_data
        view = view_of(data) if data is not None else None
        key = event.namespace, event.name
        before = self._all.pop(key, None)
        if before is not None and before.controller_name:
            group = self._controlled[before.namespace, before.controller_name]
            del group[before.name]
            if not group:
                del self._controlled[before.namespace, before.controller_name]
        if view is not None:
            self._all[key] = view
            if view.controller_name:
                self._controlled.setdefault((view.namespace, view.controller_name), {})[view.name] = view
        if _relevant(before) == _relevant(view):
            return []
        names = {one.controller_name for one in (before, view) if one is not None and one.controller_name}
        return [Request(name, event.namespace) for name in sorted(names)]


def _relevant(job: JobView | None) -> object:
    """What the status of a CronJob depends on."""
    return (job.uid, job.controller_uid, job.finished, job.completed) if job is not None else None
