"""The outcome of a reconcile: done, again later, or a terminal error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from pilotage.errors import PilotageError
from pilotage.meta.bounds.amounts import Seconds, store_seconds


class Result(msgspec.Struct, frozen=True, gc=False):
    """What happens after a successful reconcile. By default nothing: the object is reconciled when it changes.

    `Result(requeue_after=30)`, `Result(requeue_after=timedelta(minutes=5))` and
    `Result(requeue_after=Duration.parse("5m"))` ask for another reconcile after that time.
    """

    requeue: bool = False
    """Reconcile again, rate limited, with a growing delay. Deprecated upstream; `requeue_after` takes precedence."""

    requeue_after: float = 0.0
    """Reconcile again after this time. A number is seconds; a `timedelta` or a `Duration` is converted to seconds."""

    priority: int | None = None
    """The priority of that reconcile; None: the priority of the request."""

    if TYPE_CHECKING:  # accepts more types than it stores

        def __init__(
            self, requeue: bool = False, requeue_after: Seconds = 0.0, priority: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        given: Seconds = self.requeue_after
        if given != 0.0 or isinstance(given, bool):
            store_seconds(self, "requeue_after")

    @property
    def is_zero(self) -> bool:
        """Whether there is nothing more to do."""
        return not self.requeue and not self.requeue_after and self.priority is None


class TerminalError(PilotageError):
    """An error that is not retried: it is counted and logged, and the object is not reconciled until it changes.

    `raise TerminalError("the name is taken") from error`, or `TerminalError(error)` to wrap one.
    """

    def __init__(self, cause: BaseException | str | None = None) -> None:
        unnamed = type(cause).__name__ if isinstance(cause, BaseException) else "no cause given"
        super().__init__(str(cause or "") or unnamed)
        if isinstance(cause, BaseException):
            self.__cause__ = cause


def is_terminal(error: BaseException) -> bool:
    """Whether an error is terminal: itself, one of its causes, or as a group of terminal errors."""
    return all(any(isinstance(link, TerminalError) for link in _chain(leaf)) for leaf in leaves(error))


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from leaves(part)
    else:
        yield error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a chain of causes can be a cycle
        seen.add(id(error))
        yield error
        error = error.__cause__
