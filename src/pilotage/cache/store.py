"""The store: an object's bytes by namespace and name, with indexes. Its informer alone writes to it; any thread reads.

Objects are stored undecoded. What is needed beyond the bytes (labels, values of an index) is decoded on first use, and
kept up to date from then on.

A read sees one moment and copies nothing but its result, by a sequence lock: a write increments a counter before and
after it changes anything, and a read that finds another counter afterwards is repeated. No write can come in between on
the writing thread, so a read there costs two loads of the counter. After some repetitions a thread takes the lock of
the writes, so that a read ends however much is written. This relies on two properties of dicts: single operations are
safe from any thread, and an iteration over a dict that changes raises RuntimeError or returns a wrong result, but does
not crash. CPython has both with the GIL and without it. Without it the counter is not ordered with the reads around it
on every processor, so there readers take the lock.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from pilotage.cache.errors import NoIndex
from pilotage.cache.index import Index, Key
from pilotage.errors import InvalidDefinition
from pilotage.meta import objects
from pilotage.meta.objects import Header
from pilotage.meta.selectors.selectors import Selector
from pilotage.reflector.intake import USER_FAILURES, Item

Report = Callable[[Key, BaseException], None]
"""Receives an object on which a function of the user's, or the decoder, failed."""


BytesIndexFunction = Callable[[bytes], Iterable[str]]
"""An index function of bytes, which decodes them in the form of its author."""

_Objects = dict[str, dict[str, bytes]]
"""Bytes by namespace and name."""
_Labels = dict[str, dict[str, dict[str, str]]]

_TRIES = 8
"""Unsuccessful reads after which a thread takes the lock."""
_HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()

_F = TypeVar("_F")


class Store:
    """Bytes under keys; `report` receives objects that cannot be indexed."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._objects: _Objects = {}
        self._labels: _Labels | None = None  # built by the first selection by labels
        self._functions: dict[str, BytesIndexFunction] = {}
        self._indexes: dict[str, Index] = {}
        self._count = 0
        self._lock = threading.RLock()  # of writes; reentrant, because an index function may read the store
        self._changes = 0
        """Incremented before and after each write: odd while a write is in progress."""

    def __len__(self) -> int:
        return self._count

    def get(self, namespace: str, name: str) -> bytes | None:
        names = self._objects.get(namespace)
        return names.get(name) if names is not None else None

    def namespaces_of(self, name: str) -> list[str]:
        """The namespaces that have an object with this name."""
        return self.read(lambda: [namespace for namespace, names in self._objects.items() if name in names])

    def read(self, function: Callable[[], _F]) -> _F:
        """Call a function that reads this store at one moment. It may be called several times."""
        for _ in range(_TRIES if _HAS_GIL else 0):
            seen = self._changes
            # Another thread is writing: wait for its lock below, instead of repeating.
            if seen & 1:
                break
            try:
                found = function()
            except Exception:  # a dict that changes during an iteration may cause any error
                if self._changes == seen:
                    raise
            else:
                if self._changes == seen:
                    return found
        with self._lock:
            return function()

    def put(self, data: bytes, header: Header) -> bytes | None:
        """Store an object; returns the bytes it had before."""
        namespace, name = header.namespace, header.name
        # Outside the lock: it calls functions of the user, which may be slow or read the store.
        values = self._values_of((namespace, name), data) if self._functions else {}
        with self._lock:
            if len(values) != len(self._functions):  # another thread has added an index in the meantime
                values = self._values_of((namespace, name), data)
            self._changes += 1
            try:
                names = self._objects.get(namespace)
                if names is None:
                    names = self._objects[sys.intern(namespace)] = {}
                before = names.get(name)
                names[name] = data
                if before is None:
                    self._count += 1
                if self._labels is not None:
                    self._labels.setdefault(namespace, {})[name] = header.labels
                for index, found in values.items():
                    self._indexes[index].put((namespace, name), found)
            finally:
                self._changes += 1
        return before

    def remove(self, namespace: str, name: str) -> bytes | None:
        """Remove an object; returns its bytes."""
        names = self._objects.get(namespace)
        if names is None or name not in names:
            return None
        with self._lock:
            self._changes += 1
            try:
                before = names.pop(name)
                self._count -= 1
                if not names:
                    del self._objects[namespace]
                if self._labels is not None:
                    self._labels[namespace].pop(name, None)
                for index in self._indexes.values():
                    index.remove((namespace, name))
            finally:
                self._changes += 1
        return before

    def replace(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, bytes]]:
        """Replace all objects at once; returns those that were there before, by namespace and name."""
        before, fresh = self._objects, _Objects()
        for item in items:
            names = fresh.get(item.namespace)
            if names is None:
                names = fresh[item.namespace] = {}
            names[item.name] = item.data
        indexes = {name: self._built(function, _items(fresh)) for name, function in self._functions.items()}
        with self._lock:
            self._changes += 1
            try:
                self._objects, self._labels = fresh, None
                self._count = sum(map(len, fresh.values()))
                self._indexes.update(indexes)
            finally:
                self._changes += 1
        return before

    @property
    def names(self) -> Mapping[str, Mapping[str, object]]:
        """The names of all objects, by namespace. For the writer's thread, and until it writes."""
        return self._objects

    def items(self, namespace: str = "") -> list[Item]:
        """All objects, in one namespace or in all, at one moment."""
        return self.read(lambda: _items(self._objects, namespace))

    def select(self, namespace: str = "", labels: Selector | None = None) -> list[bytes]:
        """The objects of a namespace, or of all, that a selector matches."""
        if labels is not None:
            return self.read(lambda: self._matching(namespace, labels))
        if namespace:
            return [*self._objects.get(namespace, {}).values()]  # one operation, so of one moment
        return self.read(lambda: [data for names in self._objects.values() for data in names.values()])

    def labels_of(self, key: Key) -> dict[str, str]:
        """The labels of an object in the store."""
        namespace, name = key
        return self._all_labels()[namespace][name]

    def add_index(self, name: str, function: BytesIndexFunction) -> None:
        """Index by a function, including the objects that are in the store."""
        if name in self._functions:
            raise InvalidDefinition(f"there is an index {name!r} already: use another name")

        def keep(index: Index) -> None:
            # Not changed in place: the writer's thread may be iterating over them.
            self._indexes = {**self._indexes, name: index}
            self._functions = {**self._functions, name: function}

        self._derive(lambda: self._built(function, self.items()), keep)

    def index(self, name: str) -> Index:
        found = self._indexes.get(name)
        if found is None:
            raise NoIndex(name, self._indexes, f"add it with informer.add_index({name!r}, function)")
        return found

    @property
    def index_names(self) -> list[str]:
        return [*self._functions]

    def _matching(self, namespace: str, labels: Selector) -> list[bytes]:
        known, matches, found = self._all_labels(), labels.matches, list[bytes]()
        for each in [namespace] if namespace else [*self._objects]:
            here = known.get(each, {})
            found += [data for name, data in self._objects.get(each, {}).items() if matches(here[name])]
        return found

    def _all_labels(self) -> _Labels:
        return self._labels if self._labels is not None else self._derive(self._read_labels, self._keep_labels)

    def _read_labels(self) -> _Labels:
        found: _Labels = {}
        for item in self.items():
            found.setdefault(item.namespace, {})[item.name] = objects.header(item.data).labels
        return found

    def _keep_labels(self, labels: _Labels) -> None:
        self._labels = labels

    def _derive(self, make: Callable[[], _F], keep: Callable[[_F], None]) -> _F:
        """Compute something from all objects and keep it; later writes keep it up to date."""
        seen, made = self._changes, make()
        with self._lock:
            if self._changes != seen:  # a write happened in between: repeat it with the lock held
                made = make()
            keep(made)
        return made

    def _built(self, function: BytesIndexFunction, items: Iterable[Item]) -> Index:
        index = Index()
        for item in items:
            key = item.namespace, item.name
            index.put(key, self._values(function, key, item.data))
        return index

    def _values_of(self, key: Key, data: bytes) -> dict[str, Iterable[str]]:
        return {name: self._values(function, key, data) for name, function in self._functions.items()}

    def _values(self, function: BytesIndexFunction, key: Key, data: bytes) -> Iterable[str]:
        try:
            found = function(data)
            values = (found,) if isinstance(found, str) else tuple(found)  # a str is one value, not its letters
        except USER_FAILURES as error:  # the other objects must still be indexed
            self.report(key, error)
            return ()
        texts = [value for value in values if isinstance(value, str)]
        # None is a field that is not set. The object is still found by its other values.
        if len(texts) < len(values) and (wrong := [value for value in values if not isinstance(value, str | None)]):
            self.report(key, TypeError(f"an index function must return texts, not {type(wrong[0]).__name__}"))
        return texts


def _items(found: _Objects, namespace: str = "") -> list[Item]:
    chosen = found if not namespace else {namespace: found.get(namespace, {})}
    return [Item(each, name, data) for each, names in chosen.items() for name, data in names.items()]
