"""Which resources are served: the built-in ones, and those of the CRDs that are in the storage at this moment.

A definition is looked up in the storage by its name (`plural.group`) and compiled once for each version of it, so a
resource is served from the commit of its definition on, even if another process made it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache

from msgspec.structs import replace

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.catalogue import routes
from pilotage.server.catalogue.actions import BINDINGS
from pilotage.server.catalogue.custom import CustomStrategies as CustomStrategies
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.definitions import DEFINITIONS as DEFINITIONS
from pilotage.server.records import decode
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.builtin import strategy_for
from pilotage.server.strategies.services.ranges import SERVICE_RANGES, families_of
from pilotage.storage.interface import Entry, Storage
from pilotage.types import builtin

NAMESPACES = "core/namespaces/"
EVENTS = GroupVersionResource("", "v1", "events")
NEW_EVENTS = GroupVersionResource("events.k8s.io", "v1", "events")
_AUTOSCALERS = "horizontalpodautoscalers"
_STORED_ELSEWHERE = {
    NEW_EVENTS: EVENTS,
    GroupVersionResource("autoscaling", "v1", _AUTOSCALERS): GroupVersionResource("autoscaling", "v2", _AUTOSCALERS),
}
"""Built-in resources whose objects are kept in the form of another one."""
NEEDED_VERBS = frozenset(("create", "get", "list", "watch", "update", "delete"))
REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups whose objects are processed at once, and never stored."""
COMPONENTS = GroupVersionResource("", "v1", "componentstatuses")
"""Resources that are processed at once, and never stored, too."""
_SERVICES = GroupVersionResource("", "v1", "services")
_DEPRECATED = {
    COMPONENTS: "v1 ComponentStatus is deprecated in v1.19+",
    GroupVersionResource("", "v1", "endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}
"""The warnings for deprecated built-in kinds."""
_MAX_COMPILED = 4096


class Redefined(Exception):
    """The definition that a request was looked up by has changed meanwhile."""


class Catalogue:
    """Finds the information about a resource."""

    def __init__(
        self,
        storage: Storage,
        prefix: str,
        strategies: CustomStrategies | None = None,
        families: tuple[str, ...] = families_of(SERVICE_RANGES),
    ) -> None:
        """`families` are those of the addresses of Services."""
        self._storage = storage
        self._prefix = prefix
        self._strategies = strategies or {}
        self._families = families
        # The most recent: it has those of deleted definitions, too.
        self._compiled: Recent[str, tuple[int, dict[GroupVersionResource, ResourceInfo]]] = Recent(_MAX_COMPILED)

    def builtin(self, gvr: GroupVersionResource) -> ResourceInfo | None:
        """A built-in resource; None if it is not one."""
        return _builtins(self._families).get(gvr)

    async def find(self, gvr: GroupVersionResource) -> ResourceInfo:
        """Raises NotFound if the resource is not served."""
        info = _builtins(self._families).get(gvr)
        if info is None:
            key = f"{self._prefix}{DEFINITIONS}{gvr.resource}.{gvr.group}"
            entry = await self._storage.get(key)
            if entry is None:
                self._compiled.pop(key, None)
            else:
                info = self.resources(entry).get(gvr)
        if info is None:
            raise routes.not_served(gvr.group)
        return info

    async def of_kind(self, gvk: GroupVersionKind) -> ResourceInfo | None:
        """The resource of a kind; None if it is not served."""
        for info in _builtins(self._families).values():
            if info.gvk == gvk:
                return info
        return next((info for info in await self.custom() if info.gvk == gvk and info.served), None)

    async def all(self) -> Sequence[ResourceInfo]:
        """Everything that is served now."""
        return [*_builtins(self._families).values(), *await self.custom()]

    async def custom(self) -> Sequence[ResourceInfo]:
        """The resources that definitions define now."""
        snapshot = await self._storage.list(self._prefix + DEFINITIONS)
        return [info for entry in snapshot.entries for info in self.resources(entry).values()]

    def resources(self, entry: Entry) -> dict[GroupVersionResource, ResourceInfo]:
        """The resources that the definition in an entry defines."""
        compiled = self._compiled.get(entry.key)
        if compiled is None or compiled[0] != entry.revision:
            compiled = (entry.revision, {info.gvr: info for info in self._compile(entry)})
            self._compiled[entry.key] = compiled
        return compiled[1]

    def _compile(self, entry: Entry) -> list[ResourceInfo]:
        size = len(entry.value)
        return list(resources_of(decode(entry.value), entry.key, entry.revision, size, self._strategies))


def builtin_resources() -> Iterable[ResourceInfo]:
    """All built-in resources."""
    return _builtins(families_of(SERVICE_RANGES)).values()


@cache
def _builtins(families: tuple[str, ...]) -> dict[GroupVersionResource, ResourceInfo]:
    found = {
        mapping.resource: _builtin(mapping)
        for mapping in builtin.resources()
        if NEEDED_VERBS.issubset(mapping.verbs)
        or mapping.resource.group in REVIEWS
        or mapping.resource in (BINDINGS, COMPONENTS)
    }
    found[_SERVICES] = replace(
        found[_SERVICES], strategy=dataclasses.replace(found[_SERVICES].strategy, families=families)
    )
    for served, stored in _STORED_ELSEWHERE.items():
        versions: dict[str, ResourceInfo] = {}
        kept = found[stored] = replace(found[stored], versions=versions)
        other = found[served] = replace(found[served], storage=kept, versions=versions)
        versions.update({info.gvk.api_version: info for info in (kept, other)})
    return found


@cache
def body_info(kind: GroupVersionKind) -> ResourceInfo:
    """The resource info of a built-in kind that is only the body of requests to a subresource, such as Eviction."""
    resource = GroupVersionResource(kind.group, kind.version, kind.kind.lower() + "s")
    return _builtin(RESTMapping(gvk=kind, resource=resource, namespaced=True))


def _builtin(mapping: RESTMapping) -> ResourceInfo:
    return ResourceInfo(
        mapping=mapping, strategy=strategy_for(mapping), deprecation=_DEPRECATED.get(mapping.resource, "")
    )
