"""The namespaces of a manager by their labels: a namespace is cached while it matches."""

from __future__ import annotations

import asyncio
from functools import partial

from pilotage.cache.cache import Cache
from pilotage.cache.event import InformerEvent
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.cluster.cluster import Cluster
from pilotage.cluster.readbarrier import ReadBarrier
from pilotage.manager.runnables import Group
from pilotage.meta.kinds import GroupResource, GroupVersionKind
from pilotage.meta.selectors.selection import Labels
from pilotage.meta.unstructured import MetadataOnly, PartialObjectMetadata
from pilotage.rest.refusal import MissingPermission
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")

_NAMESPACE = GroupVersionKind("", "v1", "Namespace")


class NamespaceSelection:
    """Sets the namespaces of a cache to those that a label selector matches. It needs to list and watch namespaces."""

    name = "namespaces"
    runnable_group = Group.CACHES

    def __init__(self, cluster: Cluster, cache: Cache, labels: Labels) -> None:
        options = InformerOptions(MetadataOnly(_NAMESPACE), labels=labels)
        self._cache = cache
        self.informer: Informer[PartialObjectMetadata] = Informer(partial(cluster.lister_watcher_for, options), options)
        self._selected: set[str] = set()
        self._barrier = ReadBarrier(self.informer, GroupResource("", "namespaces"), cluster.writes)
        self._changed = asyncio.Event()
        self._set = asyncio.Event()
        cache.set_namespaces(())  # none, until they are known

    async def start(self) -> None:
        """Watch the namespaces until cancelled."""
        self.informer.add_event_handler(self._note)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.informer.run(), name="informer of the namespaces")
            await self.informer.wait_for_sync()
            while True:
                self._changed.clear()
                log.info("Cached namespaces changed", namespaces=sorted(self._selected))
                self._cache.set_namespaces(sorted(self._selected))
                self._set.set()
                await self._changed.wait()

    async def wait_started(self) -> None:
        """Wait until the cache has the namespaces that match: controllers start after that."""
        await self._set.wait()

    @property
    def live(self) -> bool:
        """Whether the watch of the namespaces works, for readiness."""
        return self.informer.live

    @property
    def missing_permission(self) -> MissingPermission | None:
        return self.informer.missing_permission

    def troubles(self) -> dict[str, str]:
        """Why it is not live."""
        return {"namespaces": self.informer.trouble()}

    def idle(self, horizon: float) -> bool:
        """Whether the cache has the namespaces as this program has written them."""
        return not self._changed.is_set() and not self._barrier.behind and self._cache.has_synced

    def busy(self, horizon: float) -> list[str]:
        return [] if self.idle(horizon) else ["the namespaces of the cache change"]

    def close(self) -> None:
        self._barrier.close()

    def _note(self, event: InformerEvent[PartialObjectMetadata]) -> None:
        if event.type == "delete":
            self._selected.discard(event.name)
        else:
            self._selected.add(event.name)
        self._changed.set()
