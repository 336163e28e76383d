"""Which resources are served: the built-in resources, and the resources of the CRDs that are in the storage at this
moment.

A definition is looked up in the storage by its name (`plural.group`) and compiled once for each version of it, so a
resource is served from the commit of its definition on, even if another process made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from msgspec.structs import replace

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.catalogue import routes
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.definitions import DEFINITIONS as DEFINITIONS
from pilotage.server.kinds import KindSet
from pilotage.server.records import decode
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.needed import NEEDED, needed_resources
from pilotage.server.strategies.strategy import KindStrategy
from pilotage.storage.interface import Entry, Storage

NAMESPACES = "core/namespaces/"
EVENTS = GroupVersionResource("", "v1", "events")
SUBRESOURCES = ("status", "finalize", "ephemeralcontainers", "resize", "approval", "scale")
"""Those that are served; a kind may name more."""
_DEFAULT = KindStrategy()
_MAX_COMPILED = 4096


class Redefined(Exception):
    """The definition that a request was looked up by has changed meanwhile."""


class Catalogue:
    """Finds the information about a resource."""

    def __init__(self, storage: Storage, prefix: str, kinds: KindSet) -> None:
        self._storage = storage
        self._prefix = prefix
        self._kinds = kinds
        # The most recent: it has the resources of deleted definitions, too.
        self._compiled: Recent[str, tuple[int, dict[GroupVersionResource, ResourceInfo]]] = Recent(_MAX_COMPILED)

    def builtin(self, gvr: GroupVersionResource) -> ResourceInfo | None:
        """A built-in resource; None if it is not one."""
        return builtins(self._kinds).get(gvr)

    def builtin_resources(self) -> Sequence[RESTMapping]:
        """The built-in resources, in the order of a kube-apiserver."""
        return [info.mapping for info in builtins(self._kinds).values()]

    async def find(self, gvr: GroupVersionResource) -> ResourceInfo:
        """Raises NotFound if the resource is not served."""
        info = builtins(self._kinds).get(gvr)
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
        for info in builtins(self._kinds).values():
            if info.gvk == gvk:
                return info
        return next((info for info in await self.custom() if info.gvk == gvk and info.served), None)

    async def all(self) -> Sequence[ResourceInfo]:
        """Everything that is served now."""
        return [*builtins(self._kinds).values(), *await self.custom()]

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
        return list(resources_of(decode(entry.value), entry.key, entry.revision, size, self._kinds.custom))


@cache
def builtins(kinds: KindSet) -> dict[GroupVersionResource, ResourceInfo]:
    """All built-in resources."""
    found = {mapping.resource: _builtin(mapping, kinds) for mapping in (*kinds.resources(), *needed_resources())}
    for served, stored in kinds.stored_as.items():
        versions: dict[str, ResourceInfo] = {}
        kept = found[stored] = replace(found[stored], versions=versions)
        other = found[served] = replace(found[served], storage=kept, versions=versions)
        versions.update({info.gvk.api_version: info for info in (kept, other)})
    return found


@cache
def body_info(kind: GroupVersionKind) -> ResourceInfo:
    """The resource info of a built-in kind that is only the body of requests to a subresource, such as Eviction."""
    resource = GroupVersionResource(kind.group, kind.version, kind.kind.lower() + "s")
    return ResourceInfo(RESTMapping(gvk=kind, resource=resource, namespaced=True), *_DEFAULT)


def _builtin(mapping: RESTMapping, kinds: KindSet) -> ResourceInfo:
    return ResourceInfo(
        mapping,
        *strategy_for(mapping, kinds),
        deprecation=kinds.deprecated.get(mapping.resource, ""),
        actions=kinds.actions.get(str(mapping.resource.group_resource), {}),
        load_rows=partial(kinds.rows, mapping.resource.group_resource),
    )


def strategy_for(resource: RESTMapping, kinds: KindSet) -> KindStrategy:
    """The rules and the strategy of a built-in resource: for its version, else for its name."""
    name, version = str(resource.resource.group_resource), resource.resource.version
    found = kinds.strategies.get(f"{name}/{version}") or kinds.strategies.get(name) or NEEDED.get(name, _DEFAULT)
    served = tuple(each for each in SUBRESOURCES if each in resource.subresources)
    return found._replace(rules=replace(found.rules, subresources=served))
