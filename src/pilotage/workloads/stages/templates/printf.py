"""`printf` of Go, for the values of a template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pilotage.workloads.stages.templates.govalues import (
    GoFloat,
    GoInt,
    go_type,
    is_number,
    number_text,
    printed,
    text_of,
)
from pilotage.workloads.stages.templates.limits import RenderError, check_length
from pilotage.workloads.stages.templates.literals import quoted

_DIRECTIVE = re.compile(r"%([-+# 0]*)(\d+)?(?:\.(\d+)?)?(\[\d+\]|\*)?(.)?", re.DOTALL)
_MAX_WIDTH = 1000
_INTEGERS = {"d": "d", "x": "x", "X": "X", "o": "o", "b": "b"}
_FLOATS = frozenset("eEfFgG")


def formatted(template: str, arguments: Sequence[Any]) -> str:
    """The text of a format and its arguments. Raises RenderError for what is not supported."""
    parts: list[str] = []
    position = used = length = 0
    for match in _DIRECTIVE.finditer(template):
        parts.append(template[position : match.start()])
        position = match.end()
        if match.group(5) == "%":
            parts.append("%")
            continue
        part, used = _directive(match, arguments, used)
        parts.append(part)
        length += len(part)
        check_length(length)
    parts.append(template[position:])
    if used < len(arguments):
        extra = ", ".join(
            f"{_shown_type(each)}={printed(each)}" if each is not None else "<nil>" for each in arguments[used:]
        )
        parts.append(f"%!(EXTRA {extra})")
    return "".join(parts)


def _directive(match: re.Match[str], arguments: Sequence[Any], used: int) -> tuple[str, int]:
    flags, width, _precision, indexed, verb = match.groups()
    if indexed or int(width or 0) > _MAX_WIDTH or int(match.group(3) or 0) > _MAX_WIDTH:
        raise RenderError(f"printf does not support {match.group()!r}")
    if verb is None:
        return "%!(NOVERB)", used
    if used >= len(arguments):
        return f"%!{verb}(MISSING)", used
    precision = None if "." not in match.group() else int(match.group(3) or 0)
    text = _value(verb, flags, precision, arguments[used])
    return _padded(text, flags, int(width or 0), verb), used + 1


def _value(verb: str, flags: str, precision: int | None, value: Any) -> str:
    if verb == "T":
        return _shown_type(value)
    if verb == "v":
        if "#" in flags:
            return go_syntax(value)
        return printed(value) if precision is None else _bad(verb, flags, value)
    if verb == "t" and isinstance(value, bool):
        return printed(value)
    text = text_of(value)
    if text is not None and verb in "sq":
        return _string(verb, text[:precision] if precision is not None else text)
    if isinstance(value, GoInt) and verb in "dxXobcqU":
        return _integer(verb, flags, value)
    if isinstance(value, GoFloat) and verb in _FLOATS:
        return _float(verb, flags, precision, value)
    if isinstance(value, str) and verb in "xX":
        found = value.encode().hex()
        return found.upper() if verb == "X" else found
    if isinstance(value, list) and verb != "p":
        return "[" + " ".join(_value(verb, flags, precision, item) for item in value) + "]"
    return _bad(verb, flags, value)


def _string(verb: str, text: str) -> str:
    return text if verb == "s" else quoted(text)


def _integer(verb: str, flags: str, value: GoInt) -> str:
    if verb in "cq":
        text = chr(value) if 0 <= value <= 0x10FFFF else "\ufffd"
        return text if verb == "c" else f"'{quoted(text)[1:-1]}'"
    if verb == "U":
        return f"U+{value:04X}"
    sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    prefix = {"x": "0x", "X": "0X", "o": "0", "b": "0b"}.get(verb, "") if "#" in flags else ""
    return sign + prefix + format(abs(int(value)), _INTEGERS[verb])


def _float(verb: str, flags: str, precision: int | None, value: GoFloat) -> str:
    sign = "+" if "+" in flags and not value < 0 else " " if " " in flags and not value < 0 else ""
    if verb in "gG" and precision is None:
        text = printed(value)
        return sign + (text.upper() if verb == "G" else text)
    return sign + format(float(value), f".{6 if precision is None else precision}{verb}")


def _padded(text: str, flags: str, width: int, verb: str) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and verb not in "sqvtT":
        sign = text[:1] if text[:1] in ("+", "-") else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def _bad(verb: str, flags: str, value: Any) -> str:
    if isinstance(value, dict) and verb in "sdq":
        raise RenderError(f"printf does not support %{flags}{verb} of a map")
    return f"%!{verb}({_typed(value)})"


def _typed(value: Any) -> str:
    return "<nil>" if value is None else f"{_shown_type(value)}={printed(value)}"


def _shown_type(value: Any) -> str:
    return "<nil>" if value is None else go_type(value)


def go_syntax(value: Any) -> str:
    """A value as `%#v` prints it."""
    if isinstance(value, str):
        return quoted(value)
    if is_number(value):
        return quoted(number_text(value))
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if isinstance(value, dict):
        entries = (f"{quoted(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(entries)}}}"
    return "interface {}(nil)" if value is None else printed(value)
