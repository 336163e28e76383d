"""How msgspec reads and writes our own scalar types: Quantity, MicroTime, Duration."""

from __future__ import annotations

from typing import Any

from pilotage.meta.quantity import Quantity
from pilotage.meta.times import Duration, MicroTime


def enc_hook(value: object) -> str | int | float:
    """The wire form of a value that msgspec does not know."""
    if isinstance(value, Quantity):
        return value.wire
    if isinstance(value, MicroTime | Duration):
        return value.format()
    raise NotImplementedError(f"a value of type {type(value).__name__} cannot be written as JSON")


def dec_hook(type_: type[Any], value: Any) -> Any:
    """A value of `type_` from what stands on the wire; msgspec adds the path to the error."""
    if type_ is Quantity:
        return Quantity(value)
    if type_ is MicroTime or type_ is Duration:
        if not isinstance(value, str):
            raise ValueError(f"Expected `str`, got `{_json_type(value)}`")
        return type_.parse(value)
    raise NotImplementedError(f"a field of type {getattr(type_, '__name__', type_)} cannot be read from JSON")


def _json_type(value: object) -> str:
    return {dict: "object", list: "array", type(None): "null"}.get(type(value), type(value).__name__)
