"""`gpus.follow`: each change comes once and none is left out, across restarts of the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pilotage import device
from pilotage.cache import Informer, InformerOptions
from pilotage.client.client import Client
from pilotage.client.watching import WatchedEvent
from pilotage.device.client.clientset import Devices
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import ConnectionLost, Forbidden
from pilotage.grpc.rpc import Code, RPCError

from .fakes import RegistryChannel, device_server, gpu
from .serving import serving


async def told(events: AsyncIterator[WatchedEvent[GPU]], count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(60):
        async for event in events:
            found.append((event.type, event.object.metadata.name))
            if len(found) == count:
                return found
    raise AssertionError(f"only {found} came")


@asynccontextmanager
async def following(*gpus: GPU) -> AsyncIterator[tuple[RegistryChannel, AsyncIterator[WatchedEvent[GPU]]]]:
    """A server with these GPUs, and a `follow` of them."""
    async with (
        device_server(*gpus) as server,
        Devices(channel=server) as devices,
        devices.v1alpha1.gpus.follow() as events,
    ):
        yield server, events


def other_client(server: RegistryChannel) -> Client:
    """Another writer, directly to the storage."""
    return Client(server._transport)


@pytest.mark.virtual_time
async def test_it_begins_with_everything_and_goes_on_with_changes() -> None:
    async with following(gpu("gpu-0"), gpu("gpu-1")) as (server, events):
        assert await told(events, 2) == [("ADDED", "gpu-0"), ("ADDED", "gpu-1")]
        await other_client(server).create(gpu("gpu-2"))
        await other_client(server).delete(GPU, "gpu-0")
        assert await told(events, 2) == [("ADDED", "gpu-2"), ("DELETED", "gpu-0")]
    assert server.streams == 0


@pytest.mark.virtual_time
async def test_after_a_restart_it_goes_on_where_it_stopped() -> None:
    async with following(gpu("gpu-0")) as (server, events):
        await told(events, 1)
        coming = asyncio.ensure_future(told(events, 2))
        await asyncio.sleep(1)
        server.break_streams(down=True)
        await asyncio.sleep(3)
        await other_client(server).create(gpu("gpu-1"))
        await other_client(server).delete(GPU, "gpu-0")
        server.down = False
        begun = asyncio.get_running_loop().time()
        assert await coming == [("ADDED", "gpu-1"), ("DELETED", "gpu-0")]
        assert asyncio.get_running_loop().time() - begun < 1
        assert server.methods.count("ListGpus") == 1


@pytest.mark.virtual_time
async def test_where_the_version_is_gone_the_difference_is_delivered() -> None:
    async with following(gpu("gpu-0"), gpu("gpu-1"), gpu("gpu-2")) as (server, events):
        await told(events, 3)
        coming = asyncio.ensure_future(told(events, 3))
        await asyncio.sleep(1)
        server.break_streams(down=True)
        await asyncio.sleep(2)
        client = other_client(server)
        await client.delete(GPU, "gpu-0")
        await client.patch(GPU, {"metadata": {"labels": {"a": "b"}}}, name="gpu-1")
        await client.create(gpu("gpu-3"))
        server.failures = [RPCError(Code.OUT_OF_RANGE, "too old")]
        server.down = False
        assert await coming == [("DELETED", "gpu-0"), ("MODIFIED", "gpu-1"), ("ADDED", "gpu-3")]
        assert server.methods.count("ListGpus") == 2


@pytest.mark.virtual_time
async def test_it_waits_for_a_server_that_has_not_started() -> None:
    async with device_server(gpu("gpu-0")) as server, Devices(channel=server) as devices:
        server.down = True
        async with devices.v1alpha1.gpus.follow() as events:
            coming = asyncio.ensure_future(told(events, 1))
            await asyncio.sleep(30)
            server.down = False
            begun = asyncio.get_running_loop().time()
            await coming
            assert asyncio.get_running_loop().time() - begun < 1


@pytest.mark.virtual_time
async def test_a_server_that_forgets_every_version_is_asked_now_and_then_only() -> None:
    async with following(gpu("gpu-0")) as (server, events):
        coming = asyncio.ensure_future(told(events, 2))
        watch, server.stream = server.stream, _forgetful  # type: ignore[method-assign, assignment]
        await asyncio.sleep(10)
        assert server.methods.count("ListGpus") < 30
        server.stream = watch  # type: ignore[method-assign]
        await other_client(server).create(gpu("gpu-1"))
        assert await coming == [("ADDED", "gpu-0"), ("ADDED", "gpu-1")]


def _forgetful(*_: object, **__: object) -> None:
    raise RPCError(Code.OUT_OF_RANGE, "no resume")


@pytest.mark.virtual_time
async def test_a_server_that_forgets_every_version_is_listed_less_and_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "pilotage.device")
    async with following(gpu("gpu-0")) as (server, events):
        server.stream = _forgetful  # type: ignore[method-assign, assignment]
        coming = asyncio.ensure_future(told(events, 2))
        await asyncio.sleep(60)
        assert 5 <= server.methods.count("ListGpus") <= 12
        coming.cancel()
        await asyncio.wait([coming])
    records = [record for record in caplog.records if record.name == "pilotage.device"]
    lines = [record.getMessage() for record in records if not record.getMessage().startswith("RPC")]
    assert [line.partition(";")[0] for line in lines] == ["The resource version has expired", "The watch failed"]


@pytest.mark.virtual_time
async def test_an_informer_of_a_server_that_forgets_every_version_backs_off_and_logs_it_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As NVIDIA's servers of V6 and V8 with memory storage, which answer every watch with OUT_OF_RANGE."""
    async with device_server(gpu("gpu-0")) as server, Devices(channel=server) as devices:
        server.stream = _forgetful  # type: ignore[method-assign, assignment]
        informer = Informer(devices.v1alpha1.gpus, InformerOptions(GPU))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(informer.run())
            await asyncio.sleep(10)
            begun = server.methods.count("ListGpus")
            await asyncio.sleep(100)
            assert 6 <= server.methods.count("ListGpus") - begun <= 15
            await other_client(server).create(gpu("gpu-1"))
            await asyncio.sleep(20)
            assert informer.find("gpu-1") is not None
            running.cancel()
    troubles = [
        record for record in caplog.records if record.levelno >= logging.WARNING and record.name != "pilotage.client"
    ]
    assert [record.name for record in troubles] == ["pilotage.device", "pilotage.cache"]


@pytest.mark.virtual_time
async def test_after_a_restart_of_a_server_that_counts_from_the_beginning_the_difference_is_delivered() -> None:
    async with (
        device_server(gpu("gpu-0"), gpu("gpu-1"), knows_options=False) as server,
        Devices(channel=server) as devices,
        devices.v1alpha1.gpus.follow() as events,
    ):
        await told(events, 2)
        coming = asyncio.ensure_future(told(events, 1))
        await asyncio.sleep(1)
        server.break_streams()
        await asyncio.sleep(1)
        assert server.methods.count("ListGpus") == 2
        await other_client(server).delete(GPU, "gpu-0")
        assert await coming == [("DELETED", "gpu-0")]


async def test_an_error_that_waiting_does_not_repair_is_raised() -> None:
    async with device_server(gpu("gpu-0")) as server, Devices(channel=server) as devices:
        server.failures = [RPCError(Code.PERMISSION_DENIED, "not you")]
        async with devices.v1alpha1.gpus.follow() as events:
            with pytest.raises(Forbidden):
                await told(events, 1)


async def test_it_ends_when_the_devices_are_closed() -> None:
    async with (
        asyncio.timeout(60),
        serving(gpu("gpu-0")) as target,
        device.connect(target) as devices,
        devices.v1alpha1.gpus.follow() as events,
    ):
        assert await told(events, 1) == [("ADDED", "gpu-0")]
        more = asyncio.ensure_future(told(events, 1))
        await asyncio.sleep(0)
        await devices.close()
        with pytest.raises(ConnectionLost):
            await more


@pytest.mark.virtual_time
async def test_bookmarks_keep_a_watch_alive() -> None:
    async with following(gpu("gpu-0")) as (server, events):
        await told(events, 1)
        coming = asyncio.ensure_future(told(events, 1))
        await asyncio.sleep(50)
        assert server.methods.count("WatchGpus") == 1
        await other_client(server).create(gpu("gpu-1"))
        assert await coming == [("ADDED", "gpu-1")]


@pytest.mark.virtual_time
async def test_a_silent_watch_is_opened_again_if_bookmarks_were_announced() -> None:
    async with following(gpu("gpu-0")) as (server, events):
        await told(events, 1)
        server.frozen = True
        coming = asyncio.ensure_future(told(events, 1))
        await asyncio.sleep(15)
        server.frozen = False
        await other_client(server).create(gpu("gpu-1"))
        assert await coming == [("ADDED", "gpu-1")]
        assert server.methods.count("WatchGpus") in (2, 3)
