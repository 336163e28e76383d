"""The history of the reconcilers of a tool: the stories of its last commands, as JSON lines in a file of bounded size.

Each command appends a line with the format, then a line for each reconcile, in one write. Numbers of reconciles begin
again in each command; a reader gives them numbers that rise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pilotage.history.history import History
from pilotage.history.stories import Cause, Reconcile
from pilotage.history.why.bounds import bounded
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.kit.recorded.logfile import append, older
from pilotage.meta.values import Value

FORMAT = 1
MOST = 1000
"""Reconciles of one command that are kept, the last ones."""
MOST_BYTES = 512 * 1024
"""The size of what one command keeps; above it, its oldest reconciles are left out."""


class _Begin(Value, frozen=True):
    """The line with which the reconciles of a command begin."""

    pilotage_history: int


def keep(history: History, path: str) -> None:
    """Append the stories of a command to a file. Without a path, or without a reconcile, nothing is written."""
    if path and (stories := bounded(history.reconciles()[-MOST:], MOST_BYTES)):
        lines = [msgspec.json.encode(each) for each in (_Begin(FORMAT), *stories)]
        append(path, b"".join(line + b"\n" for line in lines))


def stories_of(path: str) -> Sequence[Reconcile]:
    """The reconciles of the last commands, the oldest first, with numbers that rise. Raises CommandError."""
    return [*_numbered(_lines(path))]


def _lines(path: str) -> Iterator[tuple[Path, bytes]]:
    for file in (Path(older(path)), Path(path)):
        data = b""
        with reported(f"cannot read the history {file}"), suppress(FileNotFoundError):
            data = file.read_bytes()
        yield from ((file, line) for line in data.splitlines())


def _numbered(lines: Iterator[tuple[Path, bytes]]) -> Iterator[Reconcile]:
    last = offset = 0
    for file, line in lines:
        begin = _begin(line)
        if begin is not None:
            if begin.pilotage_history > FORMAT:
                raise CommandError(
                    f"the history {file} was written by a newer version of Pilotage (format {begin.pilotage_history}, "
                    f"known is {FORMAT}): use that version, or remove the file"
                )
            offset = last
            continue
        with suppress(msgspec.MsgspecError):  # the half of a line that a crash has left
            found = msgspec.json.decode(line, type=Reconcile)
            last = max(last, found.number + offset)
            yield _moved(found, offset)


def _begin(line: bytes) -> _Begin | None:
    try:
        return msgspec.json.decode(line, type=_Begin)
    except msgspec.MsgspecError:
        return None


def _moved(story: Reconcile, offset: int) -> Reconcile:
    causes = tuple(_moved_cause(cause, offset) for cause in story.causes)
    return msgspec.structs.replace(story, number=story.number + offset, causes=causes)


def _moved_cause(cause: Cause, offset: int) -> Cause:
    return msgspec.structs.replace(cause, reconcile=cause.reconcile + offset) if cause.reconcile else cause
