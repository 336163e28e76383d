"""The text of a Pod template that Kubernetes hashes: its Go struct, printed by go-spew with `%#v`.

A field is printed with its Go name and type, whether it is set or not. The items of lists and maps, and what a pointer
points to, are printed without their type. For each type there is one function from its JSON value to its text.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from pilotage.meta.scalars import times
from pilotage.workloads.templates.quantities import dump_quantity

Dump = Callable[[Any], str]

_NIL = "<nil>"
_UNIX_TO_YEAR_ONE = 62135596800
"""Go counts seconds from the year 1."""
_UTC = (
    "(*time.Location){name:(string)UTC zone:([]time.zone)<nil> tx:([]time.zoneTrans)<nil> extend:(string) "
    "cacheStart:(int64)0 cacheEnd:(int64)0 cacheZone:(*time.zone)<nil>}"
)


def dump_template(template: Mapping[str, Any]) -> str:
    """The text of a Pod template, given as the API server has stored it."""
    return f"(v1.PodTemplateSpec){_dump_of('v1.PodTemplateSpec')(template)}"


class _Field(NamedTuple):
    """A field of a struct: where it is in JSON, and its text."""

    name: str
    """Empty for a struct whose fields are in its parent in JSON."""
    prefix: str
    dump: Dump
    unset: str


@cache
def _types() -> dict[str, str | list[tuple[str, str, str]]]:
    """The Go types by their names: the fields of a struct as Go name, JSON name and type, or the underlying type."""
    data = files(__package__).joinpath("gotypes.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, str | list[tuple[str, str, str]]])


@cache
def _dump_of(type_: str) -> Dump:
    """The function for a type."""
    known = _SCALARS.get(type_)
    if known is not None:
        return known
    if type_.startswith("*"):
        return _dump_of(type_[1:])
    if type_ == "[]uint8":
        return _dump_bytes
    if type_.startswith("[]"):
        return _list(_dump_of(type_[2:]))
    if type_.startswith("map["):
        return _map(_dump_of(type_.partition("]")[2]))
    found = _types()[type_]
    return _dump_of(found) if isinstance(found, str) else _struct([_field(*row) for row in found])


def _field(go_name: str, name: str, type_: str) -> _Field:
    prefix, dump = f"{go_name}:({type_})", _dump_of(type_)
    if type_.startswith("*"):
        return _Field(name, prefix, dump, f"{prefix}{_NIL}")
    return _Field(name, prefix, dump, prefix + dump(_zero(type_)))


def _zero(type_: str) -> Any:
    """The JSON value of a field that is not set and not a pointer."""
    if type_ in _ZEROS:
        return _ZEROS[type_]
    found = _types().get(type_)
    if isinstance(found, str):
        return _zero(found)
    return None if found is None else {}


def _struct(fields: list[_Field]) -> Dump:
    def dump(value: Mapping[str, Any]) -> str:
        get = value.get
        parts = [
            unset if name and (part := get(name)) is None else prefix + (inner(part) if name else inner(value))
            for name, prefix, inner, unset in fields
        ]
        return f"{{{' '.join(parts)}}}"

    return dump


def _list(item: Dump) -> Dump:
    return lambda value: f"[{' '.join(map(item, value))}]" if value else _NIL


def _map(item: Dump) -> Dump:
    def dump(value: Mapping[str, Any]) -> str:
        return f"map[{' '.join(f'{key}:{item(value[key])}' for key in sorted(value))}]" if value else _NIL

    return dump


def _dump_bool(value: bool) -> str:
    return "true" if value else "false"


def _dump_bytes(value: str) -> str:
    return f"[{' '.join(map(str, base64.b64decode(value)))}]" if value else _NIL


def _dump_raw(value: object) -> str:
    """The field `fieldsV1` of managed fields, which is the bytes of any JSON."""
    data = msgspec.json.encode(value) if value else b""
    return f"{{Raw:([]uint8)[{' '.join(map(str, data))}]}}" if data else f"{{Raw:([]uint8){_NIL}}}"


def _dump_time(value: str) -> str:
    """A time to the second; none has no location, and others have that of a process in UTC."""
    moment = times.parse(value) if value else None
    seconds = int(moment.timestamp()) + _UNIX_TO_YEAR_ONE if moment is not None else 0
    location = _UTC if moment is not None else f"(*time.Location){_NIL}"
    return f"{{Time:(time.Time){{wall:(uint64)0 ext:(int64){seconds} loc:{location}}}}}"


def _dump_int_or_string(value: int | str) -> str:
    if isinstance(value, str):
        return f"{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){value}}}"
    return f"{{Type:(intstr.Type)0 IntVal:(int32){value} StrVal:(string)}}"


_ZEROS: dict[str, object] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "v1.Time": "",
    "intstr.IntOrString": 0,
    "resource.Quantity": "0",
}
_SCALARS: dict[str, Dump] = {
    "string": str,
    "int32": str,
    "int64": str,
    "bool": _dump_bool,
    "v1.Time": _dump_time,
    "v1.FieldsV1": _dump_raw,
    "intstr.IntOrString": _dump_int_or_string,
    "resource.Quantity": dump_quantity,
}
