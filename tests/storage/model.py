"""The simplest storage: every state that there ever was, in full."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.storage import Check, Delete, Entry, Event, Operation, Put

State = dict[str, Entry]


class Model:
    """States by revision; the last one is the current one."""

    def __init__(self, revision: int) -> None:
        self.states: dict[int, State] = {revision: {}}
        self.orders: dict[int, list[str]] = {}
        self.revision = revision
        self.oldest = revision

    def commit(self, operations: Sequence[Operation]) -> bool:
        """Commit, or report that a condition does not hold."""
        state = dict(self.states[self.revision])
        new = self.revision + 1
        changed: list[str] = []
        for operation in operations:
            before = state.get(operation.key)
            if not _holds(operation, before):
                return False
            if isinstance(operation, Put):
                created = before.created if before else new
                state[operation.key] = Entry(operation.key, operation.value, new, created)
                changed.append(operation.key)
            elif isinstance(operation, Delete):
                del state[operation.key]
                changed.append(operation.key)
        if changed:
            self.revision = new
            self.states[new] = state
            self.orders[new] = changed
        return True

    def advance(self) -> None:
        """A commit that changes no key of the storage."""
        self.states[self.revision + 1] = self.states[self.revision]
        self.orders[self.revision + 1] = []
        self.revision += 1

    def compact(self, revision: int) -> None:
        self.oldest = max(self.oldest, revision)

    def page(self, revision: int, prefix: str, start: str, limit: int) -> tuple[list[Entry], int]:
        state = self.states[revision]
        found = [state[key] for key in sorted(state, key=str.encode) if key.startswith(prefix) and key >= start]
        return (found[:limit], max(0, len(found) - limit)) if limit else (found, 0)

    def events(self, since: int, prefix: str) -> list[Event]:
        return [
            Event(key, revision, self.states[revision].get(key), self.states[revision - 1].get(key))
            for revision in range(since + 1, self.revision + 1)
            for key in self.orders[revision]
            if key.startswith(prefix)
        ]


def _holds(operation: Operation, before: Entry | None) -> bool:
    at = before.revision if before else 0
    if isinstance(operation, Delete) and before is None:
        return False
    if isinstance(operation, Check):
        return operation.expected == at
    return operation.expected is None or operation.expected == at
