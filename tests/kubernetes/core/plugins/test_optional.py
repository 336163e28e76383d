from __future__ import annotations

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.kinds import GroupVersionResource

from ....server.registries import CONFIG_MAPS
from ...environments import PODS, pod, with_plugins

SERVICES = GroupVersionResource("", "v1", "services")


async def test_always_deny_refuses_every_write() -> None:
    async with with_plugins(enable=["AlwaysDeny"]) as api:
        with pytest.raises(Forbidden, match="admission control is denying all modifications"):
            await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")


async def test_a_service_gets_no_new_external_ips() -> None:
    async with with_plugins(enable=["DenyServiceExternalIPs"]) as api:
        spec = {"ports": [{"port": 80}]}
        await api.create(SERVICES, {"metadata": {"name": "a"}, "spec": spec}, "default")
        with pytest.raises(Forbidden, match="Use of external IPs is denied"):
            await api.patch(SERVICES, "a", {"spec": {"externalIPs": ["192.0.2.1"]}}, "default")


async def test_a_pod_tolerates_the_nodes_of_its_extended_resources() -> None:
    disable = ["ServiceAccount", "DefaultTolerationSeconds"]
    async with with_plugins(enable=["ExtendedResourceToleration"], disable=disable) as api:
        resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
        made = await api.create(PODS, pod(containers=[{"name": "c", "image": "i", "resources": resources}]), "default")
        assert made["spec"]["tolerations"] == [{"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


async def test_pods_are_kept_apart_by_node_only() -> None:
    def affinity(key: str) -> dict[str, object]:
        term = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": key}
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    async with with_plugins(enable=["LimitPodHardAntiAffinityTopology"]) as api:
        await api.create(PODS, pod(affinity=affinity("kubernetes.io/hostname")), "default")
        with pytest.raises(Forbidden, match="has TopologyKey zone but only key"):
            await api.create(PODS, pod("b", affinity=affinity("zone")), "default")
