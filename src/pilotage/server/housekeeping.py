"""The small loops of the server: empty what is being deleted, let old events go, forget old history.

They follow the storage's log; none of them is a controller, and none is needed for a single request to be right.
Several processes on one storage may all run them: every step is conditional and may be done twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType

from pilotage.errors import Compacted, NotFound, PilotageError, RevisionConflict, StorageError
from pilotage.meta import times
from pilotage.rest.request import DeleteOptions, Request, Verb
from pilotage.server import definitions, records
from pilotage.server.catalogue import DEFINITIONS, NAMESPACES
from pilotage.server.deletion import finished
from pilotage.server.house import House
from pilotage.server.naming import Definitions
from pilotage.server.records import Document
from pilotage.server.removing import Remover
from pilotage.server.served import Served
from pilotage.storage.interface import Delete, Entry, Event, Put

EVENTS = "core/events/"
EVENT_LIFETIME = timedelta(hours=1)
HISTORY_SECONDS = 300.0
"""How long history is kept for watches to resume from."""
HISTORY_COMMITS = 100_000
"""More than this is not kept, however young: history takes memory."""
_ROUND_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_CHECK_SECONDS = 5.0
_log = logging.getLogger("pilotage.server")


class Housekeeping:
    """Owns the loops: they run from the beginning of the block to its end, and a failing one is started again."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._terminator = Terminator(house)
        self._history = History(house)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Housekeeping:
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "terminate": self._terminator.run,
            "history": self._history.run,
            "events": lambda: expire_events(self._house),
            "storage": lambda: check_storage(self._house),
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

    def __init__(self, house: House) -> None:
        self._house = house
        self._remover = Remover(house)
        self._namespaces = house.prefix + NAMESPACES
        self._definitions = house.prefix + DEFINITIONS

    async def run(self) -> None:
        """Follow the log for ever. Raises what hindered it, and is to be started again then."""
        storage = self._house.storage
        since = storage.revision
        terminating = {
            entry.key
            for prefix in (self._namespaces, self._definitions)
            for entry in (await storage.list(prefix)).entries
            if records.terminating(entry.value)
        }
        await self._advance(terminating, terminating)
        async for batch in storage.watch(self._house.prefix, since=since):
            terminating.update(self._marked(batch))
            if any(event.entry is None and event.key.startswith(self._definitions) for event in batch):
                await Definitions(self._house).reconsider()
            if terminating:
                await self._advance(terminating, self._touched(batch))

    def _marked(self, batch: Iterable[Event]) -> Iterator[str]:
        for event in batch:
            owner = event.key.startswith((self._namespaces, self._definitions))
            if owner and event.entry is not None and records.terminating(event.entry.value):
                yield event.key

    def _touched(self, batch: Iterable[Event]) -> set[str]:
        """The namespaces and definitions that the changes are about, or that the changed objects belong to."""
        touched = set()
        for event in batch:
            group, _, rest = event.key[len(self._house.prefix) :].partition("/")
            resource, _, name = rest.partition("/")
            touched |= {event.key, f"{self._definitions}{resource}.{group}"}
            touched.add(self._namespaces + name.partition("/")[0])
        return touched

    async def _advance(self, terminating: set[str], touched: set[str]) -> None:
        """Take one step with each. What hinders one does not hinder the others."""
        failure: PilotageError | None = None
        for key in sorted(terminating & touched):
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
                failure = error
        if failure is not None:
            raise failure

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
        left = 0
        for served in definitions.served_by(document, entry.key, entry.revision):
            left = await self._delete_all(served, served.prefix(""))
            break  # all versions have the same objects
        if left:
            definitions.set_terminating(document, self._house.now())
        else:
            document["metadata"]["finalizers"] = [one for one in finalizers if one != definitions.CLEANUP]
        await self._write(entry, document)

    async def _write(self, entry: Entry, document: Document) -> None:
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
                await self._remover.delete(served, request)
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


async def check_storage(house: House) -> None:
    """Find out that the storage has failed, though no request needs it: the storage then logs why, once."""
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        with suppress(StorageError):
            await house.storage.check()


async def expire_events(house: House) -> None:
    """Events go an hour after they were last seen."""
    while True:
        await asyncio.sleep(_ROUND_SECONDS)
        now = house.clock()
        for entry in (await house.storage.list(house.prefix + EVENTS)).entries:
            if last_seen(records.decode(entry.value), now) < now - EVENT_LIFETIME:
                with suppress(RevisionConflict):  # it was seen again
                    await house.commit(Delete(entry.key, expected=entry.revision))


def last_seen(event: Document, now: datetime) -> datetime:
    """The newest of the times in an event; what lies in the future is no time at which it was seen."""
    series = event.get("series") or {}
    texts = [event["metadata"]["creationTimestamp"], series.get("lastObservedTime")]
    texts += [event.get(key) for key in ("lastTimestamp", "eventTime")]
    seen = (times.parse(text) for text in texts if text)
    return max((time for time in seen if time <= now), default=now)
