"""Formats events as lines: readable (`time level logger message key=value`) or JSON."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from pilotage.telemetry import levels

MAX_TEXT = 8192
"""Characters of one value that are logged; a longer value is truncated."""

_REMEMBERED = 1000
_PACKAGE = __name__.partition(".")[0]
_OWN = (
    os.path.dirname(os.path.dirname(__file__)) + os.sep,
    os.path.join(os.path.dirname(traceback.__file__), "asyncio", ""),
    os.path.join(os.path.dirname(traceback.__file__), "importlib", ""),
    "<frozen ",
)
"""The files of this library, of asyncio and of the import system, which are below every line of a program."""

_BARE = re.compile(r"[^\s\"'=\\]+")
_RESERVED = ("time", "level", "logger", "message", "exception")


class LogEvent:
    """A message with fields, as the `msg` of a standard log record. It is one line under any formatter."""

    __slots__ = ("fields", "message")

    def __init__(self, message: str, fields: Mapping[str, object]) -> None:
        self.message = message
        self.fields = fields

    def __str__(self) -> str:
        pairs = [f"{escaped(str(key))}={value_of(value)}" for key, value in self.fields.items()]
        return " ".join([escaped(text_of(self.message)), *pairs])


class Failures:
    """Recognises a traceback that was shown already, while the same object fails in the same way."""

    def __init__(self) -> None:
        self._shown: OrderedDict[tuple[str, str], str] = OrderedDict()

    def is_repeated(self, controller: str, obj: str, text: str) -> bool:
        """Whether the last traceback of this object was the same."""
        key = controller, obj
        is_repeated = self._shown.pop(key, None) == text
        self._shown[key] = text
        if len(self._shown) > _REMEMBERED:
            self._shown.popitem(last=False)
        return is_repeated


class EventFormatter(logging.Formatter):
    """Of an error of this library, the traceback has the lines of the program alone; `tracebacks=True` shows all."""

    def __init__(self, *, tracebacks: bool = False) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def _trace_of(self, record: logging.LogRecord) -> str:
        return traceback_of(self, record, whole=self._tracebacks)


class LineFormatter(EventFormatter):
    """Readable lines. A traceback follows its line, indented, so that it cannot be mistaken for an event.

    It is shown once while the same object fails in the same way, and without the error if the line itself has it;
    `tracebacks=True` shows each, whole.
    """

    def __init__(self, *, tracebacks: bool = False) -> None:
        super().__init__(tracebacks=tracebacks)
        self._failures = Failures()

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_moment(record)} {_level(record):<7} {escaped(record.name)} {event_of(record)}"
        if not (trace := self._trace_of(record)):
            return head
        fields = event_of(record).fields
        who, about = text_of(fields.get("controller", record.name)), object_of(fields)
        if about and not self._tracebacks and self._failures.is_repeated(who, about, trace):
            return head
        if not self._tracebacks and (error := fields.get("error")) is not None:
            trace = _without(error, trace)
        return "\n".join([head, *(f"    {escaped(line)}" for line in trace.split("\n"))])


class JSONFormatter(EventFormatter):
    """One JSON object for each line. A field with a reserved name gets an underscore (`level_`)."""

    def format(self, record: logging.LogRecord) -> str:
        event = event_of(record)
        line: dict[str, object] = {
            "time": _moment(record),
            "level": _level(record).lower(),
            "logger": record.name,
            "message": _cut(text_of(event.message)),
        }
        for key, value in event.fields.items():
            line[f"{key}_" if key in _RESERVED else str(key)] = _json_value(value)
        if trace := self._trace_of(record):
            line["exception"] = trace
        return json.dumps(line)  # ASCII only, so that no character can break the line


def escaped(text: str) -> str:
    """The text with escapes for all characters that are not printable."""
    text = _cut(text)
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def _escape(character: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\u{ord(character):04x}")


def object_of(fields: Mapping[str, object]) -> str:
    """The object that an event is about, as `namespace/name`; empty if it is about none."""
    return "/".join(text_of(fields[key]) for key in ("namespace", "name") if fields.get(key))


def event_of(record: logging.LogRecord) -> LogEvent:
    if isinstance(record.msg, LogEvent):
        return record.msg
    try:
        return LogEvent(record.getMessage(), {})
    except Exception:  # the arguments do not fit the message: a bug of the caller must not lose the event
        return LogEvent(f"{text_of(record.msg)} {text_of(record.args)}", {})


def _level(record: logging.LogRecord) -> str:
    return levels.shown(record.levelno, record.levelname)


def _moment(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03}Z"


def traceback_of(formatter: logging.Formatter, record: logging.LogRecord, *, whole: bool = True) -> str:
    parts = []
    try:
        if record.exc_info and record.exc_info[0] is not None:
            short = "" if whole else _own_error(record.exc_info[1])
            parts.append(short or formatter.formatException(record.exc_info))
        if record.stack_info:
            parts.append(formatter.formatStack(record.stack_info))
    except Exception as error:  # an exception whose own text fails
        parts.append(f"<traceback that cannot be formatted: {type(error).__name__}>")
    return "\n".join(parts)


def program_frames(error: BaseException) -> Iterator[tuple[BaseException, list[traceback.FrameSummary]]]:
    """An error and its causes, each with the frames of its traceback that are in the program, not in this library.

    An error without such frames is included if it is the cause of another (`raise … from`), but not if it was only
    being handled, which is internal to the library.
    """
    seen: set[int] = set()
    current: BaseException | None = error
    is_cause = True
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = [frame for frame in traceback.extract_tb(current.__traceback__) if not frame.filename.startswith(_OWN)]
        if frames or is_cause:
            yield current, frames
        is_cause = current.__cause__ is not None
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _own_error(error: BaseException | None) -> str:
    """The traceback of an error of this library, with the lines of the program alone. Empty for other errors.

    If the API server refused a call or did not answer, the frames below the call do not help;
    of a cause below it, one line.
    """
    if error is None or type(error).__module__.partition(".")[0] != _PACKAGE:
        return ""
    (_, own), *causes = program_frames(error)
    if not own:
        return ""
    parts = ["Traceback (lines of the program):\n", *_raised(error, own)]
    for cause, frames in causes:
        parts += ["caused by:\n", *_raised(cause, frames)] if frames else [f"caused by: {text_of(cause)}\n"]
    return "".join(parts).rstrip("\n")


def _raised(error: BaseException, frames: list[traceback.FrameSummary]) -> list[str]:
    return [*traceback.format_list(frames), *traceback.format_exception_only(error)]


def _without(error: object, trace: str) -> str:
    """The traceback without the text of the error, which the line above it has; notes of the error are kept."""
    if not isinstance(error, BaseException):
        return trace
    text = text_of(error).removesuffix(": ")
    for line in traceback.format_exception_only(error):
        if line.endswith(f"{text}\n"):
            before, found, after = f"{trace}\n".rpartition(f"\n{line}")
            return f"{before}\n{after}".removesuffix("\n") if found else trace
    return trace


def value_of(value: object) -> str:
    text = escaped(text_of(value))
    if _BARE.fullmatch(text):
        return text
    return '"' + text.replace('"', '\\"') + '"'


def _json_value(value: object) -> object:
    if isinstance(value, str):
        return _cut(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict | list | tuple):
        try:
            text = json.dumps(value, allow_nan=False, default=text_of)
            return json.loads(text) if len(text) <= MAX_TEXT else _cut(text)
        except Exception:  # keys that are not strings, cycles, depth
            return _cut(text_of(value))
    return _cut(text_of(value))


def text_of(value: object) -> str:
    try:
        if isinstance(value, BaseException):
            return f"{type(value).__name__}: {value}"
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return f"[{', '.join(value)}]"
        return str(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…({len(text) - MAX_TEXT} more)"
