from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import NotFound
from pilotage.meta.kinds import GroupVersionResource

from ..registries import DEFINITIONS, NAMESPACES, create_in_dropped_version, opened


@pytest.mark.parametrize("resource", [DEFINITIONS, NAMESPACES], ids=["definition", "namespace"])
async def test_an_object_in_a_dropped_version_blocks_no_deletion(resource: GroupVersionResource) -> None:
    async with opened() as api, asyncio.timeout(60):
        await api.create(NAMESPACES, {"metadata": {"name": "away"}})
        await create_in_dropped_version(api, "away", finalizers=["test.example.com/wait"])
        name = "away" if resource is NAMESPACES else "widgets.test.example.com"
        changes = api.registry.context.storage.watch("", since=api.registry.context.storage.revision)
        await api.delete(resource, name)
        while True:
            try:
                await api.get(resource, name)
            except NotFound:
                return
            await anext(changes)
