from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.errors import Forbidden, NotFound
from pilotage.kubernetes.core.plugins.pods import TaintNodesByCondition
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import PluginContext
from pilotage.storage.memory import MemoryStorage

from ...server.registries import Api
from ..environments import CLAIMS, PODS, claim, pod, with_plugins

STORAGE_CLASSES = GroupVersionResource("storage.k8s.io", "v1", "storageclasses")
INGRESS_CLASSES = GroupVersionResource("networking.k8s.io", "v1", "ingressclasses")
INGRESSES = GroupVersionResource("networking.k8s.io", "v1", "ingresses")
NODES = GroupVersionResource("", "v1", "nodes")
DEFAULT_STORAGE = {"storageclass.kubernetes.io/is-default-class": "true"}
DEFAULT_INGRESS = {"ingressclass.kubernetes.io/is-default-class": "true"}


async def storage_class(api: Api, name: str, annotations: Document | None = None, **more: Any) -> None:
    metadata = {"name": name, "annotations": annotations or {}}
    await api.create(STORAGE_CLASSES, {"metadata": metadata, "provisioner": "example.com/p"} | more)


async def test_a_claim_without_a_class_has_the_default_one() -> None:
    async with with_plugins() as api:
        assert "storageClassName" not in (await api.create(CLAIMS, claim(), "kube-public"))["spec"]
        await storage_class(api, "slow")
        await storage_class(api, "fast", DEFAULT_STORAGE)
        assert (await api.create(CLAIMS, claim(), "default"))["spec"]["storageClassName"] == "fast"
        made = await api.create(CLAIMS, claim(storageClassName=""), "kube-system")
        assert made["spec"]["storageClassName"] == "", "a claim that wants none"


async def test_an_ingress_without_a_class_has_the_default_one() -> None:
    async with with_plugins() as api:
        spec = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
        metadata = {"name": "nginx", "annotations": DEFAULT_INGRESS}
        await api.create(INGRESS_CLASSES, {"metadata": metadata, "spec": {"controller": "example.com/c"}})
        made = await api.create(INGRESSES, {"metadata": {"name": "a"}, "spec": spec}, "default")
        assert made["spec"]["ingressClassName"] == "nginx"


async def test_a_claim_grows_if_it_is_bound_and_its_class_allows_it() -> None:
    async with with_plugins() as api:
        await storage_class(api, "fixed")
        await storage_class(api, "growing", allowVolumeExpansion=True)
        larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        for name in ("fixed", "growing"):
            document = claim(storageClassName=name)
            document["metadata"]["name"] = name
            await api.create(CLAIMS, document, "default")
        for name in ("fixed", "growing"):
            await api.patch(CLAIMS, name, {"status": {"phase": "Bound"}}, "default", "status")
        with pytest.raises(Forbidden, match="only dynamically provisioned pvc can be resized"):
            await api.patch(CLAIMS, "fixed", larger, "default")
        assert await api.patch(CLAIMS, "growing", larger, "default")


@pytest.mark.virtual_time
async def test_a_claim_that_a_pod_uses_is_deleted_after_the_pod() -> None:
    async with with_plugins() as api:
        made = await api.create(CLAIMS, claim(), "default")
        assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "a"}}
        await api.create(PODS, pod("user", volumes=[volume]), "default")
        await api.delete(CLAIMS, "a", "default")
        await asyncio.sleep(0.01)
        assert "deletionTimestamp" in (await api.get(CLAIMS, "a", "default"))["metadata"]
        await api.delete(PODS, "user", "default")
        await asyncio.sleep(0.01)
        with pytest.raises(NotFound):
            await api.get(CLAIMS, "a", "default")
        assert not api.registry.busy()


@pytest.mark.virtual_time
async def test_a_volume_that_is_bound_is_protected() -> None:
    volumes = GroupVersionResource("", "v1", "persistentvolumes")
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    async with with_plugins() as api:
        await api.create(volumes, {"metadata": {"name": "a"}, "spec": spec})
        await api.patch(volumes, "a", {"status": {"phase": "Bound"}}, subresource="status")
        await api.delete(volumes, "a")
        await asyncio.sleep(0.01)
        assert await api.names(volumes) == ["a"]
        await api.patch(volumes, "a", {"status": {"phase": "Released"}}, subresource="status")
        await asyncio.sleep(0.01)
        assert await api.names(volumes) == []


async def test_a_new_node_is_not_ready() -> None:
    node: Document = {"metadata": {"name": "n"}}
    plugin = TaintNodesByCondition(PluginContext(MemoryStorage(), "/default/", str))
    for _ in range(2):
        await plugin.mutate(Attributes(Operation.CREATE, APIRequest(Verb.CREATE, NODES), node, None))
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
