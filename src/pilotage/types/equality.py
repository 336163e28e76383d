"""Equality of objects and their parts as the API server sees them: Go's `equality.Semantic.DeepEqual`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from pilotage.meta.models import Model
from pilotage.meta.scalars.times import MicroTime
from pilotage.types import builtin

__all__ = ["semantic_equal"]

_TYPES = "pilotage.types."
_NOTHING: tuple[object, ...] = (None, [], {})
_ZEROS = (str, bool, int, float)


def semantic_equal(one: object, other: object) -> bool:
    """Whether two values are the same for the API server: statuses, specs, lists or maps of them, documents.

    An absent list or map equals an empty one. In a built-in kind, an absent scalar equals its zero, as `ready_replicas`
    does, unless zero has a meaning of its own, as in `replicas` of a spec. Times are compared to the second, as they
    are stored. Compare a status with it before it is written: `status != old` stays true for a zero that reads back as
    None, and the write repeats for ever.
    """
    if isinstance(one, Model) and type(one) is type(other):
        return _equal_models(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_equal(one.get(key), other.get(key)) for key in one.keys() | other.keys())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(semantic_equal, one, other))
    if isinstance(one, datetime) and isinstance(other, datetime) and not isinstance(one, MicroTime):
        return one.replace(microsecond=0) == other.replace(microsecond=0)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _equal(one: object, other: object) -> bool:
    """Equality of a field or a key of a document, which may be absent."""
    return (one in _NOTHING and other in _NOTHING) or semantic_equal(one, other)


def _equal_models(one: Any, other: Any) -> bool:
    encoding = _encoding(type(one).__module__, type(one).__name__)
    for field, name in _fields(one):
        left, right = getattr(one, field), getattr(other, field)
        if not _equal(left, right) and not (_is_absent(left, name, encoding) and _is_absent(right, name, encoding)):
            return False
    return True


def _is_absent(value: object, name: str, encoding: builtin.Encoding | None) -> bool:
    """Whether Go has the same for this value of a field as for none."""
    if value is None:
        return True
    if encoding is None:
        return False  # the class of a custom resource: what it writes is stored
    if isinstance(value, Model):
        return encoding.always.get(name) == {} and _is_empty(value)
    return isinstance(value, _ZEROS) and not value and name not in encoding.pointers


def _is_empty(model: Model) -> bool:
    encoding = _encoding(type(model).__module__, type(model).__name__)
    values = ((getattr(model, field), name) for field, name in _fields(model))
    return all(value in _NOTHING or _is_absent(value, name, encoding) for value, name in values)


def _fields(model: Model) -> Iterator[tuple[str, str]]:
    """The attributes of a model, each with its name in JSON."""
    return zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True)


@cache
def _encoding(module: str, name: str) -> builtin.Encoding | None:
    """How Go encodes a built-in type; None for a class of a program."""
    if not module.startswith(_TYPES):
        return None
    return builtin.encoding(_definitions().get(f"{module.removeprefix(_TYPES)}.{name}", ""))


@cache
def _definitions() -> dict[str, str]:
    """The names of the built-in definitions by `apps.v1.DeploymentStatus`."""
    return {".".join(name.split(".")[-3:]): name for name in builtin.definition_names()}
