"""Keeps the status of ResourceQuotas: what is used of them after objects were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogReader
from pilotage.server.plugins.plugin import QUOTAS, PluginContext
from pilotage.server.plugins.quotas import QuotaStatus
from pilotage.storage.interface import Event


class QuotaCounter:
    """Counts what is used in the namespaces that have quotas."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context
        self._status = QuotaStatus(PluginContext(context.storage, context.prefix, context.suffix))
        self._all = LogReader(context.storage, context.prefix)
        self._few = LogReader(context.storage, context.prefix + QUOTAS)
        self._reader = self._few
        self._quotas: dict[str, str] = {}  # from their keys to their namespaces

    @property
    def idle(self) -> bool:
        return self._reader.idle

    def busy(self) -> str:
        """What is left to do, as a sentence."""
        return "the usage of a resource quota is being counted"

    async def run(self) -> None:
        """Read the log until cancelled. Raises StorageError, and is started again then.

        While there are no quotas, only the log of quotas is read: most storages have none, and other writes are free.
        """
        while True:
            self._reader.start()
            try:
                await self._count()
            finally:
                self._reader.stop()
            self._reader = self._all if self._quotas else self._few

    async def _count(self) -> None:
        """Count until the first quota is created, or the last one is deleted."""
        prefix = self._context.prefix + QUOTAS
        entries = [entry for entry in await self._reader.existing() if entry.key.startswith(prefix)]
        self._quotas = {entry.key: _namespace(entry.key) for entry in entries}
        dirty = set(self._quotas.values())
        while bool(self._quotas) == (self._reader is self._all):
            for namespace in sorted(dirty):
                await self._status.refresh(namespace)
            dirty = self._touched(await self._reader.next())

    def _touched(self, events: Iterable[Event]) -> set[str]:
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
    """The namespace in a key; for a cluster-scoped object it is none that has quotas."""
    return key.rsplit("/", 2)[-2]


def _spec(value: bytes) -> object:
    return records.decode(value).get("spec")
