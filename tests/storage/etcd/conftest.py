"""Real etcd servers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from hack.cluster.members import EtcdCluster, etcd_cluster
from hack.cluster.running import binaries
from pilotage.storage import Storage, open_storage
from pilotage.testing.storage import Factory


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdCluster]:
    """One member, for all tests of the session."""
    with _members(1, "--max-txn-ops=4096") as cluster:
        yield cluster


@pytest.fixture
def three_members() -> Iterator[EtcdCluster]:
    """Three members, for a test that breaks them."""
    with _members(3) as cluster:
        yield cluster


@pytest.fixture
def factory(etcd: EtcdCluster, request: pytest.FixtureRequest) -> Factory:
    """Gives a fresh storage: a prefix of its own, with no history."""

    @contextlib.asynccontextmanager
    async def fresh() -> AsyncIterator[Storage]:
        storage = await open_storage(f"{etcd.url}/{request.node.name.replace('[', '-').strip(']')}")
        try:
            await storage.compact(storage.revision)
            yield storage
        finally:
            await storage.close()

    return fresh


@contextlib.contextmanager
def _members(count: int, *flags: str) -> Iterator[EtcdCluster]:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    with etcd_cluster(found, members=count, flags=flags) as cluster:
        yield cluster
