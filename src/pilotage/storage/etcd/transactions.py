"""Commits as transactions of etcd: what is sent, and what the response means. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.errors import RevisionConflict

from ..interface import Check, Delete, Operation, Put
from .keys import Keys
from .messages import message


def transaction(operations: Sequence[Operation], keys: Keys, lease: int) -> Any:
    """All conditions and, if they hold, all writes. If one does not hold, the response has the keys' revisions."""
    request = message("TxnRequest")()
    for operation in operations:
        key = keys.encoded(operation.key)
        _compare(request, operation, key)
        if type(operation) is Put:
            put = request.success.add().request_put
            put.key, put.value = key, operation.value
            if operation.lifetime:
                put.lease = lease
        elif type(operation) is Delete:
            request.success.add().request_delete_range.key = key
        found = request.failure.add().request_range
        found.key, found.keys_only = key, True
    return request


def repeatable(operations: Sequence[Operation]) -> bool:
    """Whether a commit cannot take effect twice: every write has a condition that the write itself makes false."""
    return all(operation.expected is not None for operation in operations)


def conflict(operations: Sequence[Operation], response: Any) -> RevisionConflict:
    """The first condition that did not hold."""
    at = [_revision(part.response_range) for part in response.responses]
    for operation, revision in zip(operations, at, strict=True):
        if operation.expected is not None and operation.expected != revision:
            return RevisionConflict(operation.key, revision)
        if type(operation) is Delete and revision == 0:
            return RevisionConflict(operation.key, 0)
    # The conditions hold at the moment of the response only if etcd evaluated something else than was sent.
    return RevisionConflict(operations[0].key, at[0])


def reading(operations: Sequence[Operation], keys: Keys) -> Any:
    """Reads the keys that a commit writes, at one revision."""
    request = message("TxnRequest")()
    for operation in operations:
        if type(operation) is not Check:
            request.success.add().request_range.key = keys.encoded(operation.key)
    return request


def took_effect(operations: Sequence[Operation], response: Any) -> int | None:
    """The revision of a commit whose response was lost, from a later `reading`; None if it cannot be known.

    Every value must be the one that was written, and all of one revision. Objects have a unique uid and times, so
    another writer does not write the same bytes.
    """
    writes = [operation for operation in operations if type(operation) is not Check]
    revisions: set[int] = set()
    for operation, part in zip(writes, response.responses, strict=True):
        entries = part.response_range.kvs
        if type(operation) is Delete:
            if entries:
                return None
        elif not entries or entries[0].value != operation.value:  # type: ignore[union-attr]
            return None
        else:
            revisions.add(entries[0].mod_revision)
    if len(revisions) > 1 or not writes:
        return None
    return int(revisions.pop() if revisions else response.header.revision)


def _compare(request: Any, operation: Operation, key: bytes) -> None:
    kind = message("Compare")
    if operation.expected is not None:
        compare = request.compare.add()
        compare.key, compare.target, compare.mod_revision = key, kind.MOD, operation.expected
    if type(operation) is Delete:
        compare = request.compare.add()
        compare.key, compare.target, compare.result, compare.create_revision = key, kind.CREATE, kind.GREATER, 0


def _revision(response: Any) -> int:
    return int(response.kvs[0].mod_revision) if response.kvs else 0
