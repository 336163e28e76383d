"""The storage of a run: in memory, with every commit reported in the order in which it happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pilotage.storage.interface import Entry, Event, Operation
from pilotage.storage.memory import MemoryStorage

PREFIX = "/default/"


class RecordedStorage(MemoryStorage):
    """A storage in memory that calls `on_commit` with the events of each commit."""

    def __init__(self, template: Template | None = None) -> None:
        super().__init__()
        if template is not None:
            self._history.restore(template.entries, template.revision, ())
        self.on_commit: Callable[[Sequence[Event]], None] = lambda events: None

    async def commit(self, *operations: Operation) -> int:
        before = self._history.revision
        revision = await super().commit(*operations)
        if revision > before:
            self.on_commit(self._history.since(before, 1)[0])
        return revision

    def entries(self) -> Sequence[Entry]:
        """The current entries, in the order of their keys."""
        return self._history.snapshot(PREFIX).entries

    def template(self) -> Template:
        """The current state, for storages that begin with it."""
        return Template({entry.key: entry for entry in self.entries()}, self._history.revision)


class Template:
    """The objects of a new API server. To copy them takes less time than to create them for each run."""

    def __init__(self, entries: dict[str, Entry], revision: int) -> None:
        self.entries = entries
        self.revision = revision


def resource_of(key: str) -> str:
    """The resource of a stored object, as `secrets` or `deployments.apps`."""
    group, resource = key[len(PREFIX) :].split("/", 2)[:2]
    return resource if group == "core" else f"{resource}.{group}"
