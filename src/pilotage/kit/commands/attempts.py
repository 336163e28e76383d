"""The objects of one command, written one after the other: the command goes on after one that is refused, and stops at
an error that all further ones would share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.errors import (
    ApiError,
    PilotageError,
    ServiceUnavailable,
    StorageError,
    Timeout,
    TooManyRequests,
    Unauthorized,
)
from pilotage.kit.console.errors import CommandError
from pilotage.kit.exits import raise_all, reworded

_SHARED = (ServiceUnavailable, Timeout, TooManyRequests, Unauthorized)
"""Answers that do not depend on the object: the server has no space, is overloaded, or refuses the user."""


class Attempts:
    """Keeps the errors of single objects; `raise_all` reports them at the end."""

    def __init__(self, errors: list[PilotageError], total: int, doing: str = "") -> None:
        """`errors` may have some already. `total` objects will be tried. Errors of objects that are from a file have
        that file, and what was done (`applying`)."""
        self._errors = errors
        self._total = total
        self._doing = doing
        self._tried = 0
        self._failed = 0

    @contextmanager
    def one(self, source: str = "") -> Iterator[None]:
        """A block that writes one object. Raises all errors if the others would fail in the same way."""
        self._tried += 1
        try:
            yield
        except PilotageError as error:
            self._failed += 1
            self._errors.append(self._described(error, source))
            if _is_shared(error):
                self._errors += self._counts()
                raise_all(self._errors)

    def _described(self, error: PilotageError, source: str) -> PilotageError:
        if source and self._doing and isinstance(error, ApiError):
            return reworded(error, f'error when {self._doing} "{source}": {error.status.message}')
        return error

    def _counts(self) -> list[PilotageError]:
        """How far the command got, if it had several objects."""
        if self._total < 2:
            return []
        done, left = self._tried - self._failed, self._total - self._tried
        counts = f"{done:,} of {self._total:,} objects done, {self._failed:,} failed, {left:,} not tried"
        return [CommandError(f"stopped, because further objects would fail in the same way: {counts}")]


def _is_shared(error: PilotageError) -> bool:
    """Whether other objects would have the same error: the server, the storage or the connection fails, and not the
    object."""
    cause = error.__cause__ if isinstance(error, CommandError) else error
    if isinstance(cause, ApiError):
        return isinstance(cause, _SHARED) or isinstance(cause.__cause__, StorageError)
    return not isinstance(error, CommandError)
