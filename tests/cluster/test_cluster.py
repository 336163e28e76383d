"""A cluster: open inside its block, apart from other tenants, durable on a file."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage.client.config import Config
from pilotage.client.credentials.execplugin import ExecCredentials, ExecPlugin
from pilotage.cluster.apiserver import RemoteAPIServer
from pilotage.rest import APIRequest, Response, Transport, TransportWrapper
from pilotage.storage import Entry, Operation, Snapshot
from pilotage.storage.bases import StorageWrapper
from pilotage.storage.memory import MemoryStorage
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


async def test_two_clusters_on_one_file_share_their_objects(tmp_path: Path) -> None:
    one, two = (pt.Cluster.embedded(f"sqlite:{tmp_path}/a.db") for _ in range(2))
    async with one, two:
        made = await one.client.create(config_map("a"))
        assert (await two.client.get(ConfigMap, "a", namespace="default")).metadata.uid == made.metadata.uid


@pytest.mark.parametrize("tenant", ["a.b", "", "A", "a/b", "a b", "é", "../x"])
def test_a_tenant_with_an_odd_name_is_refused(tenant: str) -> None:
    with pytest.raises(pt.InvalidDefinition, match="invalid tenant"):
        pt.Cluster.embedded("memory:", tenant=tenant)


async def test_a_storage_that_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(pt.PilotageError, match="memory:"):
        async with pt.Cluster.embedded("postgres://x"):
            pass


class SlowStorage(StorageWrapper):
    """A storage of the user's own: each call waits, as one over a network does."""

    def __init__(self) -> None:
        super().__init__(MemoryStorage())
        self.closed = False

    async def get(self, key: str) -> Entry | None:
        await asyncio.sleep(0.01)
        return await super().get(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        await asyncio.sleep(0.01)
        return await super().list(prefix, start=start, limit=limit, revision=revision)

    async def commit(self, *operations: Operation) -> int:
        await asyncio.sleep(0.01)
        return await super().commit(*operations)

    async def close(self) -> None:
        self.closed = True
        await super().close()


@pytest.mark.virtual_time
async def test_a_storage_of_ones_own_serves_tenants_and_stays_open_when_the_clusters_close() -> None:
    storage = SlowStorage()
    one, two = (pt.Cluster.embedded(storage, tenant=tenant) for tenant in ("one", "two"))
    async with one, two:
        made = await one.client.create(config_map("a"))
        assert await two.client.find(ConfigMap, "a", namespace="default") is None
    assert not storage.closed
    async with one:
        assert (await one.client.get(ConfigMap, "a", namespace="default")).metadata.uid == made.metadata.uid
    await storage.close()


class Wrapper:
    """A storage that passes every call on to another one, as one that counts or delays calls does."""

    def __init__(self) -> None:
        self._inner = MemoryStorage()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.virtual_time
async def test_a_wrapper_that_has_a_storages_members_by_getattr_is_a_storage() -> None:
    storage: Any = Wrapper()
    async with pt.Cluster.embedded(storage) as cluster:
        await cluster.client.create(config_map("a"))
    await storage.close()


@pytest.mark.parametrize("storage", [Path("state.db"), None, MemoryStorage])
def test_what_is_neither_a_url_nor_a_storage_is_refused(storage: Any) -> None:
    with pytest.raises(
        pt.InvalidDefinition, match=r"takes a URL \(memory:, sqlite:PATH, etcd:.*\) or an object .* has no revision"
    ):
        pt.Cluster.embedded(storage)


async def test_the_folder_of_a_database_is_created(tmp_path: Path) -> None:
    async with pt.Cluster.embedded(f"sqlite:{tmp_path}/new/deeper/state.db") as cluster:
        await cluster.client.create(config_map("a"))
    assert (tmp_path / "new" / "deeper" / "state.db").exists()


async def test_all_requests_pass_through_a_wrapped_transport_and_the_last_wrapper_is_first() -> None:
    seen: list[str] = []
    cluster = pt.Cluster.embedded()
    for name in ("inner", "outer"):
        cluster.wrap_transport(partial(NamedTransport, name=name, seen=seen))
    async with pt.Manager(cluster) as manager:
        seen.clear()
        await manager.client.create(config_map("one"))
        assert seen == ["outer create", "inner create"]
        with pytest.raises(pt.InvalidDefinition, match="the cluster is open already: wrap its transport before"):
            cluster.wrap_transport(lambda transport: transport)


async def test_the_name_of_the_program_is_in_its_requests_and_so_in_managed_fields() -> None:
    cluster = pt.Cluster.embedded()
    cluster.user_agent = "shop/1.2"
    async with pt.Manager(cluster) as manager:
        for client in (manager.client, manager.api_reader):
            made = await client.create(config_map(f"by-{type(client).__name__.lower()}"))
            assert [entry.manager for entry in made.metadata.managed_fields] == ["shop"]


class NamedTransport(TransportWrapper):
    """Records its name with each call."""

    def __init__(self, inner: Transport, name: str, seen: list[str]) -> None:
        super().__init__(inner)
        self._name, self._seen = name, seen

    async def call(self, request: APIRequest) -> Response:
        self._seen.append(f"{self._name} {request.verb.value}")
        return await super().call(request)


async def test_a_cluster_elsewhere_has_a_connection_for_another_loop_and_an_embedded_one_has_none() -> None:
    config = Config("http://127.0.0.1:1", ExecCredentials(ExecPlugin("printer")))
    cluster = pt.Cluster(RemoteAPIServer(config))
    seen: list[str] = []
    cluster.wrap_transport(partial(NamedTransport, name="lease", seen=seen))
    separate = cluster.separate_client()
    assert separate is not None
    client, transport = separate
    assert client.scheme is cluster.scheme
    sender = transport._inner._sender  # type: ignore[attr-defined]  # whose credentials must not share a lock with config's
    assert sender._config.credentials is not config.credentials
    with pytest.raises(pt.errors.NoCredentials):
        await client.create(config_map("a"))
    assert "lease create" in seen
    await transport.close()
    assert pt.Cluster.embedded().separate_client() is None
    assert pt.Cluster.none().separate_client() is None


def test_a_program_that_does_not_close_its_cluster_ends(tmp_path: Path) -> None:
    program = """
import asyncio
import subprocess
import sys
import pilotage as pt

async def main():
    cluster = pt.Cluster.embedded("memory:")
    await cluster.__aenter__()
    cluster.event_recorder_for("a")
    raise SystemExit(3)

asyncio.run(main())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (3, "")
