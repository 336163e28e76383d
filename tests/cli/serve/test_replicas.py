"""Several `pilotage serve` on one etcd are one API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import pilotage as pt
from hack.cluster.members import EtcdCluster, etcd_cluster
from hack.cluster.running import binaries
from pilotage.types.core.v1 import ConfigMap, Service, ServicePort, ServiceSpec

from .processes import serving

pytestmark = pytest.mark.cluster


@pytest.fixture
def etcd() -> Iterator[EtcdCluster]:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    with etcd_cluster(found) as cluster:
        yield cluster


class Widget(pt.Resource):
    spec: dict[str, str] = {}


pt.resource(group="replicas.example.com", version="v1")(Widget)


def _config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data=data)


async def test_a_write_by_one_replica_is_seen_by_the_other_and_outlives_both(etcd: EtcdCluster, tmp_path: Path) -> None:
    options = ["--storage", etcd.url, "--credentials", str(tmp_path / "credentials")]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with serving(tmp_path / "one", *options) as one, serving(tmp_path / "two", *options) as two:
        async with one.cluster() as first, two.cluster() as second:
            watch = second.client.watch(ConfigMap, namespace="default")
            async with watch as events:
                await first.client.create(_config_map("a", key="1"))
                assert (await second.client.get(ConfigMap, "a", namespace="default")).data == {"key": "1"}
                async with asyncio.timeout(60):
                    async for event in events:
                        if event.object.metadata.name == "a":
                            break
            await first.install(Widget)
            await second.client.create(Widget(metadata=pt.ObjectMeta(name="w", namespace="default")))
            assert [widget.metadata.name for widget in await first.client.list(Widget)] == ["w"]
    with serving(tmp_path / "one", *options) as again:
        async with again.cluster() as third:  # the kubeconfig of the first start is still valid
            assert (await third.client.get(ConfigMap, "a", namespace="default")).data == {"key": "1"}


async def test_two_servers_agree_on_updates_and_addresses(etcd: EtcdCluster) -> None:
    async with pt.Cluster.embedded(etcd.url) as one, pt.Cluster.embedded(etcd.url) as two:
        await one.client.create(_config_map("count", value="0"))

        async def increment(client: pt.Client) -> None:
            for _ in range(10):
                while True:
                    found = await client.get(ConfigMap, "count", namespace="default")
                    found.data = {"value": str(int(found.data["value"]) + 1)}
                    try:
                        await client.update(found)
                    except pt.Conflict:
                        continue
                    break

        async def expose(client: pt.Client, name: str) -> str:
            port = ServicePort(port=80)
            metadata = pt.ObjectMeta(name=name, namespace="default")
            made = await client.create(Service(metadata=metadata, spec=ServiceSpec(ports=[port])))
            assert made.spec is not None
            return made.spec.cluster_ip or ""

        await asyncio.gather(*(increment(cluster.client) for cluster in (one, two, one, two)))
        assert (await two.client.get(ConfigMap, "count", namespace="default")).data == {"value": "40"}
        addresses = await asyncio.gather(
            *(expose(cluster.client, f"{name}{number}") for number in range(10) for name, cluster in _named(one, two))
        )
        assert len(set(addresses)) == 20


def _named(one: pt.Cluster, two: pt.Cluster) -> list[tuple[str, pt.Cluster]]:
    return [("one", one), ("two", two)]
