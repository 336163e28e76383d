"""The jobs of the storage thread, and their waiters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pilotage.errors import StorageError

from ..interface import Operation
from ..transaction import Commit

MOST_COMMITS = 512  # in one transaction
MOST_BYTES = 8 << 20


class Waiter(Protocol):
    """Receives the outcome of a job: a future of the loop, or the caller itself."""

    def cancelled(self) -> bool: ...


Outcome = tuple[Any, int | StorageError | None]
"""The waiter and its result: the revision, an error, or None for done."""

Deliver = Callable[[Sequence[Outcome], Sequence[Commit], bool], None]
"""Sends outcomes and new commits to the loop; True if the whole history was read again."""


@dataclass(frozen=True, slots=True, eq=False)
class CommitJob:
    operations: Sequence[Operation]
    size: int
    future: Waiter


@dataclass(frozen=True, slots=True, eq=False)
class RefreshJob:
    """Read what other processes have committed."""

    future: Waiter | None
    """None if no caller waits for it."""


@dataclass(frozen=True, slots=True, eq=False)
class CompactJob:
    revision: int
    future: Waiter


@dataclass(frozen=True, slots=True, eq=False)
class CheckJob:
    """Check whether a commit could succeed."""

    future: Waiter


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkJob:
    """Give free pages back to the file system."""

    future: Waiter


Job = CommitJob | RefreshJob | CompactJob | CheckJob | ShrinkJob | None
"""None: finish and end."""
