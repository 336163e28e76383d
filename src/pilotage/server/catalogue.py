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
from pilotage.server import routes
from pilotage.server.records import decode
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import apiextensions
from pilotage.server.strategies.events import core_path
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

    async def find(self, gvr: GroupVersionResource) -> ResourceInfo:
        """Raises NotFound, in plain words, where nothing serves it."""
        info = _builtins().get(gvr)
        if info is None:
            info = await self._custom(gvr)
        if info is None:
            known = gvr.group_version in builtin_versions()
            raise routes.no_resource() if known else NotFound(routes.NO_PAGE)
        return info

    async def _custom(self, gvr: GroupVersionResource) -> ResourceInfo | None:
        entry = await self._storage.get(f"{self._prefix}{DEFINITIONS}{gvr.resource}.{gvr.group}")
        return _compiled(entry).get(gvr) if entry is not None else None

    async def all(self) -> Sequence[ResourceInfo]:
        """Everything that is served now."""
        snapshot = await self._storage.list(self._prefix + DEFINITIONS)
        custom = [info for entry in snapshot.entries for info in _compiled(entry).values()]
        return [*_builtins().values(), *custom]


def _compiled(entry: Entry) -> dict[GroupVersionResource, ResourceInfo]:
    # Remembered beside what a selection keeps there: an entry never changes, so what follows from it does not either.
    if not isinstance(entry.memo, _Definition):
        value = entry.value
        made = apiextensions.resources_of(decode(value), entry.key, entry.revision, len(value))
        entry.memo = _Definition({one.gvr: one for one in made})
    return entry.memo.info


class _Definition:
    __slots__ = ("info",)

    def __init__(self, info: dict[GroupVersionResource, ResourceInfo]) -> None:
        self.info = info


@cache
def _builtins() -> dict[GroupVersionResource, ResourceInfo]:
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


def _builtin(mapping: RESTMapping) -> ResourceInfo:
    resource = mapping.resource.group_resource

    def compile_schema() -> StructuralSchema:
        return StructuralSchema.compile(builtin.schema(mapping.gvk), resolve=builtin.definition)

    return ResourceInfo(
        mapping=mapping,
        compile_schema=compile_schema,
        generation=resource in builtin.GENERATION,
        unconditional_update=resource not in builtin.UNCONDITIONAL_UPDATE_FORBIDDEN,
        create_on_update=resource in builtin.CREATE_ON_UPDATE,
        selectable={
            field: tuple(path.split(".")) for field, path in builtin.SELECTABLE_FIELDS.get(resource, {}).items()
        },
    )
