"""Registries for tests, and short functions for requests to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, DeleteOptions, ListOptions, PatchType, Verb
from pilotage.server.context import RegistryContext
from pilotage.server.kinds import KindSet
from pilotage.server.registry import Registry
from pilotage.storage.interface import Entry, Operation, Snapshot, Storage
from pilotage.storage.memory import MemoryStorage

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
SECRETS = GroupVersionResource("", "v1", "secrets")
EVENTS = GroupVersionResource("", "v1", "events")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
DEFINITIONS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
WIDGETS = GroupVersionResource("test.example.com", "v1", "widgets")
WIDGETS_V2 = GroupVersionResource("test.example.com", "v2", "widgets")


class Pausing(MemoryStorage):
    """Lets other tasks run before each call, as a storage on a disk or behind a network does."""

    async def get(self, key: str) -> Entry | None:
        await asyncio.sleep(0)
        return await super().get(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        await asyncio.sleep(0)
        return await super().list(prefix, start=start, limit=limit, revision=revision)

    async def commit(self, *operations: Operation) -> int:
        await asyncio.sleep(0)
        return await super().commit(*operations)


def definition(plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Document:
    """A CRD with an open spec and a status subresource."""
    opened = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": opened, "status": opened}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "kind": kind}
    return {
        "metadata": {"name": f"{plural}.test.example.com"},
        "spec": {
            "group": "test.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version | {"subresources": {"status": {}}}],
        }
        | spec,
    }


def widget(name: str, **more: Any) -> Document:
    return {"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": {"name": name}} | more


class Api:
    """A registry with shorter calls."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    async def create(self, resource: GroupVersionResource, document: Document, namespace: str = "") -> Document:
        return await self._call(
            APIRequest(Verb.CREATE, resource, namespace=namespace, body=json.dumps(document).encode())
        )

    async def update(self, resource: GroupVersionResource, document: Document, namespace: str = "") -> Document:
        name, body = document["metadata"]["name"], json.dumps(document).encode()
        return await self._call(APIRequest(Verb.UPDATE, resource, namespace=namespace, name=name, body=body))

    async def patch(
        self, resource: GroupVersionResource, name: str, patch: object, namespace: str = "", subresource: str = ""
    ) -> Document:
        request = APIRequest(
            Verb.PATCH,
            resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            body=json.dumps(patch).encode(),
            content_type=PatchType.MERGE.value,
        )
        return await self._call(request)

    async def get(self, resource: GroupVersionResource, name: str, namespace: str = "") -> Document:
        return await self._call(APIRequest(Verb.GET, resource, namespace=namespace, name=name))

    async def delete(self, resource: GroupVersionResource, name: str, namespace: str = "", **options: Any) -> Document:
        delete = DeleteOptions(**options)
        return await self._call(APIRequest(Verb.DELETE, resource, namespace=namespace, name=name, delete=delete))

    async def all(self, resource: GroupVersionResource, namespace: str = "", **options: Any) -> list[Document]:
        request = APIRequest(Verb.LIST, resource, namespace=namespace, options=ListOptions(**options))
        return [json.loads(bytes(item)) for item in (await self.registry.list(request)).items]

    async def names(self, resource: GroupVersionResource, namespace: str = "") -> list[str]:
        return [document["metadata"]["name"] for document in await self.all(resource, namespace)]

    async def version(self, resource: GroupVersionResource) -> str:
        return (await self.registry.list(APIRequest(Verb.LIST, resource))).resource_version

    @asynccontextmanager
    async def watch(
        self, resource: GroupVersionResource, namespace: str = "", **options: Any
    ) -> AsyncIterator[AsyncIterator[tuple[str, Document]]]:
        request = APIRequest(Verb.WATCH, resource, namespace=namespace, options=ListOptions(**options))
        async with self.registry.watch(request) as events:
            yield ((kind, json.loads(bytes(data))) async for kind, data in events)

    async def _call(self, request: APIRequest) -> Document:
        document: Document = json.loads((await self.registry.call(request)).body)
        return document


async def create_in_dropped_version(api: Api, namespace: str = "default", **metadata: Any) -> None:
    """Store the Widget `old` in v1, and then make v2 the only version of the definition."""
    first = definition()
    (version,) = first["spec"]["versions"]
    name = first["metadata"]["name"]
    await api.create(DEFINITIONS, first)
    await api.create(WIDGETS, widget("old", metadata={"name": "old"} | metadata), namespace)
    both = [version | {"storage": False}, version | {"name": "v2"}]
    await api.patch(DEFINITIONS, name, {"spec": {"versions": both}})
    await api.patch(DEFINITIONS, name, {"status": {"storedVersions": ["v2"]}}, subresource="status")
    await api.patch(DEFINITIONS, name, {"spec": {"versions": both[1:]}})


def registry_context(
    storage: Storage, tenant: str = "default", *, kinds: KindSet = KINDS, **options: Any
) -> RegistryContext:
    """The context of a registry, with the kinds of Kubernetes unless others are given, without admission plugins."""
    return RegistryContext(storage, tenant, kinds=kinds, **options)


@asynccontextmanager
async def opened(storage: Storage | None = None, **context: Any) -> AsyncIterator[Api]:
    """A registry with its background loops, in memory unless a storage is given."""
    async with Registry(registry_context(storage or MemoryStorage(), **context)) as registry:
        yield Api(registry)
