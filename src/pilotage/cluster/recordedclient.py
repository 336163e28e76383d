"""The manager's client while permissions are recorded: a read from the cache needs what its informer needs."""

from __future__ import annotations

from typing import Any

from pilotage.cluster.cachedclient import CachedClient
from pilotage.cluster.recording import recorder
from pilotage.meta.forms import Kind
from pilotage.meta.objectlist import ObjectList
from pilotage.rest import ListOptions


class RecordedCachedClient(CachedClient):
    """Records the source line of each read. The informer itself is created once, by the first read."""

    async def _get(self, kind: Kind, name: str, namespace: str, resource_version: str) -> Any:
        await self._note(kind, namespace)
        return await super()._get(kind, name, namespace, resource_version)

    async def _list(self, kind: Kind, namespace: str, options: ListOptions) -> ObjectList[Any]:
        await self._note(kind, namespace)
        return await super()._list(kind, namespace, options)

    async def _note(self, kind: Kind, namespace: str) -> None:
        resource = (await self._session.collection(kind, namespace)).target.resource
        if (recording := recorder()) is not None and not self.reads_live(kind):
            recording.note_informer(resource.group, resource.resource, "")
