"""How commands apply the objects of files: in order, each once its kind is served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pilotage.client.client import Client
from pilotage.errors import ApiError, NoMatch, NotFound
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.manifestfiles import Manifest, applicable
from pilotage.kit.console.owners import FileOwners
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.unstructured import Unstructured

_SERVED_SECONDS = 10.0
"""How long to wait for a kind whose CRD is among the objects."""


class ObjectApplier:
    """Applies the objects of one command, as their field owner."""

    def __init__(
        self,
        client: Client,
        manifests: Sequence[Manifest],
        *,
        field_owner: str,
        namespace: str,
        warn: Callable[[str], object],
        keeps_missing_owners: bool = True,
    ) -> None:
        """`namespace` is for objects that name none. `warn` prints a warning about an owner."""
        self._client = client
        self._owners = FileOwners(manifests, self._uid_of, warn, keeps_missing=keeps_missing_owners)
        self.ordered = self._owners.ordered()
        """The objects in the order in which they are applied."""
        self._field_owner = field_owner
        self._namespace = namespace
        self._defines = any(each.document["kind"] == "CustomResourceDefinition" for each in manifests)

    async def apply(self, manifest: Manifest, status: Document | None = None) -> None:
        """Apply an object, and its status if that is a subresource. Raises CommandError with file and object."""
        document = manifest.document
        obj = Unstructured(document)
        try:
            mapping = await self._mapping(obj.gvk)
            if mapping.namespaced and not document["metadata"].get("namespace"):
                document["metadata"]["namespace"] = self._namespace
            obj = Unstructured(applicable(await self._owners.resolved(document)))
            await self._client.apply(obj, field_owner=self._field_owner, force=True)
            if status and await self._client.has_subresource(obj.gvk, "status"):
                await self._client.patch_status(obj, {"status": status})
        except (ApiError, NoMatch) as error:
            raise CommandError(f"{manifest.source}: cannot apply {obj.kind} {obj.metadata.name}: {error}") from error

    async def _uid_of(self, gvk: GroupVersionKind, namespace: str, name: str) -> str:
        try:
            mapping = await self._client.rest_mapper.lookup(gvk)
            found = await self._client.get(gvk, name, namespace=namespace if mapping.namespaced else "")
        except (NoMatch, NotFound):
            return ""
        return found.metadata.uid

    async def _mapping(self, gvk: GroupVersionKind) -> RESTMapping:
        """The mapping of a kind, which may become served in a moment: its CRD may be one of the objects before."""
        try:
            async with asyncio.timeout(_SERVED_SECONDS):
                while True:
                    try:
                        return await self._client.rest_mapper.lookup(gvk)
                    except NoMatch:
                        if not self._defines:
                            raise
                        await asyncio.sleep(0.1)
        except TimeoutError:
            return await self._client.rest_mapper.lookup(gvk)
