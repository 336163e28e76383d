from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hack.cluster.running import free_ports
from pilotage.device.client.target import Target
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.providers.fake import FakeOptions, FakeProvider
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.socket import SocketUnavailable
from pilotage.device.wire import health
from pilotage.device.wire.generation import Generation, method_path
from pilotage.device.wire.health import ServingStatus
from pilotage.errors import ConnectionLost, Gone, InvalidDefinition
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.rpc import Code, RPCError
from pilotage.http.client import HTTPClient
from pilotage.meta.documents import Document
from pilotage.telemetry.metrics import REGISTRY

from ..healthchecks import health_request, health_status
from .fakes import Api, condition, gpu, over_socket, server_options, status


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a socket's has room for 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="device") as name:
        yield Path(name)


async def checked(channel: GRPCChannel, service: str = "") -> ServingStatus:
    return health_status((await channel.unary(health.CHECK, health_request(service))).message)


@pytest.mark.covers("D4")
async def test_end_to_end_over_a_unix_socket(folder: Path) -> None:
    async with over_socket(folder) as node:
        nvml, dcgm = node.api("nvml"), node.api("dcgm")
        _, version = await nvml.list()
        async with nvml.watch(resource_version=version) as events:
            await nvml.create(gpu("GPU-0A1B", status=status(condition())))
            await dcgm.set_status("GPU-0A1B", condition("DCGMHealth"), action="COMPONENT_RESET")
            await nvml.delete("GPU-0A1B")
            seen = [await anext(events) for _ in range(3)]
        assert [kind for kind, _ in seen] == ["ADDED", "MODIFIED", "DELETED"]
        assert [one["type"] for one in seen[1][1]["status"]["conditions"]] == ["Ready", "DCGMHealth"]
        assert seen[1][1]["status"]["recommendedAction"] == "COMPONENT_RESET"
        assert "namespace" not in seen[0][1]["metadata"]


async def test_a_provider_runs_inside_and_readers_are_admitted_after_its_gpus_are_written(folder: Path) -> None:
    provider = FakeProvider(FakeOptions(count=4, period=0, seed=1))
    async with DeviceServer(server_options(folder, providers=(provider,), gate_seconds=30)) as server:
        channel = GRPCChannel(server.target)
        try:
            await server.registry.gate.wait()
            assert await checked(channel) is ServingStatus.SERVING
            await asyncio.wait_for(_until_complete(server, 4), 60)
            assert "device_api_server_cache_gpus_total 4" in REGISTRY.render()
        finally:
            await channel.close()
    assert "device_api_server_cache_gpus_total 0" in REGISTRY.render()


async def _until_complete(server: DeviceServer, count: int) -> None:
    async with Api(server.registry.transport()).watch() as events:
        for _ in range(count):
            assert (await anext(events))[0] == "ADDED"


@pytest.mark.covers("D11")
async def test_the_socket_is_there_while_the_server_is_and_no_longer(folder: Path) -> None:
    path = folder / "device.sock"
    async with DeviceServer(server_options(folder, socket_mode=0o600)) as server:
        assert str(server.target) == f"unix://{path}"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with pytest.raises(SocketUnavailable):
            await DeviceServer(server_options(folder)).__aenter__()
    assert not path.exists()


@pytest.mark.covers("D11")
async def test_a_shutdown_reports_not_serving_first_and_ends_watches_cleanly(folder: Path) -> None:
    statuses: list[ServingStatus] = []
    ended: list[Document] = []

    async def look(channel: GRPCChannel, ready: asyncio.Event) -> None:
        async with channel.stream(health.WATCH, health_request("")) as incoming:
            async for message in incoming:
                statuses.append(health_status(message))
                ready.set()

    async def follow(api: Api, ready: asyncio.Event) -> None:
        async with api.watch() as events:
            ready.set()
            ended.extend([document async for _, document in events])

    ready, following = asyncio.Event(), asyncio.Event()
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        async with DeviceServer(server_options(folder)) as server:
            await Api(server.registry.transport()).create(gpu())
            one, other = GRPCChannel(server.target), GRPCChannel(server.target)
            tasks.create_task(look(one, ready))
            tasks.create_task(follow(Api(DeviceTransport(other)), following))
            await ready.wait()
            await following.wait()
    await one.close()
    await other.close()
    assert statuses == [ServingStatus.SERVING, ServingStatus.NOT_SERVING]
    assert len(ended) == 1


async def test_a_file_survives_a_restart_and_watches_go_on_where_they_were(folder: Path) -> None:
    storage = f"sqlite:{folder / 'state.db'}"
    async with over_socket(folder, storage=storage) as node:
        created = await node.api().create(gpu(status=status(condition())))
        await node.api().set_status("gpu-0", condition(status="False"))
    async with over_socket(folder, storage=storage, gate_seconds=30) as node:
        assert node.registry.gate.is_open
        api = node.api()
        async with api.watch(resource_version=created["metadata"]["resourceVersion"]) as events:
            kind, document = await anext(events)
            assert (kind, document["status"]["conditions"][0]["status"]) == ("MODIFIED", "False")
            await api.set_status("gpu-0", condition(status="True"))
            assert (await anext(events))[1]["status"]["conditions"][0]["status"] == "True"


async def test_memory_starts_empty_and_a_version_from_before_is_gone(folder: Path) -> None:
    async with over_socket(folder) as node:
        await node.api().create(gpu())
        _, version = await node.api().list()
    async with over_socket(folder) as node:
        api = node.api()
        with pytest.raises(Gone):
            async with api.watch(resource_version=version) as events:
                await anext(events)
        _, newer = await api.list()
        assert int(newer) > int(version)


async def test_metrics_and_probes_are_served_where_they_are_asked_for(folder: Path) -> None:
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    options = server_options(folder, metrics_address=address, health_address=address)
    async with DeviceServer(options), HTTPClient("127.0.0.1", port) as client:
        assert (await client.request("GET", "/readyz")).status == 200
        assert b"grpc_server_started_total" in (await client.request("GET", "/metrics")).body


async def test_an_unencrypted_port_needs_to_be_asked_for_and_callers_there_to_be_let_in() -> None:
    target = Target(host="127.0.0.1", port=50051)
    for options in (DeviceServerOptions(targets=(target,)), DeviceServerOptions(targets=(target,), plaintext=True)):
        with pytest.raises(InvalidDefinition):
            await DeviceServer(options).__aenter__()


async def test_what_is_not_there_is_unimplemented(folder: Path) -> None:
    async with DeviceServer(server_options(folder, profile=Generation.V1)) as server:
        channel = GRPCChannel(server.target)
        with pytest.raises(RPCError) as raised:
            await channel.unary(method_path("CreateGpu"), b"")
        assert raised.value.code is Code.UNIMPLEMENTED
        await channel.close()


async def test_nothing_answers_when_it_is_down(folder: Path) -> None:
    async with DeviceServer(server_options(folder)) as server:
        target = server.target
    channel = GRPCChannel(target)
    with pytest.raises(ConnectionLost):
        await channel.unary(method_path("ListGpus"), b"")
    await channel.close()
