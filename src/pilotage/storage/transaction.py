"""The meaning of a commit: validates operations, evaluates conditions, computes events. No state, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pilotage.errors import RevisionConflict, StorageError

from .entry import Entry
from .interface import Delete, Event, Operation, Put
from .keys import MAX_COMMIT_OPERATIONS

MAX_VALUE_BYTES = 3 * 512 * 1024
"""The maximum bytes of a value, unless a storage is configured otherwise: 1.5 MiB, as in etcd."""

MAX_KEY_CHARACTERS = 2048
"""The maximum characters of a key."""

Commit = tuple[Event, ...]
"""The events of one commit, in the order of its operations; all have its revision."""


def check(operations: Sequence[Operation], max_value_bytes: int) -> int:
    """Refuse invalid operations: keys that cannot be stored, values that are too large, a repeated key.

    Gives the size of all values in bytes.
    """
    size = 0
    if len(operations) > MAX_COMMIT_OPERATIONS:
        raise StorageError(
            f"a commit of {len(operations)} operations: at most {MAX_COMMIT_OPERATIONS} fit into one, split it"
        )
    for operation in operations:
        key = operation.key
        if not key or not key.isascii() or len(key) > MAX_KEY_CHARACTERS:
            _check_key(key)
        if type(operation) is Put:
            size += len(operation.value)
            if len(operation.value) > max_value_bytes:
                raise StorageError(
                    f"the value for {operation.key} has {len(operation.value)} bytes, and at most {max_value_bytes}"
                    " can be stored under one key: make it smaller, or split it over several objects"
                )
    if len(operations) > 1 and len({operation.key for operation in operations}) < len(operations):
        raise StorageError("a key is in two operations of one commit: use each key once")
    return size


def frees_space(operations: Sequence[Operation]) -> bool:
    """Whether a commit may use the space that is kept for deletes."""
    return all(type(operation) is not Put or operation.for_deletion for operation in operations)


def plan(operations: Sequence[Operation], revision: int, find: Callable[[str], Entry | None]) -> Commit:
    """The events of a commit at `revision`; `find` returns current entries. Raises RevisionConflict.

    Empty for a commit of nothing but checks.
    """
    events: list[Event] = []
    for operation in operations:
        key = operation.key
        current = find(key)
        at = 0 if current is None else current.revision
        if operation.expected is not None and operation.expected != at:
            raise RevisionConflict(key, at)
        if type(operation) is Put:
            entry = Entry(key, operation.value, revision, revision if current is None else current.created)
            events.append(Event(key, revision, entry, current))
        elif type(operation) is Delete:
            if current is None:
                raise RevisionConflict(key, 0)
            events.append(Event(key, revision, None, current))
    return tuple(events)


def _check_key(key: str) -> None:
    if not key:
        raise StorageError("a key must not be empty")
    if len(key) > MAX_KEY_CHARACTERS:
        raise StorageError(
            f"the key {key[:64]!r}… has {len(key)} characters, at most {MAX_KEY_CHARACTERS} are possible"
        )
    if not key.isascii():
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise StorageError(f"the key {key!r} cannot be encoded as UTF-8 (it has a lone surrogate)") from error
