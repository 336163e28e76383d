"""Listers: reading from a store in one form of its objects, without waiting and without the network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Generic, TypeVar

from pilotage.cache.errors import NamespaceRemoved, NotCached
from pilotage.cache.index import Key
from pilotage.cache.store import Store
from pilotage.errors import BadRequest, DecodeError, NotFound, StatusDetails
from pilotage.meta.bounds.amounts import count
from pilotage.meta.forms import Kind, gvk_of, reader_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objectlist import ObjectList
from pilotage.meta.selectors.selection import Fields, Labels, field_text, selector_of
from pilotage.meta.selectors.selectors import FieldSelector, Selector
from pilotage.rest.response import Bytes

T = TypeVar("T")


class Lister(Generic[T]):
    """Reads objects from the stores of a kind. Each caller gets objects of its own.

    `stores` are by namespace; the one under the empty name has all namespaces without a store of their own. Reads take
    the `namespace` of a namespaced kind.
    """

    def __init__(
        self, stores: Mapping[str, Store], kind: Kind, version: Callable[[], str], *, removed: Collection[str] = ()
    ) -> None:
        """`removed` are the namespaces that had a store."""
        self._stores = stores
        self._removed = removed
        self._kind = gvk_of(kind)
        self._read: Callable[[Bytes], T] = reader_of(kind, stored=True)
        self._version = version

    def get(self, name: str, *, namespace: str = "") -> T:
        """The object; raises NotFound. The namespace is ignored for a cluster-scoped kind."""
        found = self.find(name, namespace=namespace)
        if found is None:
            raise not_found(self._kind, namespace, name)
        return found

    def find(self, name: str, *, namespace: str = "") -> T | None:
        """The object, or None."""
        store = self._stores.get(namespace)
        if store is None:
            store = self._store(namespace)
        data = store.get(namespace, name)
        if data is None:
            data = store.get("", name) if namespace else None
            if data is None:
                return None
        try:
            return self._read(data)
        except DecodeError as error:
            store.report((namespace, name), error)
            raise

    def list(
        self, *, namespace: str = "", labels: Labels = None, fields: Fields = None, limit: int = 0
    ) -> ObjectList[T]:
        """The objects of a namespace, or of all, decoded on use; at most `limit` of them.

        `labels` is a label selector. `fields` are names and values of indexes: `list(fields={"spec.nodeName": "a"})`
        needs an index of that name.
        """
        return self._select(namespace, selector_of(labels), exact_terms(fields), count(limit, "limit"))

    def by_index(self, name: str, value: str, *, namespace: str = "") -> ObjectList[T]:
        """The objects that an index has under a value."""
        return self._select(namespace, None, {name: value})

    def _select(
        self, namespace: str, selector: Selector | None, terms: Mapping[str, str], limit: int = 0
    ) -> ObjectList[T]:
        found: Any = []
        version = self._version()  # before the objects are read: a list must not claim to be newer than it is
        # The stores are copied: their mapping may change meanwhile.
        for store in (self._store(namespace),) if namespace else [*self._stores.values()]:
            found += _indexed(store, terms, namespace, selector) if terms else store.select(namespace, selector)
        return ObjectList(found[:limit] if limit else found, self._read, resource_version=version)

    def _store(self, namespace: str) -> Store:
        store = self._stores.get(namespace, self._stores.get(""))
        if store is not None:
            return store
        known = ", ".join(sorted(self._stores)) or "(none)"
        if namespace in self._removed:
            raise NamespaceRemoved(
                f"{self._kind.kind} is no longer cached in the namespace {namespace}, which was removed from the "
                "cache: read live with the cluster's client",
                namespace,
            )
        if namespace:
            raise NotCached(
                f"{self._kind.kind} is cached in the namespaces {known} and not in {namespace}: "
                "add it to the cache's options, or read live with the cluster's client"
            )
        raise BadRequest(f"{self._kind.kind} is cached in the namespaces {known}: pass namespace=…")


class Reads(Generic[T]):
    """The reads of an informer, which its lister does."""

    _lister: Lister[T]

    def get(self, name: str, *, namespace: str = "") -> T:
        """The object in its last known state; raises NotFound."""
        return self._lister.get(name, namespace=namespace)

    def find(self, name: str, *, namespace: str = "") -> T | None:
        """The object, or None."""
        return self._lister.find(name, namespace=namespace)

    def list(
        self, *, namespace: str = "", labels: Labels = None, fields: Fields = None, limit: int = 0
    ) -> ObjectList[T]:
        """The objects, decoded on use. `fields` are names and values of indexes."""
        return self._lister.list(namespace=namespace, labels=labels, fields=fields, limit=limit)

    def by_index(self, name: str, value: str, *, namespace: str = "") -> ObjectList[T]:
        """The objects that an index has under a value."""
        return self._lister.by_index(name, value, namespace=namespace)


def _indexed(store: Store, terms: Mapping[str, str], namespace: str, selector: Selector | None) -> list[bytes]:
    return store.read(lambda: _lookup(store, terms, namespace, selector))


def _lookup(store: Store, terms: Mapping[str, str], namespace: str, selector: Selector | None) -> list[bytes]:
    (name, value), *others = terms.items()
    keys: Iterable[Key] = store.index(name).keys(value, namespace)
    for other, wanted in others:
        index = store.index(other)
        keys = [key for key in keys if index.has(key, wanted)]
    if selector is not None:
        keys = [key for key in keys if selector.matches(store.labels_of(key))]
    return [data for key in keys if (data := store.get(*key)) is not None]


def exact_terms(fields: Fields) -> dict[str, str]:
    """A field selector as names and values; an index supports equality only."""
    selector = fields if isinstance(fields, FieldSelector) else FieldSelector.parse(field_text(fields))
    terms: dict[str, str] = {}
    for term in selector.requirements:
        if term.operator != "=" or terms.get(term.field, term.value) != term.value:
            raise BadRequest(
                f"a cache supports field selectors of the form name=value only, not {selector}: "
                "use labels, or read live with the cluster's client"
            )
        terms[term.field] = term.value
    return terms


def not_found(gvk: GroupVersionKind, namespace: str, name: str) -> NotFound:
    """The error for an object that is not in the cache; it names the kind, because a cache knows no resources."""
    what = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    error = NotFound(f'{what} "{name}" not found', details=StatusDetails(name=name, group=gvk.group, kind=gvk.kind))
    error.group, error.kind, error.namespace, error.name = gvk.group, gvk.kind, namespace, name
    return error
