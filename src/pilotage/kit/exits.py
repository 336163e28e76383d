"""Exit codes, and errors as the lines that kubectl prints for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound, PilotageError, Status, Unauthorized
from pilotage.kit.console.errors import (
    FAILED,
    INTERRUPTED,
    NOT_RECONCILED,
    WRONG_USAGE,
    CommandError,
    Interrupted,
    NotReconciled,
    UsageError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    E = TypeVar("E", bound=ApiError)

NOT_FOUND = 3
CONFLICT = 4


class NoTenant(CommandError):
    """A storage has no tenant of this name."""


_CODES: dict[int, tuple[type[PilotageError], ...]] = {
    NOT_FOUND: (NotFound, NoTenant),
    CONFLICT: (AlreadyExists, Conflict),
    WRONG_USAGE: (UsageError,),
    INTERRUPTED: (Interrupted,),
    NOT_RECONCILED: (NotReconciled,),
}


class SeveralErrors(PilotageError):
    """A command went on after an error, and had more than one."""

    def __init__(self, errors: list[PilotageError]) -> None:
        self.errors = errors
        super().__init__("; ".join(map(str, errors)))


@contextmanager
def collected(errors: list[PilotageError]) -> Iterator[None]:
    """Keep the error of one object, so that the command goes on with the others: `raise_all` reports it at the end. If
    the server or the storage cannot be reached, raises all errors."""
    try:
        yield
    except (ApiError, CommandError) as error:
        errors.append(error)
    except PilotageError as error:
        raise_all([*errors, error])


def raise_all(errors: list[PilotageError]) -> None:
    """Raise the errors of a command that went on after the first one."""
    if errors:
        raise errors[0] if len(errors) == 1 else SeveralErrors(errors)


def reworded(error: E, message: str) -> E:
    """The same error of a server with another message."""
    status = error.status
    return type(error)(status=Status(status.code, status.reason, message, status.details))


def code_of(error: PilotageError) -> int:
    """The exit code for an error; of several errors, the code that all have, else 1."""
    if isinstance(error, SeveralErrors):
        codes = {code_of(each) for each in error.errors}
        return codes.pop() if len(codes) == 1 else FAILED
    return next((code for code, kinds in _CODES.items() if isinstance(error, kinds)), FAILED)


def print_error(error: PilotageError) -> None:
    """Print an error to standard error, with what it is in bold on a terminal."""
    from pilotage.kit.console.terminal import BOLD, RED, standard_error

    terminal = standard_error()
    for line in line_of(error).splitlines():
        start, colon, rest = ("", "", line) if line.startswith("* ") else line.partition(":")
        terminal.line(f"{terminal.styled(start + colon, BOLD, RED)}{rest}")


def line_of(error: PilotageError) -> str:
    """What is printed for an error, in kubectl's words."""
    if isinstance(error, SeveralErrors):
        return "\n".join(map(line_of, error.errors))
    if isinstance(error, Invalid) and error.status.details is not None and error.causes:
        return _invalid(error)
    if isinstance(error, Invalid) and not error.causes:
        return f"The request is invalid: {error}"
    if isinstance(error, Unauthorized):
        return f"error: You must be logged in to the server ({error})"
    if isinstance(error, ApiError):
        reason = error.status.reason
        return f"Error from server ({reason}): {error}" if reason else f"Error from server: {error}"
    return f"error: {error}"


def _invalid(error: Invalid) -> str:
    details = error.status.details
    assert details is not None
    causes = list(dict.fromkeys(f"{cause.field}: {cause.message}".removeprefix("<nil>: ") for cause in error.causes))
    shown = f" {causes[0]}" if len(causes) == 1 else "".join(f"\n* {cause}" for cause in causes)
    return f'The {details.kind} "{details.name}" is invalid:{shown}'
