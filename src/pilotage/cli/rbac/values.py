"""What an expression of a program is, as far as permissions depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from pilotage.meta.forms import Kind


@dataclass(frozen=True, slots=True)
class Kinds:
    """A kind; one of several where it depends on the run."""

    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class ObjectsOf:
    """An object of one of these kinds."""

    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Many:
    """Something to iterate over."""

    item: Kinds | ObjectsOf


@dataclass(frozen=True, slots=True)
class ClientValue:
    """A client. One that is not `live` reads from the cache."""

    live: bool


@dataclass(frozen=True, slots=True)
class SubresourceValue:
    """A client of one subresource."""

    name: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the program."""

    cls: type


@dataclass(frozen=True, slots=True)
class Python:
    """A module, a function or a class."""

    value: Any


Value: TypeAlias = Kinds | ObjectsOf | Many | ClientValue | SubresourceValue | Instance | Python
Names: TypeAlias = dict[str, Value]
"""The local names of a function."""


def either(one: Value | None, other: Value | None) -> Value | None:
    """What a name is after a branch: the kinds of both ways."""
    if one is None or other is None or one == other:
        return one or other
    if isinstance(one, Kinds | ObjectsOf) and isinstance(other, Kinds | ObjectsOf) and type(one) is type(other):
        return type(one)(tuple(dict.fromkeys((*one.kinds, *other.kinds))))
    if isinstance(one, Many) and isinstance(other, Many):
        item = either(one.item, other.item)
        return Many(item) if isinstance(item, Kinds | ObjectsOf) else one
    if isinstance(one, ClientValue) and isinstance(other, ClientValue):
        return ClientValue(one.live and other.live)
    return other


def merged(names: Names, others: Names) -> Names:
    """The names after a branch."""
    found = {name: either(names.get(name), others.get(name)) for name in {**names, **others}}
    return {name: value for name, value in found.items() if value is not None}
