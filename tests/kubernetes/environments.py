"""Registries with admission plugins, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..server.registries import Api

PODS = GroupVersionResource("", "v1", "pods")
CLAIMS = GroupVersionResource("", "v1", "persistentvolumeclaims")
SERVICE_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
PRIORITY_CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")


@asynccontextmanager
async def with_plugins(enable: Iterable[str] = (), disable: Iterable[str] = ("ServiceAccount",)) -> AsyncIterator[Api]:
    """A registry with kube-apiserver's plugins, by its two flags."""
    async with Registry(cluster_context(MemoryStorage(), enable=enable, disable=disable)) as registry:
        yield Api(registry)


def pod(name: str = "a", **spec: Any) -> Document:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers} | spec}


def claim(storage: str = "1Gi", **spec: Any) -> Document:
    resources = {"requests": {"storage": storage}}
    return {"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources} | spec}
