from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource

from ....server.registries import Api
from ...environments import PODS, pod, with_plugins

NODES = GroupVersionResource("", "v1", "nodes")


async def resized(api: Api, cpu: str, **labels: str) -> Document:
    """A pod on a node with two cpus, after a resize."""
    node = {"metadata": {"name": "n", "labels": labels}, "status": {"capacity": {"cpu": "2", "memory": "1Gi"}}}
    await api.create(NODES, node)
    return await resize(api, cpu)


async def resize(api: Api, cpu: str) -> Document:
    containers: list[dict[str, Any]] = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    await api.create(PODS, pod(nodeName="n", containers=containers), "default")
    patch = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}
    return await api.patch(PODS, "a", patch, "default", subresource="resize")


async def test_a_pod_is_resized_if_its_node_has_room() -> None:
    async with with_plugins() as api:
        changed = await resized(api, "2")
        assert changed["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


async def test_a_pod_is_not_resized_on_a_node_that_does_not_exist() -> None:
    async with with_plugins() as api:
        with pytest.raises(Forbidden, match='pods "a" is forbidden: node "n" not found'):
            await resize(api, "2")


async def test_a_pod_is_not_resized_beyond_what_its_node_can_allocate() -> None:
    async with with_plugins() as api:
        with pytest.raises(Forbidden, match="cpu, requested: 3000, allocatable: 2000"):
            await resized(api, "3")


async def test_a_pod_is_not_resized_on_another_system() -> None:
    async with with_plugins() as api:
        with pytest.raises(Forbidden, match="only supported on linux nodes"):
            await resized(api, "2", **{"kubernetes.io/os": "windows"})
