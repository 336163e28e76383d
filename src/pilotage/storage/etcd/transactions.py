"""Commits as transactions of etcd: what is sent, and what the response means. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.errors import RevisionConflict

from ..interface import Check, Delete, Operation, Put
from .keys import Keys
from .messages import message
from .slots import Slot

_FENCE = b"fence"


def transaction(operations: Sequence[Operation], keys: Keys, lease: int, slot: Slot | None) -> Any:
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
        _read_revision(request, key)
    if slot is not None:
        _write_slot(request, slot)
    return request


def fence(slot: Slot) -> Any:
    """Writes the slot without the commit: an attempt of it that arrives later does nothing."""
    request = message("TxnRequest")()
    _write_slot(request, slot, _FENCE)
    return request


def fenced(response: Any) -> int:
    """The revision that the slot has because of its fence, from the response to that; 0 if the commit was earlier, or
    the slot was removed."""
    if response.succeeded:
        return int(response.header.revision)
    found = response.responses[0].response_range.kvs
    return int(found[0].mod_revision) if found and found[0].value == _FENCE else 0


def writes(operations: Sequence[Operation]) -> bool:
    """Whether a commit changes anything."""
    return any(type(operation) is not Check for operation in operations)


def slot_revision(operations: Sequence[Operation], response: Any) -> int:
    """The revision of the slot, from the response to a commit whose conditions do not hold."""
    return _revision(response.responses[len(operations)].response_range)


def conflict(operations: Sequence[Operation], response: Any) -> RevisionConflict:
    """The first condition that did not hold."""
    at = [_revision(part.response_range) for part in response.responses]
    for operation, revision in zip(operations, at, strict=False):  # the last one may be the revision of a slot
        if operation.expected is not None and operation.expected != revision:
            return RevisionConflict(operation.key, revision)
        if type(operation) is Delete and revision == 0:
            return RevisionConflict(operation.key, 0)
    # The conditions hold at the moment of the response only if etcd evaluated something else than was sent.
    return RevisionConflict(operations[0].key, at[0])


def deletion(start: bytes, end: bytes) -> Any:
    """Deletes a range of keys."""
    request = message("TxnRequest")()
    deleted = request.success.add().request_delete_range
    deleted.key, deleted.range_end = start, end
    return request


def _read_revision(request: Any, key: bytes) -> None:
    found = request.failure.add().request_range
    found.key, found.keys_only = key, True


def _write_slot(request: Any, slot: Slot, value: bytes = b"") -> None:
    """A repetition finds the slot at another revision and does nothing."""
    compare = request.compare.add()
    compare.key, compare.target, compare.mod_revision = slot.key, message("Compare").MOD, slot.revision
    put = request.success.add().request_put
    put.key, put.value, put.lease = slot.key, value, slot.lease
    request.failure.add().request_range.key = slot.key


def _compare(request: Any, operation: Operation, key: bytes) -> None:
    kind = message("Compare")
    if operation.expected is not None:
        compare = request.compare.add()
        compare.key, compare.target, compare.mod_revision = key, kind.MOD, operation.expected
    if type(operation) is Delete and not operation.expected:  # etcd limits the number of conditions, too
        compare = request.compare.add()
        compare.key, compare.target, compare.result, compare.create_revision = key, kind.CREATE, kind.GREATER, 0


def _revision(response: Any) -> int:
    return int(response.kvs[0].mod_revision) if response.kvs else 0
