"""The small loops of the server: empty what is being deleted, let old events go, forget old history.

They follow the storage's log; none of them is a controller, and none is needed for a single request to be right.
Several processes on one storage may all run them: every step is conditional and may be done twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from types import TracebackType

from pilotage.errors import Compacted, NotFound, PilotageError, RevisionConflict, StorageError
from pilotage.meta import times
from pilotage.rest.request import DeleteOptions, Request, Verb
from pilotage.server import definitions, records
from pilotage.server.catalogue import DEFINITIONS
from pilotage.server.house import House
from pilotage.server.naming import Definitions
from pilotage.server.records import Document
from pilotage.server.served import Served
from pilotage.server.writing import NAMESPACES, Writer
from pilotage.storage.interface import Delete, Entry, Event, Put

EVENT_LIFETIME = timedelta(hours=1)
HISTORY_SECONDS = 300.0
"""How long history is kept for watches to resume from."""
HISTORY_COMMITS = 100_000
"""More than this is not kept, however young: history takes memory."""
_ROUND_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_log = logging.getLogger("pilotage.server")


class Housekeeping:
    """Owns the loops: they run from the beginning of the block to its end, and a failing one is started again."""

    def __init__(self, house: House, writer: Writer) -> None:
        self._house = house
        self._terminator = Terminator(house, writer)
        self._history = History(house)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Housekeeping:
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "terminate": self._terminator.run,
            "history": self._history.run,
            "events": lambda: expire_events(self._house),
        }
        self._tasks = [asyncio.create_task(_supervised(name, loop), name=name) for name, loop in loops.items()]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _supervised(name: str, loop: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await loop()
        except Compacted:
            continue  # overtaken: begin again from what is there now
        except StorageError as error:
            _log.warning("housekeeping %s waits for the storage: %s", name, error)
        except Exception:
            _log.exception("housekeeping %s failed and is started again", name)
        await asyncio.sleep(_RETRY_SECONDS)


class Terminator:
    """Deletes what is in namespaces, and of definitions, that are being deleted; then lets these go."""

    def __init__(self, house: House, writer: Writer) -> None:
        self._house = house
        self._writer = writer
        self._namespaces = house.prefix + NAMESPACES
        self._definitions = house.prefix + DEFINITIONS

    async def run(self) -> None:
        storage = self._house.storage
        since = storage.revision
        terminating = {
            entry.key
            for prefix in (self._namespaces, self._definitions)
            for entry in (await storage.list(prefix)).entries
            if records.terminating(entry.value)
        }
        await self._advance(terminating)
        async for batch in storage.watch(self._house.prefix, since=since):
            terminating |= set(self._marked(batch))
            if any(event.entry is None and event.key.startswith(self._definitions) for event in batch):
                await Definitions(self._house).reconsider()
            if terminating:
                await self._advance(terminating)

    def _marked(self, batch: Iterable[Event]) -> Iterable[str]:
        for event in batch:
            owned = event.key.startswith((self._namespaces, self._definitions))
            if owned and event.entry is not None and records.terminating(event.entry.value):
                yield event.key

    async def _advance(self, terminating: set[str]) -> None:
        for key in sorted(terminating):
            entry = await self._house.storage.get(key)
            if entry is None or not records.terminating(entry.value):
                terminating.discard(key)
                continue
            try:
                if key.startswith(self._namespaces):
                    await self._empty_namespace(entry)
                else:
                    await self._empty_definition(entry)
            except RevisionConflict:
                continue  # it has changed: the log brings us back to it
            except PilotageError as error:
                _log.warning("%s cannot be emptied yet: %s", key, error)

    async def _empty_namespace(self, entry: Entry) -> None:
        document = records.decode(entry.value)
        name = document["metadata"]["name"]
        left = 0
        for served in await self._house.catalogue.all():
            if served.namespaced:
                left += await self._delete_all(served, served.prefix(name))
        if left or "kubernetes" not in document.get("spec", {}).get("finalizers", ()):
            return
        spec = {"finalizers": [one for one in document["spec"]["finalizers"] if one != "kubernetes"]}
        await self._write(entry, document | {"spec": spec})

    async def _empty_definition(self, entry: Entry) -> None:
        document = records.decode(entry.value)
        finalizers = document["metadata"].get("finalizers", ())
        if definitions.CLEANUP not in finalizers:
            return
        prefix, left = "", 0
        for served in definitions.served_by(document, entry.key, entry.revision):
            prefix = prefix or served.prefix("")
            left = await self._delete_all(served, prefix)
            break  # all versions have the same objects
        if left:
            definitions.set_terminating(document, self._house.now())
            await self._write(entry, document)
            return
        document["metadata"]["finalizers"] = [one for one in finalizers if one != definitions.CLEANUP]
        await self._write(entry, document)

    async def _write(self, entry: Entry, document: Document) -> None:
        from pilotage.server.deletion import finished

        if finished(document):
            await self._house.commit(Delete(entry.key, expected=entry.revision))
        elif (value := records.encode(document)) != entry.value:
            await self._house.commit(Put(entry.key, value, expected=entry.revision))

    async def _delete_all(self, served: Served, prefix: str) -> int:
        """Delete each object under the prefix; how many are left, waiting for their finalizers."""
        snapshot = await self._house.storage.list(self._house.prefix + prefix)
        left = 0
        for entry in snapshot.entries:
            if records.terminating(entry.value):
                left += 1
                continue
            metadata = records.decode(entry.value)["metadata"]
            request = Request(
                Verb.DELETE,
                served.gvr,
                namespace=metadata.get("namespace", ""),
                name=metadata["name"],
                delete=DeleteOptions(uid=metadata["uid"], propagation_policy="Background"),
            )
            try:
                await self._writer.delete(served, request)
            except NotFound:
                continue
            left += await self._house.storage.get(entry.key) is not None
        return left


class History:
    """Forgets history that is old, or too much."""

    def __init__(self, house: House) -> None:
        self._storage = house.storage
        self._marks: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_ROUND_SECONDS)
            target = self.target(loop.time())
            if target > self._storage.oldest:
                await self._storage.compact(target)

    def target(self, now: float) -> int:
        """The revision before which everything may be forgotten, as of `now`."""
        revision = self._storage.revision
        self._marks.append((now, revision))
        target = max(self._storage.oldest, revision - HISTORY_COMMITS)
        while self._marks and self._marks[0][0] <= now - HISTORY_SECONDS:
            target = max(target, self._marks.popleft()[1])
        return target


async def expire_events(house: House) -> None:
    """Events go an hour after they were last seen."""
    while True:
        await asyncio.sleep(_ROUND_SECONDS)
        oldest = times.format(times.now(house.clock) - EVENT_LIFETIME)
        for entry in (await house.storage.list(house.prefix + "core/events/")).entries:
            if last_seen(records.decode(entry.value)) < oldest:
                try:
                    await house.commit(Delete(entry.key, expected=entry.revision))
                except RevisionConflict:
                    continue  # it was seen again


def last_seen(event: Document) -> str:
    """The newest of the times in an event, as text that sorts."""
    series = event.get("series") or {}
    seen = [event["metadata"].get("creationTimestamp", "")]
    seen += [event.get(key) or "" for key in ("lastTimestamp", "deprecatedLastTimestamp", "eventTime")]
    seen.append(series.get("lastObservedTime") or "")
    return max(text[:19] + "Z" for text in seen if text)
