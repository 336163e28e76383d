"""Creates the default objects of namespaces again after they were deleted, and in namespaces that lack them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from pilotage.errors import RevisionConflict
from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.server import records
from pilotage.server.catalogue.catalogue import NAMESPACES
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.storage.interface import Check, Event


class ContentsCreator(LogLoop):
    """Creates the contents of namespaces that exist and are not being deleted."""

    name = "contents"
    work = "the service account of a namespace is being created"
    collection = "core/"

    def __init__(self, context: RegistryContext, note: Note, contents: NamespaceContents) -> None:
        super().__init__(context, note)
        self._contents = contents
        self._namespaces = context.prefix + NAMESPACES

    async def _run(self) -> None:
        await self.prepare()
        while True:
            for namespace in self._touched(await self._reader.next()):
                await self._create(namespace)

    async def prepare(self) -> None:
        """Create the missing default objects of all namespaces."""
        for entry in (await self._context.storage.list(self._namespaces)).entries:
            await self._create(entry.key[len(self._namespaces) :])

    def _touched(self, events: Iterable[Event]) -> list[str]:
        """The namespaces that are new, or that have lost an object."""
        touched: dict[str, None] = {}
        for event in events:
            if event.key.startswith(self._namespaces):
                if event.entry is not None and event.previous is None:
                    touched[event.key[len(self._namespaces) :]] = None
            elif event.entry is None:
                namespace = event.key.rsplit("/", 2)[-2]
                if event.key[len(self._context.prefix) :] in self._contents.keys(namespace):
                    touched[namespace] = None
        return list(touched)

    async def _create(self, namespace: str) -> None:
        context = self._context
        while True:
            entry = await context.storage.find(self._namespaces + namespace)
            if entry is None or records.terminating(entry.value):
                return
            puts = await self._contents.missing(
                context.storage, context.prefix, namespace, now=context.now(), uid=context.uid
            )
            if not puts:
                return
            with suppress(RevisionConflict):  # the namespace has changed, or another process was faster
                await context.commit(*puts, Check(entry.key, entry.revision))
                return
