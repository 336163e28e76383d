"""Causes of an Invalid error, in the words of Kubernetes' field errors: `spec.size: Invalid value: 0: must be …`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from pilotage.errors import Cause, InternalError, Invalid, StatusDetails
from pilotage.meta.kinds import GroupKind


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", _joined("Required value", detail), field)


def invalid(field: str, value: Any, detail: str, *, whole: bool = False) -> Cause:
    """The cause for an invalid value. `value` is shown unless it is an object or a list; with `whole`, these are shown
    too."""
    return Cause("FieldValueInvalid", _joined("Invalid value", shown(value, whole=whole), detail), field)


def shown_invalid(field: str, value: Any, detail: str) -> Cause:
    """As `invalid`, with a value that is written as JSON in the order of its keys."""
    return Cause("FieldValueInvalid", _joined("Invalid value", json_shown(value), detail), field)


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", _joined("Invalid value", shown(value), detail), field)


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> Cause:
    values = ", ".join(quoted(choice) for choice in allowed)
    shows = shown(value, whole=True)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shows}: supported values: {values}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value, whole=True)}", field)


def forbidden(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", _joined("Forbidden", detail), field)


def too_long(field: str, maximum: int) -> Cause:
    unit = "byte" if maximum == 1 else "bytes"
    return Cause("FieldValueTooLong", f"Too long: may not be more than {maximum} {unit}", field)


def too_many(field: str, actual: int, maximum: int) -> Cause:
    unit = "item" if maximum == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {actual}: must have at most {maximum} {unit}", field)


def not_found(field: str, value: Any, detail: str = "") -> Cause:
    return Cause("FieldValueNotFound", _joined("Not found", shown(value), detail), field)


def invalid_error(kind: GroupKind, name: str, causes: Iterable[Cause]) -> Invalid:
    """The 422 for an object of `kind` called `name`, with all its causes in one message."""
    return Invalid.of_kind(kind.group, kind.kind, name, causes)


def internal_error(problem: str) -> InternalError:
    """The 500 for a problem of the server, which is its one cause."""
    return InternalError(f"Internal error occurred: {problem}", details=StatusDetails(causes=(Cause(message=problem),)))


def shown(value: Any, *, whole: bool = False) -> str:
    """A value as an error shows it: strings quoted, objects and lists left out unless `whole`."""
    if isinstance(value, dict | list) and not whole:
        return ""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _SHOWN_WHOLE:
        return str(int(value))
    return json_shown(value, order="sorted")


def json_shown(value: Any, order: Literal["sorted"] | None = None) -> str:
    """A value as JSON the way Go writes it: characters of HTML are escaped."""
    text = msgspec.json.encode(value, order=order).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def quoted(text: str) -> str:
    """A text in quotes as Go's `%q` prints it: printable characters are not escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(each) or _escaped(each) for each in text) + '"'


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_SHOWN_WHOLE = 1e21
"""Go shows whole numbers below this without a fraction or an exponent."""
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _joined(*parts: str) -> str:
    return ": ".join(part for part in parts if part)
