"""Answers to creates that confirm what was sent: only the metadata in them is new, and only that is decoded."""

from __future__ import annotations

import types
import typing
from typing import Any, NamedTuple

import msgspec

from pilotage.meta import objects
from pilotage.meta.models import Model, ObjectMeta, Resource
from pilotage.meta.scalars.hooks import dec_hook

_EXACT = (str, int, bool, types.NoneType)
"""The types of values that are the same after encoding and decoding. A time loses what is finer than a second."""
_MAX_MODELS = 24
"""How many classes inside a class are looked at, when its first object is created."""
_decode = msgspec.json.Decoder(ObjectMeta, dec_hook=dec_hook).decode


class _Layout(NamedTuple):
    """How the objects of a class are written."""

    head: bytes
    """What is before the metadata."""
    ends: tuple[bytes, ...]
    """How the metadata ends before each of the fields, in their order: the first of them that is there counts."""
    inexact: tuple[str, ...]
    """The attributes whose values may be others after encoding and decoding."""


_LAYOUTS: dict[type[Resource], _Layout] = {}


def new_metadata(obj: Resource, sent: bytes, data: bytes) -> ObjectMeta | None:
    """The metadata in the answer to a create, if all else in it is what was sent, byte by byte; else None.

    `sent` are the bytes of `obj`. Then the answer is the head, the metadata and the end of what was sent: what is
    between must be one JSON value, so there is no other field.
    """
    layout = _LAYOUTS.get(type(obj)) or _layout(type(obj))
    for name in layout.inexact:
        if getattr(obj, name):
            return None
    at = 0
    for end in layout.ends:
        if at := sent.find(end) + 1:
            break
    rest = sent[at:]
    if not at or not data.endswith(rest) or not data.startswith(layout.head):
        return None
    try:
        return _decode(memoryview(data)[len(layout.head) : len(data) - len(rest)])
    except msgspec.DecodeError:
        return None


def _layout(kind: type[Resource]) -> _Layout:
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "metadata"]
    hints = typing.get_type_hints(kind, include_extras=True)
    inexact = tuple(field.name for field in fields if not _is_exact(hints[field.name], set()))
    ends = tuple(b'},"%b":' % field.encode_name.encode() for field in fields)
    _LAYOUTS[kind] = found = _Layout(objects.prefix_of(kind) + b'"metadata":', ends, inexact)
    return found


def _is_exact(hint: Any, models: set[type[Model]]) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _is_exact(arguments[0], models)
    if origin is typing.Literal:
        return True
    if origin in (list, dict, typing.Union, types.UnionType):
        return all(_is_exact(argument, models) for argument in arguments)
    if hint in _EXACT or hint in models:
        return True
    if not (isinstance(hint, type) and issubclass(hint, Model)) or len(models) == _MAX_MODELS:
        return False
    models.add(hint)
    hints = typing.get_type_hints(hint, include_extras=True)
    return all(_is_exact(hints[name], models) for name in hint.__struct_fields__)
