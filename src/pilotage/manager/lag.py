"""How far a cache is behind what this program has written."""

from __future__ import annotations

from typing import Any

from pilotage.cache.cache import Cache
from pilotage.cache.group import InformerGroup
from pilotage.cache.informer import Informer
from pilotage.cluster.following import Following
from pilotage.cluster.writes import WriteTracker
from pilotage.errors import NoMatch
from pilotage.meta.mapper import RESTMapper


class Lag:
    """Looks at all informers of a cache; those that come later are looked at from then on."""

    def __init__(self, cache: Cache, writes: WriteTracker, rest_mapper: RESTMapper) -> None:
        self._cache = cache
        self._writes = writes
        self._rest_mapper = rest_mapper
        self._followings: dict[Informer[Any], Following | None] = {}

    def behind(self) -> list[str]:
        """The kinds of which the cache has not yet seen all writes."""
        found: list[str] = []
        for informer in self._informers():
            if informer not in self._followings:
                self._followings[informer] = self._following(informer)
            following = self._followings[informer]
            if following is not None and following.behind:
                found.append(str(informer.options.gvk))
        return found

    def close(self) -> None:
        for following in self._followings.values():
            if following is not None:
                following.unfollow()
        self._followings = {}

    def _informers(self) -> list[Informer[Any]]:
        found: list[Informer[Any]] = []
        for informer in self._cache.informers():
            found += informer.informers if isinstance(informer, InformerGroup) else (informer,)
        return found

    def _following(self, informer: Informer[Any]) -> Following | None:
        try:
            mapping = self._rest_mapper.rest_mapping(informer.options.gvk)
        except NoMatch:
            return None  # a kind of somewhere else, such as devices: nobody writes it through this cluster
        return Following(informer, mapping.resource.group_resource, self._writes)
