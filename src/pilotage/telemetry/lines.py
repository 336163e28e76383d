"""Formats events as lines: readable (`time level logger message key=value`) or JSON."""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Mapping

MAX_TEXT = 8192
"""Characters of one value that are logged; a longer value is truncated."""

_BARE = re.compile(r"[^\s\"'=\\]+")
_RESERVED = ("time", "level", "logger", "message", "exception")


class Event:
    """A message with fields, as the `msg` of a standard log record. It is one line under any formatter."""

    __slots__ = ("fields", "message")

    def __init__(self, message: str, fields: Mapping[str, object]) -> None:
        self.message = message
        self.fields = fields

    def __str__(self) -> str:
        pairs = [f"{escaped(str(key))}={value_of(value)}" for key, value in self.fields.items()]
        return " ".join([escaped(text_of(self.message)), *pairs])


class LineFormatter(logging.Formatter):
    """Readable lines. A traceback follows its line, indented, so that it cannot be mistaken for an event."""

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_moment(record)} {record.levelname:<7} {escaped(record.name)} {event_of(record)}"
        if not (trace := traceback_of(self, record)):
            return head
        return "\n".join([head, *(f"    {escaped(line)}" for line in trace.split("\n"))])


class JSONFormatter(logging.Formatter):
    """One JSON object for each line. A field with a reserved name gets an underscore (`level_`)."""

    def format(self, record: logging.LogRecord) -> str:
        event = event_of(record)
        line: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _cut(text_of(event.message)),
        }
        for key, value in event.fields.items():
            line[f"{key}_" if key in _RESERVED else str(key)] = _json_value(value)
        if trace := traceback_of(self, record):
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


def event_of(record: logging.LogRecord) -> Event:
    if isinstance(record.msg, Event):
        return record.msg
    try:
        return Event(record.getMessage(), {})
    except Exception:  # the arguments do not fit the message: a bug of the caller must not lose the event
        return Event(f"{text_of(record.msg)} {text_of(record.args)}", {})


def _moment(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03}Z"


def traceback_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    parts = []
    try:
        if record.exc_info and record.exc_info[0] is not None:
            parts.append(formatter.formatException(record.exc_info))
        if record.stack_info:
            parts.append(formatter.formatStack(record.stack_info))
    except Exception as error:  # an exception whose own text fails
        parts.append(f"<traceback that cannot be formatted: {type(error).__name__}>")
    return "\n".join(parts)


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
        return str(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…({len(text) - MAX_TEXT} more)"
