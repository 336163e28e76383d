"""What a reconcile reads beside objects: the time, random numbers, results of other calls.

While a recording is written, the tape of a reconcile keeps them; when the reconcile is replayed, its tape has them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pilotage.history.runs import CURRENT
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.values import Value

if TYPE_CHECKING:
    from random import Random

    from pilotage.history.records import CallNote
    from pilotage.history.runs import Run


class Kept(Value, frozen=True):
    """The result of a call: its bytes, or its error."""

    data: bytes = b""
    error: str = ""
    """The class of the exception, as `module:name`."""
    message: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Kept:
        """The result of a call that has failed."""
        kind = type(error)
        return cls(error=f"{kind.__module__}:{kind.__qualname__}", message=str(error))


class Tape(Protocol):
    """The values of one reconcile."""

    @property
    def is_replayed(self) -> bool:
        """Whether it has the values of an earlier run."""

    @property
    def random(self) -> Random:
        """The random numbers of the module `random`."""

    def answered(self, run: Run, call: CallNote) -> None:
        """A request was answered."""

    def failed(self, run: Run, call: CallNote, error: BaseException) -> None:
        """A request has failed."""

    def moment(self, clock: Callable[[], datetime]) -> datetime:
        """What a clock shows."""

    def entropy(self, count: int, source: Callable[[int], bytes], *, is_secret: bool) -> bytes:
        """Random bytes of the operating system."""

    def recalled(self, call: str) -> Kept | None:
        """What a call has returned, on replay; None: it must be made, and its result kept."""

    def keep(self, call: str, result: Kept) -> None:
        """Keep the result of a call."""


def failed_read(kind: GroupVersionKind, namespace: str, name: str) -> str:
    """The name under which a tape keeps the error of a read from a cache; of a list, without a `name`."""
    return f"read {kind.group} {kind.kind} {namespace}/{name}"


def current_tape() -> Tape | None:
    """The tape of the current reconcile, if it is recorded or replayed."""
    run = CURRENT.get()
    return run.tape if run is not None else None


def taped(clock: Callable[[], datetime]) -> datetime:
    """The time of a clock, as the current reconcile has it."""
    tape = current_tape()
    return tape.moment(clock) if tape is not None else clock()
