"""The jobs of the storage thread, and their waiters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pilotage.errors import RevisionConflict, StorageError

from ..history import History
from ..interface import Entry, Operation
from ..transaction import Commit, plan

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


def outcomes_of(jobs: Sequence[CommitJob], history: History) -> tuple[list[Outcome], list[Commit]]:
    """The outcome of each job, and the commits to write: each is evaluated on the history with the effects of those
    before it."""
    changed: dict[str, Entry | None] = {}

    def find(key: str) -> Entry | None:
        return changed[key] if key in changed else history.find(key)

    outcomes: list[Outcome] = []
    commits: list[Commit] = []
    revision = history.revision
    for job in jobs:
        try:
            commit = plan(job.operations, revision + 1, find)
        except RevisionConflict as conflict:
            outcomes.append((job.future, conflict))
            continue
        if commit:
            revision += 1
            commits.append(commit)
            changed.update((event.key, event.entry) for event in commit)
        outcomes.append((job.future, revision))
    return outcomes, commits
