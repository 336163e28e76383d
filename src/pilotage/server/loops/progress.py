"""Background loops that read the log, and their progress: a caller can wait until nothing is left to do."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import ClassVar

import msgspec

from pilotage.errors import Conflict, NotFound
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Entry, Event, Storage, Watch

Note = Callable[[APIRequest, bytes], None]
"""Called with each write of a background loop, and its answer."""


class LogReader:
    """Reads the log of a storage for one background loop."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix
        self._since = 0
        self._watch: Watch | None = None
        self._working = True

    def start(self) -> None:
        """Begin at the end of the log, unless the reader was started before."""
        if self._watch is None:
            self._since = self._storage.revision
            self._watch = self._storage.watch(self._prefix, since=self._since)

    async def existing(self) -> Sequence[Entry]:
        """What existed when the reader was started. Raises Compacted."""
        return (await self._storage.list(self._prefix, revision=self._since)).entries

    def stop(self) -> None:
        """Stop reading: the loop has failed, or ends."""
        self._watch = None
        self._working = True

    async def next(self, timeout: float | None = None) -> Sequence[Event]:
        """The next events; none after `timeout` seconds. Everything before them counts as done. Raises Compacted."""
        assert self._watch is not None, "the reader has not been started"
        self._working = False
        try:
            if timeout is None:  # the usual case, at each commit
                return await anext(self._watch)
            async with asyncio.timeout(timeout):
                return await anext(self._watch)
        except TimeoutError:
            return ()
        finally:
            self._working = True

    @property
    def idle(self) -> bool:
        """Whether the loop waits for events, and no commit is left to read."""
        return self._watch is not None and not self._working and self._watch.position >= self._storage.revision


class LogLoop(ABC):
    """A background loop that begins with the existing objects, and then processes the log."""

    name: ClassVar[str]
    work: ClassVar[str]
    """Its work while it is not idle, as a sentence."""
    collection: ClassVar[str] = ""
    """The part of the log that it reads, such as `core/pods/`; all of it if that is empty."""

    def __init__(self, context: RegistryContext, note: Note) -> None:
        self._context = context
        self._note = note
        self._reader = LogReader(context.storage, context.prefix + self.collection)

    @property
    def idle(self) -> bool:
        return self._reader.idle

    def busy(self) -> str:
        """The work in progress, as a sentence."""
        return self.work

    async def prepare(self) -> None:  # noqa: B027 - most loops have nothing to prepare
        """Called before the first request."""

    async def run(self) -> None:
        """Read the log until cancelled. Raises StorageError, and is started again then."""
        self._reader.start()
        try:
            await self._run()
        finally:
            self._reader.stop()

    @abstractmethod
    async def _run(self) -> None:
        """Process the log, which `self._reader` reads."""

    async def _list(self, collection: str) -> list[Document]:
        """The stored objects of a collection."""
        snapshot = await self._context.storage.list(self._context.prefix + collection)
        return [records.decode(entry.value) for entry in snapshot.entries]

    async def _apply_status(
        self, resource: GroupVersionResource, found: Document, manager: str, status: Document
    ) -> None:
        """Apply a status to a cluster-scoped object that was found, as a controller does. If it was deleted or replaced
        by another one since then, nothing is written."""
        from pilotage.server.verbs.apply import Applier

        metadata = found["metadata"]
        configuration = {
            "apiVersion": found["apiVersion"],
            "kind": found["kind"],
            "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
            "status": status,
        }
        request = APIRequest(
            Verb.PATCH,
            resource,
            name=metadata["name"],
            subresource="status",
            body=msgspec.json.encode(configuration),
            content_type=PatchType.APPLY.value,
            write=WriteOptions(field_manager=manager, force=True),
        )
        info = await self._context.catalogue.find(resource)
        with suppress(NotFound, Conflict):
            self._note(request, (await Applier(self._context).apply(info, request)).body)
