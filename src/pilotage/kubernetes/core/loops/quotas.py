"""Keeps the status of ResourceQuotas: what is used of them after objects were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.kubernetes.core.plugins.quotas import QUOTAS, QuotaStatus
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogLoop, LogReader, Note
from pilotage.server.plugins.plugin import PluginContext
from pilotage.storage.interface import Event


class QuotaCounter(LogLoop):
    """Counts what is used in the namespaces that have quotas."""

    name = "quotas"
    work = "the usage of a resource quota is being counted"
    collection = QUOTAS

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, note)
        self._status = QuotaStatus(PluginContext(context.storage, context.prefix, context.suffix))
        self._all = LogReader(context.storage, context.prefix)
        self._few = self._reader
        self._quotas: dict[str, str] = {}  # from their keys to their namespaces

    async def run(self) -> None:
        """Read the log until cancelled. Raises StorageError, and is started again then.

        While there are no quotas, only the log of quotas is read: most storages have no quotas, so other writes cause
        no work.
        """
        while True:
            await super().run()
            self._reader = self._all if self._quotas else self._few

    async def _run(self) -> None:
        """Count until the first quota is created, or the last one is deleted."""
        prefix = self._context.prefix + QUOTAS
        entries = [entry for entry in await self._reader.existing() if entry.key.startswith(prefix)]
        self._quotas = {entry.key: _namespace(entry.key) for entry in entries}
        dirty = set(self._quotas.values())
        while bool(self._quotas) == (self._reader is self._all):
            for namespace in sorted(dirty):
                await self._status.refresh(namespace)
            dirty = self._collect_touched(await self._reader.next())

    def _collect_touched(self, events: Iterable[Event]) -> set[str]:
        """The namespaces with quotas in which something has changed besides what was charged to a quota."""
        touched: set[str] = set()
        for event in events:
            if event.key.startswith(self._context.prefix + QUOTAS):
                if event.entry is None:
                    self._quotas.pop(event.key, None)
                elif event.previous is None or _spec(event.previous.value) != _spec(event.entry.value):
                    self._quotas[event.key] = _namespace(event.key)
                else:
                    continue
                touched.add(_namespace(event.key))
            elif self._quotas:
                touched.add(_namespace(event.key))
        return touched.intersection(self._quotas.values())


def _namespace(key: str) -> str:
    """The namespace in a key; for a cluster-scoped object it is not a namespace with quotas."""
    return key.rsplit("/", 2)[-2]


def _spec(value: bytes) -> object:
    return records.decode(value).get("spec")
