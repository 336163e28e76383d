"""A cluster: open inside its block, apart from other tenants, durable on a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data={"name": name})


def test_a_cluster_that_is_not_open_has_no_client() -> None:
    with pytest.raises(pt.InvalidDefinition, match="not open: use it inside `async with"):
        pt.Cluster.embedded("memory:").client  # noqa: B018


async def test_a_cluster_is_opened_once() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        with pytest.raises(pt.InvalidDefinition, match="open already"):
            async with cluster:
                pass
        assert cluster.is_open
    assert not cluster.is_open


async def test_a_cluster_can_be_opened_again_after_it_was_closed(tmp_path: Path) -> None:
    cluster = pt.Cluster.embedded(f"sqlite:{tmp_path}/a.db")
    async with cluster:
        made = await cluster.client.create(config_map("a"))
    async with cluster:
        found = await cluster.client.get(ConfigMap, "a", namespace="default")
    assert found.metadata.resource_version == made.metadata.resource_version


async def test_tenants_of_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    one = pt.Cluster.embedded(f"sqlite:{tmp_path}/a.db", tenant="one")
    two = pt.Cluster.embedded(f"sqlite:{tmp_path}/a.db", tenant="two")
    async with one, two:
        await one.client.create(config_map("a"))
        assert len(await one.client.list(ConfigMap)) == 1
        assert len(await two.client.list(ConfigMap)) == 0


async def test_two_clusters_on_one_file_are_one_world(tmp_path: Path) -> None:
    one, two = (pt.Cluster.embedded(f"sqlite:{tmp_path}/a.db") for _ in range(2))
    async with one, two:
        made = await one.client.create(config_map("a"))
        assert (await two.client.get(ConfigMap, "a", namespace="default")).metadata.uid == made.metadata.uid


@pytest.mark.parametrize("tenant", ["", "A", "a/b", "a b", "é", "../x"])
def test_a_tenant_with_an_odd_name_is_refused(tenant: str) -> None:
    with pytest.raises(pt.InvalidDefinition, match="a tenant is named with lower case letters"):
        pt.Cluster.embedded("memory:", tenant=tenant)


async def test_a_storage_that_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(pt.PilotageError, match="memory:"):
        async with pt.Cluster.embedded("postgres://x"):
            pass
