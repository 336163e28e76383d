"""The store: an object's bytes by namespace and name, with indexes. Its informer alone writes to it.

Nothing is decoded to be kept. What is needed beyond the bytes (labels, values of an index) is read from them the first
time that somebody asks, and kept up from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from pilotage.cache.errors import USER_FAILURES, NoIndex
from pilotage.cache.index import Index, Key
from pilotage.cache.intake import Item
from pilotage.errors import InvalidDefinition
from pilotage.meta import objects
from pilotage.meta.objects import Header
from pilotage.meta.selectors import Selector

Report = Callable[[Key, BaseException], None]
"""Is told of an object that a function of the user's, or the decoder, failed on."""


BytesIndexFunction = Callable[[bytes], Iterable[str]]
"""An index function that decodes by itself, in the form that its author wants."""


class Store:
    """Bytes under keys; `report` hears of objects that cannot be indexed."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._objects: dict[str, dict[str, bytes]] = {}
        self._labels: dict[str, dict[str, dict[str, str]]] | None = None  # only once somebody selects by labels
        self._functions: dict[str, BytesIndexFunction] = {}
        self._indexes: dict[str, Index] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, namespace: str, name: str) -> bytes | None:
        names = self._objects.get(namespace)
        return names.get(name) if names is not None else None

    def put(self, data: bytes, header: Header) -> bytes | None:
        """Keep an object; gives what was there before."""
        namespace, name = header.namespace, header.name
        names = self._objects.get(namespace)
        if names is None:
            names = self._objects[sys.intern(namespace)] = {}
        before = names.get(name)
        names[name] = data
        if before is None:
            self._count += 1
        if self._labels is not None:
            self._labels.setdefault(namespace, {})[name] = header.labels
        if self._indexes:
            self._index((namespace, name), data)
        return before

    def remove(self, namespace: str, name: str) -> bytes | None:
        """Forget an object; gives what was there."""
        names = self._objects.get(namespace)
        before = names.pop(name, None) if names is not None else None
        if before is None:
            return None
        self._count -= 1
        if not names:
            del self._objects[namespace]
        if self._labels is not None:
            self._labels[namespace].pop(name, None)
        for index in self._indexes.values():
            index.remove((namespace, name))
        return before

    def replace(self, items: Iterable[Item]) -> dict[str, dict[str, bytes]]:
        """Keep these and nothing else, in one go; gives all that was there before, by namespace and name."""
        before, fresh = self._objects, dict[str, dict[str, bytes]]()
        for namespace, name, data in items:
            names = fresh.get(namespace)
            if names is None:
                names = fresh[namespace] = {}
            names[name] = data
        self._objects, self._labels = fresh, None
        self._count = sum(map(len, fresh.values()))
        for name, function in self._functions.items():
            self._indexes[name] = self._built(function)
        return before

    def items(self, namespace: str = "") -> Iterator[Item]:
        """All objects, in one namespace or in all, as they are at this moment."""
        for place in self._places(namespace):
            for name, data in list(self._objects.get(place, {}).items()):
                yield Item(place, name, data)

    def select(self, namespace: str = "", labels: Selector | None = None) -> list[bytes]:
        """The objects of a namespace, or of all, that a selector matches."""
        if labels is None:
            if namespace:
                return [*self._objects.get(namespace, {}).values()]
            return [data for names in self._objects.values() for data in names.values()]
        known, matches, found = self._all_labels(), labels.matches, list[bytes]()
        for place in self._places(namespace):
            here = known[place]
            found += [data for name, data in self._objects[place].items() if matches(here[name])]
        return found

    def labels_of(self, key: Key) -> dict[str, str]:
        """The labels of an object that is there."""
        namespace, name = key
        return self._all_labels()[namespace][name]

    def add_index(self, name: str, function: BytesIndexFunction) -> None:
        """Index by a function, also what is there already."""
        if name in self._functions:
            raise InvalidDefinition(f"there is an index {name!r} already; give the second one another name")
        self._functions[name] = function
        self._indexes[name] = self._built(function)

    def index(self, name: str) -> Index:
        found = self._indexes.get(name)
        if found is None:
            raise NoIndex(name, self._indexes, f"add it with informer.add_index({name!r}, function)")
        return found

    @property
    def index_names(self) -> list[str]:
        return [*self._functions]

    def _places(self, namespace: str) -> Iterable[str]:
        if not namespace:
            return [*self._objects]
        return [namespace] if namespace in self._objects else []

    def _all_labels(self) -> dict[str, dict[str, dict[str, str]]]:
        if self._labels is None:
            self._labels = {
                place: {name: objects.header(data).labels for name, data in names.items()}
                for place, names in self._objects.items()
            }
        return self._labels

    def _built(self, function: BytesIndexFunction) -> Index:
        index = Index()
        for place, name, data in self.items():
            index.put((place, name), self._values(function, (place, name), data))
        return index

    def _index(self, key: Key, data: bytes) -> None:
        for name, function in self._functions.items():
            self._indexes[name].put(key, self._values(function, key, data))

    def _values(self, function: BytesIndexFunction, key: Key, data: bytes) -> Iterable[str]:
        try:
            return tuple(function(data))
        except USER_FAILURES as error:  # one object must not keep the others out of the index
            self.report(key, error)
            return ()
