"""Log lines for people at a terminal: a short time, the level, the controller and the object in columns, the message.

14:03:22 INFO  greeting    default/hello     Wrote the ConfigMap  outcome=created
14:03:22 ERROR greeting    default/other     Reconciler error  ValueError: no text
                                             hello.py:25 in reconcile: raise ValueError("no text")
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pilotage.telemetry.lines import (
    Failures,
    escaped,
    event_of,
    object_of,
    program_frames,
    text_of,
    traceback_of,
    value_of,
)

_LEVELS = (
    (logging.CRITICAL, "FATAL", "1;31"),
    (logging.ERROR, "ERROR", "31"),
    (logging.WARNING, "WARN", "33"),
    (logging.INFO, "INFO", "32"),
    (0, "DEBUG", "2"),
)
_DIM, _BOLD, _RED, _YELLOW, _BLUE, _CYAN = "2", "1", "31", "33", "34", "36"
_IN_COLUMNS = {"controller", "namespace", "name", "controllerGroup", "controllerKind", "reconcileID", "error"}
"""Fields that are in a column of their own, or that repeat what the columns have."""
_NARROWEST = (10, 0)
_WIDEST = (18, 34)
"""The columns of the controller and the object grow up to here; what is longer is shown whole, out of line."""
_INDENT = " " * 15


class ConsoleFormatter(logging.Formatter):
    """Aligned columns, with colours if wanted. A column grows with what is in it.

    Of a traceback the lines of the program are shown, and once while the same object fails in the same way;
    `tracebacks=True` shows each traceback whole.
    """

    def __init__(self, *, colours: bool = False, tracebacks: bool = False) -> None:
        super().__init__()
        self._colours = colours
        self._tracebacks = tracebacks
        self._widths = list(_NARROWEST)
        self._failures = Failures()

    def format(self, record: logging.LogRecord) -> str:
        event = event_of(record)
        who, about = _who(record, event.fields), escaped(object_of(event.fields))
        failed = record.levelno >= logging.ERROR
        level, style = next((name, style) for least, name, style in _LEVELS if record.levelno >= least)
        words = [
            self._styled(time.strftime("%H:%M:%S", time.localtime(record.created)), _DIM),
            self._styled(level, style) + " " * (5 - len(level)),
            self._column(0, who, _BLUE) + self._column(1, about, _CYAN),
            self._styled(escaped(text_of(event.message)), _BOLD if failed else ""),
        ]
        if (error := event.fields.get("error")) is not None:
            words.append(" " + self._styled(escaped(text_of(error)), _RED if failed else _YELLOW))
        words.extend(" " + self._pair(key, value) for key, value in event.fields.items() if key not in _IN_COLUMNS)
        return "\n".join([" ".join(words).rstrip(), *self._trace(record, who, about)])

    def _column(self, number: int, text: str, style: str) -> str:
        width = self._widths[number] = max(self._widths[number], min(len(text), _WIDEST[number]))
        return self._styled(text, style) + " " * (width - len(text) + 1 if width else 0)

    def _pair(self, key: object, value: object) -> str:
        return self._styled(f"{escaped(str(key))}=", _DIM) + value_of(value)

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colours and style and text else text

    def _trace(self, record: logging.LogRecord, who: str, about: str) -> list[str]:
        if not record.exc_info or record.exc_info[1] is None:
            return []
        places = [] if self._tracebacks else program_lines(record.exc_info[1])
        lines = [escaped(line) for line in places or traceback_of(self, record).split("\n")]
        if not self._tracebacks and self._failures.is_repeated(who, about, "\n".join(lines)):
            return []
        return [self._styled(_INDENT + line, _DIM) for line in lines]


def _who(record: logging.LogRecord, fields: Mapping[str, object]) -> str:
    """The controller; elsewhere the part of Pilotage, or the logger of the program."""
    name = text_of(fields.get("controller", record.name))
    return escaped(name.removeprefix("pilotage.").removeprefix("controller-runtime."))


def program_lines(error: BaseException) -> list[str]:
    """The lines of the program in the tracebacks of an error and of its causes: `hello.py:25 in reconcile: raise …`.

    None if no line is in the program.
    """
    lines: list[str] = []
    found = list(program_frames(error))
    if not any(frames for _, frames in found):
        return lines
    for cause, frames in found:
        if cause is not error:
            lines.append(f"caused by {text_of(cause)}")
        lines += [f"{_shown(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
    return lines


def place_in_program(error: BaseException) -> str:
    """`FILE:LINE in FUNCTION` of the line of the program that raised an error; empty if none did."""
    frames = next((frames for _, frames in program_frames(error) if frames), [])
    return f"{_shown(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _shown(file: str) -> str:
    """A file below the current folder without the folder."""
    with suppress(OSError, ValueError):  # the folder was deleted, or the file is elsewhere
        return str(Path(file).relative_to(Path.cwd()))
    return file
