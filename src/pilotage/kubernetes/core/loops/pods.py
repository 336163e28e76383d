"""Removes terminating Pods on nodes that do not exist, when their grace period has ended.

A Pod on a node is removed by the kubelet after its containers have stopped. No kubelet does that for a node that does
not exist; in a cluster the pod garbage collector does.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pilotage.errors import ApiError, Conflict, NotFound
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.scalars import times
from pilotage.rest.request import APIRequest, DeleteOptions, Verb
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.server.verbs.delete import Deleter
from pilotage.storage.interface import Entry, Event
from pilotage.telemetry.logs import logger

_log = logger("pilotage.server")
_PODS = GroupVersionResource("", "v1", "pods")


class PodRemover(LogLoop):
    """Removes Pods that nothing else will remove.

    It counts as idle while it waits for the end of a grace period.
    """

    name = "pods"
    work = "a terminating Pod is being removed"
    collection = "core/pods/"

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, note)
        self._deleter = Deleter(context)
        self._ends: dict[str, datetime] = {}  # of the grace periods of terminating Pods

    async def _run(self) -> None:
        self._ends = {}
        for entry in await self._reader.existing():
            self._read(entry)
        while True:
            await self._remove_ended()
            self._read_events(await self._reader.next(self._seconds_left()))

    def _read_events(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.entry is None:
                self._ends.pop(event.key, None)
            else:
                self._read(event.entry)

    def _read(self, entry: Entry) -> None:
        if records.terminating(entry.value):
            metadata = records.decode(entry.value)["metadata"]
            if metadata.get("deletionGracePeriodSeconds"):
                self._ends[entry.key] = times.parse(metadata["deletionTimestamp"])

    def _seconds_left(self) -> float | None:
        """How long to wait until the first grace period ends; None if no Pod has one."""
        if not self._ends:
            return None
        return max(0.0, (min(self._ends.values()) - self._context.time()).total_seconds())

    async def _remove_ended(self) -> None:
        now = self._context.time()
        for key in [key for key, end in self._ends.items() if end <= now]:
            del self._ends[key]
            entry = await self._context.storage.find(key)
            if entry is not None:
                await self._remove(records.decode(entry.value))

    async def _remove(self, pod: Document) -> None:
        metadata, node = pod["metadata"], (pod.get("spec") or {}).get("nodeName", "")
        if await self._context.stored.get(f"{self._context.prefix}core/nodes/{node}") is not None:
            return  # its kubelet removes it
        options = DeleteOptions(grace_period_seconds=0, uid=metadata["uid"])
        request = APIRequest(Verb.DELETE, _PODS, namespace=metadata["namespace"], name=metadata["name"], delete=options)
        try:
            response = await self._deleter.delete(await self._context.catalogue.find(_PODS), request)
        except (NotFound, Conflict):
            return  # another process was faster
        except ApiError as error:  # a plugin refuses it: the next change of the Pod is the retry
            _log.warning("Cannot remove a terminating Pod", name=metadata["name"], error=error)
            return
        self._note(request, response.body)
