"""What a reconcile comes to: done, again later, or never again."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from pilotage.errors import InvalidDefinition, PilotageError


class Result(msgspec.Struct, frozen=True, gc=False):
    """What is to happen next, when nothing went wrong. Without anything: the object is as it should be.

    `requeue_after` seconds from now it is looked at again (this wins over `requeue`). `requeue` is controller-runtime's
    older way: again, at a pace that slows down each time. `priority` replaces the one that the request had.
    """

    requeue: bool = False
    requeue_after: float = 0.0
    priority: int | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if after and not (isinstance(after, int | float) and 0 < after < math.inf):
            raise InvalidDefinition(f"requeue_after={after!r} is not a time: give seconds, 0 or more")

    @property
    def is_zero(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.requeue and not self.requeue_after and self.priority is None


class TerminalError(PilotageError):
    """Trying again is no use: the error is counted and logged, and the object left alone until it changes.

    `raise TerminalError("the name is taken") from error`, or `TerminalError(error)` to wrap one.
    """

    def __init__(self, cause: BaseException | str | None = None) -> None:
        super().__init__(f"terminal error: {cause}" if cause else "nil terminal error")
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
