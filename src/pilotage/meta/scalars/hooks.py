"""How msgspec reads and writes our own types: Quantity, MicroTime, Duration, and objects inside objects."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.scalars.times import Duration, MicroTime


@runtime_checkable
class Documented(Protocol):
    """An object that has its whole document at hand, as `Unstructured` has."""

    @property
    def document(self) -> dict[str, Any]: ...


ENCODE_ERRORS = (NotImplementedError, TypeError, UnicodeEncodeError)
"""What an encoder with this hook raises for a value that JSON does not have."""


def enc_hook(value: object) -> object:
    """The wire form of a value that msgspec does not know."""
    if isinstance(value, Quantity):  # first: the check for a protocol takes longest
        return value.wire
    if isinstance(value, MicroTime | Duration):
        return value.format()
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    if isinstance(value, Documented):
        return value.document
    raise NotImplementedError(f"a value of type {type(value).__name__} cannot be written as JSON")


def dec_hook(type_: type[Any], value: Any) -> Any:
    """A value of `type_` from its wire form; msgspec adds the path to the error."""
    if type_ is Quantity:
        return Quantity(value)
    if type_ is MicroTime or type_ is Duration:
        if not isinstance(value, str):
            raise ValueError(f"Expected `str`, got `{_json_type(value)}`")
        return type_.parse(value)
    if isinstance(value, dict) and (read := getattr(type_, "from_document", None)) is not None:
        return read(value)
    raise NotImplementedError(f"a field of type {getattr(type_, '__name__', type_)} cannot be read from JSON")


def _json_type(value: object) -> str:
    return {dict: "object", list: "array", type(None): "null"}.get(type(value), type(value).__name__)
