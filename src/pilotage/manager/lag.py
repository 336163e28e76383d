"""The lag of a cache behind the writes of this program."""

from __future__ import annotations

from typing import Any

from pilotage.cache.cache import Cache
from pilotage.cache.informer import Informer
from pilotage.cluster.readbarrier import ReadBarrier, UnseenWrite
from pilotage.cluster.writes import WriteTracker
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupResource
from pilotage.meta.mapping.mapper import RESTMapper


class Lag:
    """The read barriers of all informers of a cache, including those that are added later."""

    def __init__(self, cache: Cache, writes: WriteTracker, rest_mapper: RESTMapper) -> None:
        self._cache = cache
        self._writes = writes
        self._rest_mapper = rest_mapper
        self._barriers: dict[Informer[Any], ReadBarrier] = {}

    @property
    def is_behind(self) -> bool:
        """Whether the cache does not show all writes yet."""
        return any(barrier.behind for barrier in self._all().values())

    def behind(self) -> dict[str, UnseenWrite]:
        """The kinds of which the cache does not show all writes yet, each with the newest of them."""
        missing = {informer: barrier.newest_unseen() for informer, barrier in self._all().items()}
        return {str(informer.options.gvk): one for informer, one in missing.items() if one is not None}

    def close(self) -> None:
        for barrier in self._barriers.values():
            barrier.close()
        self._barriers = {}

    def _all(self) -> dict[Informer[Any], ReadBarrier]:
        informers = [one for informer in self._cache.informers() for one in informer.informers]
        for removed in self._barriers.keys() - set(informers):
            self._barriers.pop(removed).close()
        found = {informer: self._barriers.get(informer) or self._new_barrier(informer) for informer in informers}
        return {informer: barrier for informer, barrier in found.items() if barrier is not None}

    def _new_barrier(self, informer: Informer[Any]) -> ReadBarrier | None:
        resource = self._resource(informer.options.kind)
        if resource is None:
            return None
        barrier = self._barriers[informer] = ReadBarrier(informer, resource, self._writes)
        return barrier

    def _resource(self, kind: Kind) -> GroupResource | None:
        """The resource of a kind. A class has it, and need not be looked up."""
        gvk = gvk_of(kind)
        if isinstance(kind, type):
            return GroupResource(gvk.group, kind.__resource__.plural)
        mapping = self._rest_mapper.known(gvk)  # None for a kind that is not written through this cluster
        return mapping.resource.group_resource if mapping is not None else None
