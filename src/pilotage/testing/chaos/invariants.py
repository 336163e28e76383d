"""Invariants: functions of the user that must hold after every write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from pilotage.meta.forms import Kind, KindOf, O, gvk_of, reader_of
from pilotage.storage.interface import Entry

F = TypeVar("F", bound="Callable[[Objects], object]")

_declared: dict[str, list[Invariant]] = {}
"""By the module that declares them."""


class Objects:
    """The objects on the server at one moment."""

    def __init__(self, entries: Callable[[], Iterable[Entry]]) -> None:
        self._entries = entries

    def list(self, kind: KindOf[O], *, namespace: str = "") -> Sequence[O]:
        """The objects of a kind, in all namespaces or in one."""
        gvk, read = gvk_of(kind), reader_of(cast("Kind", kind), stored=True)
        head = f'{{"apiVersion":"{gvk.api_version}","kind":"{gvk.kind}",'.encode()
        found = [read(entry.value) for entry in self._entries() if entry.value.startswith(head)]
        return [one for one in found if not namespace or one.metadata.namespace == namespace]

    def find(self, kind: KindOf[O], name: str, *, namespace: str = "") -> O | None:
        """One object; None if it does not exist."""
        return next((one for one in self.list(kind, namespace=namespace) if _name(one) == name), None)


Invariant = Callable[[Objects], object]
"""Raises AssertionError, or returns False, if the objects must not be so."""


def invariant(function: F) -> F:
    """Declare a function that must hold after every write, in all chaos runs of scenarios in the same module.

    It is called with the `Objects` on the server, and raises AssertionError, or returns False, if they must not be so.
    """
    _declared.setdefault(function.__module__, []).append(function)
    return function


def declared_in(module: str) -> tuple[Invariant, ...]:
    """The invariants of a module."""
    return tuple(_declared.get(module, ()))


def broken(invariants: Iterable[Invariant], objects: Objects) -> str:
    """What the first invariant that does not hold has to say; empty if all hold."""
    for one in invariants:
        name = getattr(one, "__name__", "an invariant")
        try:
            if one(objects) is False:
                return f"the invariant {name} does not hold"
        except AssertionError as error:
            return f"the invariant {name} does not hold{f': {error}' if str(error) else ''}"
    return ""


def _name(obj: Any) -> str:
    return str(obj.metadata.name)
