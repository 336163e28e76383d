"""Chains of writes: how many reconciles in a row, each caused by a write of the one before, led to a write.

A write of a reconcile is remembered by the uid and the version that it left, so that its event is recognised. The event
of any other write begins a new chain.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.kinds import GroupResource

if TYPE_CHECKING:
    from pilotage.cluster.writes import PendingWrite

_REMEMBERED = 10_000
"""Writes that are remembered. The event of a write follows soon; one that was forgotten begins a new chain."""


class WriteChain:
    """The reconcile that a worker runs now, as the context of its writes. A worker changes one for each reconcile."""

    __slots__ = ("last_write", "length")

    def __init__(self) -> None:
        self.length = 0
        """How many reconciles in a row, each caused by a write of the one before, led to this one."""
        self.last_write: tuple[GroupResource, PendingWrite] | None = None


CHAIN: ContextVar[WriteChain | None] = ContextVar("pilotage_write_chain", default=None)
"""That of the worker that the current task belongs to."""

WRITTEN: Recent[tuple[str, int], int] = Recent(_REMEMBERED)
"""By uid and version, which together are unique among all servers: the length of the chain after each write. While it
is empty, no event has to be looked up."""


def note_write(resource: GroupResource, write: PendingWrite) -> None:
    """Record a write of the current reconcile, if there is one."""
    chain = CHAIN.get()
    if chain is not None:
        chain.last_write = resource, write
        WRITTEN[write.uid, write.version] = chain.length + 1


def length_after(uid: str, version: str) -> int:
    """The length of the chain that a write has continued; 0 if it was not a write of a reconcile of this program."""
    return WRITTEN.get((uid, int(version)), 0) if version.isdecimal() else 0


def length_after_delete(uid: str) -> int:
    """The same of the write that deleted an object."""
    return WRITTEN.get((uid, 0), 0)
