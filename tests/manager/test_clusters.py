"""Several clusters in one manager."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.http.client import HTTPClient
from pilotage.types.core.v1 import ConfigMap


class Sync(pt.Request, frozen=True):
    cluster: str = ""


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data={"from": name})


async def test_a_controller_watches_across_clusters_and_writes_to_another() -> None:
    async with pt.Cluster.embedded() as remote:
        await remote.client.create(config_map("far"))
        async with pt.Manager(pt.Cluster.embedded()) as manager:
            member = await manager.add_cluster(remote, name="remote")

            async def copy(request: Sync) -> pt.Result:
                if request.name.startswith("kube-"):
                    return pt.Result()
                found = await member.client.get(ConfigMap, request.name, namespace=request.namespace)
                wanted = ConfigMap(metadata=pt.ObjectMeta(name=request.name, namespace="default"), data=found.data)
                await pt.create_or_patch(manager.client, wanted)
                return pt.Result()

            def of_remote(event: pt.Event[ConfigMap]) -> list[pt.Request]:
                assert event.object is not None
                metadata = event.object.metadata
                return [Sync(metadata.name, metadata.namespace, cluster="remote")]

            builder = pt.ControllerBuilder(manager).named("copy")
            builder.watches(ConfigMap, of_remote, cluster=member).complete(copy)
            await manager.run_until_idle(timeout=60)
            assert (await manager.client.get(ConfigMap, "far", namespace="default")).data == {"from": "far"}
            await remote.client.create(config_map("later"))
            await manager.run_until_idle(timeout=60)
            assert (await manager.client.get(ConfigMap, "later", namespace="default")).data == {"from": "later"}


async def test_a_cluster_is_opened_and_closed_with_the_manager() -> None:
    remote = pt.Cluster.embedded()
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        member = await manager.add_cluster(remote)
        assert remote.is_open
        assert member.name == "cluster-2"
        assert member.api_reader is remote.client
    assert not remote.is_open


async def test_a_cluster_is_part_of_the_readiness() -> None:
    options = pt.ManagerOptions(health_probe_bind_address="127.0.0.1:0")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        await manager.add_cluster(pt.Cluster.embedded(), name="remote")
        await manager.run_until_idle(timeout=60)
        async with HTTPClient(*manager.health_probe_address) as client:
            answer = await client.request("GET", "/readyz?verbose")
        assert "[+]remote ok" in answer.body.decode()


async def test_a_cluster_that_is_part_of_the_manager_is_refused() -> None:
    async with pt.Cluster.embedded() as cluster, pt.Manager(cluster) as manager:
        with pytest.raises(pt.InvalidDefinition, match="part of the manager already"):
            await manager.add_cluster(cluster)
        await manager.add_cluster(pt.Cluster.embedded(), name="a")
        with pytest.raises(pt.InvalidDefinition, match="there is a cluster 'a' already"):
            await manager.add_cluster(pt.Cluster.embedded(), name="a")


async def test_a_manager_that_is_not_open_has_no_other_clusters() -> None:
    with pytest.raises(pt.PilotageError):
        await pt.Manager(pt.Cluster.embedded()).add_cluster(pt.Cluster.embedded())
