"""An index: keys of objects by the values that an index function returns for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from pilotage.meta.typevars import T

Key = tuple[str, str]
"""Namespace and name."""

IndexFunction: TypeAlias = Callable[[T], Iterable[str]]
"""Returns the values under which an object is found, or one as a str; the result must depend on the object alone."""


class Index:
    """Values to keys. A value without objects takes no memory."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[str, dict[str, None]]] = {}  # value, namespace, name
        self._values: dict[Key, tuple[str, ...]] = {}

    def put(self, key: Key, values: Iterable[str]) -> None:
        """Set the values of an object."""
        found = tuple(dict.fromkeys(values))
        before = self._values.get(key, ())
        if found == before:
            return
        self.remove(key)
        if found:
            self._values[key] = found
        namespace, name = key
        for value in found:
            self._keys.setdefault(value, {}).setdefault(namespace, {})[name] = None

    def remove(self, key: Key) -> None:
        """Remove an object."""
        namespace, name = key
        for value in self._values.pop(key, ()):
            namespaces = self._keys[value]
            names = namespaces[namespace]
            del names[name]
            if not names:
                del namespaces[namespace]
            if not namespaces:
                del self._keys[value]

    def keys(self, value: str, namespace: str = "") -> Iterator[Key]:
        """The keys of the objects that have a value, in one namespace or in all."""
        namespaces = self._keys.get(value, {})
        if namespace:
            namespaces = {namespace: namespaces.get(namespace, {})}
        for namespace, names in namespaces.items():
            for name in names:
                yield namespace, name

    def has(self, key: Key, value: str) -> bool:
        """Whether the object has this value."""
        return value in self._values.get(key, ())

    def values(self) -> list[str]:
        """All values that some object has."""
        return [*self._keys]
