"""Which resources are served: the built-in ones, and those of the CRDs that are in the storage at this moment.

A definition is looked up in the storage by its name (`plural.group`) and compiled once for each version of it, so a
resource is served in the instant its definition is committed, by whichever process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from pilotage.errors import NotFound
from pilotage.meta.kinds import GroupVersion, GroupVersionResource
from pilotage.meta.mapper import RESTMapping
from pilotage.schema.structural import StructuralSchema
from pilotage.server import definitions, routes
from pilotage.server.events import core_path
from pilotage.server.records import decode
from pilotage.server.served import Served
from pilotage.storage.interface import Entry, Storage
from pilotage.types import builtin

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions/"
NAMESPACES = "core/namespaces/"
EVENTS = GroupVersionResource("", "v1", "events")
NEW_EVENTS = GroupVersionResource("events.k8s.io", "v1", "events")
NEEDED_VERBS = frozenset(("create", "get", "list", "watch", "update", "delete"))


class Redefined(Exception):
    """The definition that a request was looked up by has changed meanwhile."""


class Catalogue:
    """Finds what serves a resource."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix

    async def find(self, gvr: GroupVersionResource) -> Served:
        """Raises NotFound, in plain words, where nothing serves it."""
        served = _builtins().get(gvr)
        if served is None:
            served = await self._custom(gvr)
        if served is None:
            known = gvr.group_version in builtin_versions()
            raise routes.no_resource() if known else NotFound(routes.NO_PAGE)
        return served

    async def _custom(self, gvr: GroupVersionResource) -> Served | None:
        entry = await self._storage.get(f"{self._prefix}{DEFINITIONS}{gvr.resource}.{gvr.group}")
        return _compiled(entry).get(gvr) if entry is not None else None

    async def all(self) -> Sequence[Served]:
        """Everything that is served now."""
        snapshot = await self._storage.list(self._prefix + DEFINITIONS)
        custom = [served for entry in snapshot.entries for served in _compiled(entry).values()]
        return [*_builtins().values(), *custom]


def _compiled(entry: Entry) -> dict[GroupVersionResource, Served]:
    # Remembered beside what a selection keeps there: an entry never changes, so what follows from it does not either.
    if not isinstance(entry.memo, _Definition):
        value = entry.value
        made = definitions.served_by(decode(value), entry.key, entry.revision, len(value))
        entry.memo = _Definition({one.gvr: one for one in made})
    return entry.memo.served


class _Definition:
    __slots__ = ("served",)

    def __init__(self, served: dict[GroupVersionResource, Served]) -> None:
        self.served = served


@cache
def _builtins() -> dict[GroupVersionResource, Served]:
    found = {
        mapping.resource: _builtin(mapping) for mapping in builtin.resources() if NEEDED_VERBS.issubset(mapping.verbs)
    }
    core, other = found[EVENTS], found[NEW_EVENTS]
    versions = {core.gvk.api_version: core}
    selectable = {field: core_path(path) for field, path in other.selectable.items()}
    found[NEW_EVENTS] = replace(other, storage=core, versions=versions, selectable=selectable)
    return found


@cache
def builtin_versions() -> frozenset[GroupVersion]:
    """The groups and versions that are built in: elsewhere, what is not served is not even an error of the API."""
    return frozenset(mapping.resource.group_version for mapping in builtin.resources())


def _builtin(mapping: RESTMapping) -> Served:
    resource = mapping.resource.group_resource

    def compile_schema() -> StructuralSchema:
        return StructuralSchema.compile(builtin.schema(mapping.gvk), resolve=builtin.definition)

    return Served(
        mapping=mapping,
        compile_schema=compile_schema,
        generation=resource in builtin.GENERATION,
        unconditional_update=resource not in builtin.UNCONDITIONAL_UPDATE_FORBIDDEN,
        create_on_update=resource in builtin.CREATE_ON_UPDATE,
        selectable={
            field: tuple(path.split(".")) for field, path in builtin.SELECTABLE_FIELDS.get(resource, {}).items()
        },
    )
