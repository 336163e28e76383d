"""The API servers that the same tests run against: in process on memory and on SQLite, over our own HTTPS, and the
real one.

A test asks for the `environment` fixture and runs once in each. The real server is the reference: an assertion that
fails there is wrong, unless the test is explicitly about our server only.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hack.cluster.running import RealCluster, binaries, real_cluster
from pilotage.errors import AlreadyExists, NoMatch
from pilotage.meta.kinds import GroupVersionKind

if TYPE_CHECKING:  # tests without this fixture neither import the client nor fail with it
    from pilotage.client import Client
    from pilotage.cluster import Cluster
    from pilotage.meta.unstructured import Unstructured
    from pilotage.rest import Transport

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
WITHIN = 100.0  # seconds that anything may take here

NAMES = ("memory", "sqlite", "https", "real")


def _no_cluster() -> Cluster:
    raise AssertionError("this environment has no cluster")


@dataclass(frozen=True)
class Environment:
    """An API server, a client of it, and a namespace that is this test's own."""

    name: str
    client: Client
    namespace: str
    transport: Transport
    warnings: list[str] = field(default_factory=list)
    """What the server warned of."""
    cluster: Callable[[], Cluster] = field(default=_no_cluster)
    """A cluster of this environment for a manager: the one that is open already, or a new connection to it."""

    @property
    def real(self) -> bool:
        return self.name == "real"

    async def install(self, *definitions: dict[str, Any]) -> None:
        """Create CRDs from their documents and wait until they are served."""
        from pilotage.meta.unstructured import Unstructured

        for definition in definitions:
            try:
                await self.client.create(Unstructured(definition | {"metadata": dict(definition["metadata"])}))
            except AlreadyExists:
                continue  # the real server outlives a test
            async with asyncio.timeout(WITHIN):
                await self._served(definition)

    async def _served(self, definition: dict[str, Any]) -> None:
        fields = {"metadata.name": definition["metadata"]["name"]}
        async with self.client.watch(DEFINITION, fields=fields) as events:
            async for event in events:
                if event.type != "BOOKMARK" and _established(event.object):
                    break
        spec = definition["spec"]
        served = [version["name"] for version in spec["versions"] if version["served"]]
        while True:
            try:
                for version in served:
                    await self.client.list(GroupVersionKind(spec["group"], version, spec["names"]["kind"]), limit=1)
                return
            except NoMatch:
                await asyncio.sleep(0.02)  # established, but not yet in every part of the real server


def _established(definition: Unstructured) -> bool:
    conditions = definition.nested("status", "conditions", default=[])
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


class Opening:
    """A fixture's value that is opened on the test's own event loop; the test gets what it opens to."""

    def __init__(self, open_it: Callable[[], AbstractAsyncContextManager[Environment]]) -> None:
        self.open = open_it


@asynccontextmanager
async def embedded(name: str, storage: str) -> AsyncIterator[Environment]:
    from pilotage.cluster import Cluster

    async with Cluster.embedded(storage) as cluster, _furnished(name, cluster.registry) as environment:
        yield replace(environment, cluster=lambda: cluster)


@asynccontextmanager
async def over_https(folder: Path) -> AsyncIterator[Environment]:
    from pilotage.client.retries import Retries
    from pilotage.client.transport.http import HTTPTransport
    from pilotage.cluster import Cluster
    from pilotage.http.certificates import self_signed
    from pilotage.http.server import serve
    from pilotage.http.tls import server_context
    from pilotage.server.http.handler import HTTPHandler

    certificate = self_signed("127.0.0.1")
    (folder / "server.crt").write_bytes(certificate.certificate)
    (folder / "server.key").write_bytes(certificate.key)
    context = server_context(str(folder / "server.crt"), str(folder / "server.key"))
    async with (
        Cluster.embedded("memory:") as cluster,
        serve(HTTPHandler(cluster.registry, "secret"), ssl=context) as server,
    ):
        url = f"https://127.0.0.1:{server.port}"
        impatient = Retries(total=0.5)  # what it refuses at once it would refuse again a second later
        transport = HTTPTransport(url, token="secret", ca_file=str(folder / "server.crt"), retries=impatient)
        try:
            async with _furnished("https", transport) as environment:
                authority = str(folder / "server.crt")
                yield replace(environment, cluster=lambda: Cluster.connect(url, token="secret", ca_file=authority))
        finally:
            await transport.close()


@asynccontextmanager
async def over_there(cluster: RealCluster) -> AsyncIterator[Environment]:
    from pilotage.client.retries import Retries
    from pilotage.client.transport.http import HTTPTransport
    from pilotage.cluster import Cluster

    brief = Retries(total=5)  # enough for a busy server, and less than a minute for one that refuses
    transport = HTTPTransport(cluster.url, token=cluster.token, ca_file=str(cluster.ca_file), retries=brief)
    try:
        async with _furnished("real", transport) as environment:
            yield replace(environment, cluster=lambda: Cluster.connect(kubeconfig=str(cluster.kubeconfig)))
    finally:
        await transport.close()


@asynccontextmanager
async def _furnished(name: str, transport: Transport) -> AsyncIterator[Environment]:
    """An environment with a namespace of its own. The real server has no controller that would empty it."""
    from pilotage.client import Client
    from pilotage.meta.models import ObjectMeta
    from pilotage.types.core.v1 import Namespace

    warnings: list[str] = []
    client = Client(transport, warning_handler=lambda warning: warnings.append(warning.text))
    namespace = await client.create(Namespace(metadata=ObjectMeta(name=f"test-{secrets.token_hex(4)}")))
    yield Environment(name, client, namespace.metadata.name, transport, warnings)


@contextmanager
def _control_plane() -> Iterator[RealCluster]:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    with real_cluster(found) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def real_control_plane() -> Iterator[RealCluster]:
    """One real control plane for the whole run; it takes three seconds to start."""
    with _control_plane() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def own_control_plane() -> Iterator[RealCluster]:
    """One with the objects of a single module, for tests of what is in the whole cluster, as names of resources."""
    with _control_plane() as cluster:
        yield cluster


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.cluster if name == "real" else ()) for name in NAMES])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Each API server in turn."""
    match request.param:
        case "memory":
            return Opening(partial(embedded, "memory", "memory:"))
        case "sqlite":
            return Opening(partial(embedded, "sqlite", f"sqlite:{tmp_path}/test.db"))
        case "https":
            return Opening(partial(over_https, tmp_path))
        case _:
            return Opening(partial(over_there, request.getfixturevalue("real_control_plane")))
