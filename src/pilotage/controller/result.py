"""What a reconcile comes to: done, again later, or never again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from pilotage.errors import InvalidDefinition, PilotageError


class Result(msgspec.Struct, frozen=True, gc=False):
    """What is to happen next, when nothing went wrong. Without anything: the object is as it should be.

    `Result(requeue_after=30)`, `Result(requeue_after=timedelta(minutes=5))` and
    `Result(requeue_after=Duration.parse("5m"))` ask for another reconcile after that time.
    """

    requeue: bool = False
    """Reconcile again, rate limited, with a growing delay. An older way; `requeue_after` wins over it."""

    requeue_after: float = 0.0
    """Reconcile again after this time. A number is seconds; a `timedelta` or a `Duration` is converted to seconds."""

    priority: int | None = None
    """The priority of that reconcile; None keeps the one that the request had."""

    if TYPE_CHECKING:  # what is given is more than what is kept

        def __init__(
            self, requeue: bool = False, requeue_after: float | timedelta = 0.0, priority: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        given: object = self.requeue_after
        after = given.total_seconds() if isinstance(given, timedelta) else given
        if after and not (isinstance(after, int | float) and 0 < after < math.inf):
            raise InvalidDefinition(
                f"requeue_after={given!r} is not a time to wait: give seconds, a timedelta or a Duration, 0 or more"
            )
        if after is not given:
            msgspec.structs.force_setattr(self, "requeue_after", after)

    @property
    def is_zero(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.requeue and not self.requeue_after and self.priority is None


class TerminalError(PilotageError):
    """Trying again is no use: the error is counted and logged, and the object left alone until it changes.

    `raise TerminalError("the name is taken") from error`, or `TerminalError(error)` to wrap one.
    """

    def __init__(self, cause: BaseException | str | None = None) -> None:
        unnamed = type(cause).__name__ if isinstance(cause, BaseException) else "no cause given"
        super().__init__(str(cause or "") or unnamed)
        if isinstance(cause, BaseException):
            self.__cause__ = cause


def is_terminal(error: BaseException) -> bool:
    """Whether an error is terminal: itself, by what it was raised from, or as a group of such errors alone."""
    return all(any(isinstance(link, TerminalError) for link in _chain(leaf)) for leaf in leaves(error))


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, or the one that is none."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from leaves(part)
    else:
        yield error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a chain can be closed to a ring
        seen.add(id(error))
        yield error
        error = error.__cause__
