"""The points of the Device API's checklist about client and server together, with our client and hand-made bytes on a
real socket."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pilotage import device
from pilotage.cache import Informer, InformerOptions
from pilotage.client.retries import Retries
from pilotage.device.client.listerwatcher import DeviceListerWatcher
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.server import deviceserver
from pilotage.device.server.deviceserver import DeviceServer
from pilotage.device.server.watchcache import WatchCacheOptions
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.device.wire import health, reflection
from pilotage.device.wire.client import decode_event, decode_page
from pilotage.device.wire.generation import PACKAGES, Generation, method_path
from pilotage.device.wire.health import ServingStatus
from pilotage.errors import BadRequest, Gone, MethodNotSupported
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.rpc import Code, RPCError
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.rest import ListOptions, Page, PatchType, WatchEvent
from pilotage.rest.listing import BackoffOptions
from pilotage.server.verbs.watch import END_OF_INITIAL_EVENTS
from pilotage.storage.interface import Put
from pilotage.storage.memory import MemoryStorage

from .handmade import field, meta, written
from .healthchecks import health_request, health_status
from .server.fakes import Api, condition, gpu, over_socket, server_options, status

EAGER = WatchCacheOptions(bookmark_seconds=0.05)
SPEC = field(2, field(1, b"GPU-0"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a socket's has room for 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="device") as name:
        yield Path(name)


@asynccontextmanager
async def speaking(folder: Path, generation: Generation, **options: Any) -> AsyncIterator[tuple[DeviceServer, Api]]:
    """A server of a generation, and our client that speaks it."""
    async with DeviceServer(server_options(folder, profile=generation, **options)) as server:
        channel = GRPCChannel(server.target)
        client = DeviceTransport(channel, generation, metadata={"provider-id": "nvml"}, retries=Retries(tries=0))
        try:
            yield server, Api(client)
        finally:
            await client.close()


@asynccontextmanager
async def raw(folder: Path, **options: Any) -> AsyncIterator[tuple[DeviceServer, GRPCChannel]]:
    async with DeviceServer(server_options(folder, **options)) as server:
        channel = GRPCChannel(server.target)
        try:
            yield server, channel
        finally:
            await channel.close()


@pytest.mark.covers("D4")
async def test_4_a_snapshot_at_version_7_and_then_a_change_at_version_8(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def small(url: str) -> MemoryStorage:
        return MemoryStorage(first_revision=1)

    monkeypatch.setattr(deviceserver, "open_served_storage", small)
    async with over_socket(folder) as node:
        storage = node.registry.context.storage
        while storage.revision < 6:
            await storage.commit(Put("/elsewhere", b""))
        seventh, eighth = (str(storage.revision + number) for number in (1, 2))
        async with device.connect(node.server.target, provider_id="nvml") as devices:
            gpus = devices.v1alpha1.gpus
            created = await gpus.create(GPU(metadata=ObjectMeta(name="gpu-0"), spec=GPUSpec(uuid="GPU-0")))
            assert created.metadata.resource_version == seventh
            listed = await gpus.list()
            assert [one.metadata.resource_version for one in listed] == [seventh]
            assert (await gpus.get("gpu-0")).spec.uuid == "GPU-0"
            async with gpus.watch() as events:
                first = await anext(events)
                created.status.conditions.append(Condition(type="Ready", status="True", reason="Tested"))
                await gpus.update_status(created)
                second = await anext(events)
            assert [(one.type, one.object.metadata.resource_version) for one in (first, second)] == [
                ("ADDED", seventh),
                ("MODIFIED", eighth),
            ]


class Impatient:
    """A lister and watcher whose watches take a second at most."""

    streaming = False
    backoff = BackoffOptions(first=0.01, limit=0.05)
    silence_seconds = 60.0

    def __init__(self, source: DeviceListerWatcher) -> None:
        self._source = source
        self.watches = 0
        self.again = asyncio.Event()

    async def list(self, options: ListOptions) -> Page:
        return await self._source.list(options)

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        self.watches += 1
        if self.watches > 1:
            self.again.set()
        return self._source.watch(replace(options, timeout_seconds=1))


@pytest.mark.covers("D8")
async def test_8_an_informer_goes_on_after_its_watch_has_ended_by_its_timeout(folder: Path) -> None:
    async with over_socket(folder) as node, device.connect(node.server.target) as devices:
        api = node.api()
        await api.create(gpu())
        source = Impatient(devices.v1alpha1.gpus.lister_watcher())
        informer: Informer[GPU] = Informer(source, InformerOptions(GPU))
        heard = asyncio.Event()
        informer.add_event_handler(lambda event: heard.set() if not event.is_in_initial_list else None)
        task = asyncio.create_task(informer.run())
        async with asyncio.timeout(60):
            await informer.wait_for_sync()
            await source.again.wait()
            await api.create(gpu("gpu-1"))
            await heard.wait()
        assert {one.metadata.name for one in informer.list()} == {"gpu-0", "gpu-1"}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.covers("D8")
async def test_8_a_watch_that_is_opened_again_survives_that_the_server_closes_it(folder: Path) -> None:
    storage = f"sqlite:{folder / 'state.db'}"
    seen: list[tuple[str, str]] = []
    more = asyncio.Event()

    async def follow(target: Any) -> None:
        async with device.connect(target) as devices, devices.v1alpha1.gpus.follow() as events:
            async for event in events:
                seen.append((event.type, event.object.metadata.resource_version))
                more.set()

    async def until(count: int) -> None:
        async with asyncio.timeout(60):
            while len(seen) < count:
                more.clear()
                await more.wait()

    async with asyncio.TaskGroup() as tasks:
        follower = None
        for round_ in range(3):
            async with over_socket(folder, storage=storage) as node:
                if follower is None:
                    await node.api().create(gpu())
                    follower = tasks.create_task(follow(node.server.target))
                    await until(1)
                await node.api().set_status("gpu-0", condition(status="True" if round_ % 2 else "False"))
                await until(round_ + 2)
        assert follower is not None
        follower.cancel()
    assert [kind for kind, _ in seen] == ["ADDED", *["MODIFIED"] * 3]
    versions = [int(version) for _, version in seen]
    assert versions == sorted(set(versions))


@pytest.mark.covers("D8")
@pytest.mark.parametrize("generation", [Generation.V6, Generation.V8])
async def test_8_a_bookmark_has_the_version_of_the_watch_and_nothing_else(folder: Path, generation: Generation) -> None:
    async with speaking(folder, generation, watch_cache=EAGER) as (_, api):
        created = await api.create(gpu(metadata={"labels": {"a": "b"}}, status=status(condition())))
        version = created["metadata"]["resourceVersion"]
        async with api.watch(resource_version=version, allow_watch_bookmarks=True) as events:
            kind, bookmark = await anext(events)
        assert kind == "BOOKMARK"
        assert int(bookmark["metadata"]["resourceVersion"]) >= int(version)
        assert bookmark["metadata"].keys() == {"resourceVersion"}
        assert not any(bookmark.get("spec", {}).values())
        assert not any(bookmark.get("status", {}).values())
        async with asyncio.timeout(60), api.watch(resource_version=version, timeout_seconds=1) as events:
            assert [event async for event in events] == []  # none without having asked


@pytest.mark.covers("D5", "D6", "D7", "D8", "D9")
async def test_the_newest_generation_can_do_all_of_it_over_the_socket(folder: Path) -> None:
    async with speaking(folder, Generation.V8) as (server, api):
        for name, labels in (("gpu-0", {"tier": "gold"}), ("gpu-1", {"tier": "tin"}), ("gpu-2", {})):
            await api.create(gpu(name, metadata={"labels": labels, "annotations": {"note": name}}))
        created = await api.get("gpu-0")
        assert created["metadata"]["generation"] == 1
        assert created["metadata"]["annotations"] == {"note": "gpu-0"}
        stated = await api.set_status("gpu-0", condition(), action="RESTART_BM")
        assert stated["status"]["recommendedAction"] == "RESTART_BM"
        for selector, names in (
            ("tier=gold", ["gpu-0"]),
            ("tier!=gold", ["gpu-1", "gpu-2"]),
            ("tier in (gold, tin)", ["gpu-0", "gpu-1"]),
            ("tier,tier notin (gold)", ["gpu-1"]),
        ):
            assert await api.names(label_selector=selector) == names
        with pytest.raises(BadRequest):
            await api.list(label_selector="tier=(")
        options = {"send_initial_events": True, "resource_version_match": "NotOlderThan"}
        async with api.watch(**options, allow_watch_bookmarks=True, label_selector="tier") as events:
            first = [await anext(events) for _ in range(3)]
            assert [kind for kind, _ in first] == ["ADDED", "ADDED", "BOOKMARK"]
            assert first[2][1]["metadata"]["annotations"][END_OF_INITIAL_EVENTS] == "true"
            await api.patch("gpu-2", {"metadata": {"labels": {"tier": "new"}}})
            assert (await anext(events))[0] == "ADDED"
            patch = {"status": {"conditions": [condition("Degraded", "True")]}}
            await api.patch("gpu-0", patch, PatchType.STRATEGIC, "status")
            _, changed = await anext(events)
            assert {one["type"] for one in changed["status"]["conditions"]} == {"Ready", "Degraded"}
            await api.delete("gpu-1")
            assert (await anext(events))[0] == "DELETED"
        async with device.connect(server.target, wire="v8", provider_id="nvml") as devices:
            await devices.v1alpha1.gpus.heartbeat(["gpu-0"])
        unlabelled = await api.update(gpu("gpu-0"))
        assert "labels" not in unlabelled["metadata"]  # clients of V8 know labels: an absent field removes them
        with pytest.raises(Gone):
            async with api.watch(resource_version="1") as events:
                await anext(events)
        assert server.watch_cache.subscribers == 0 or await _drained(server)


async def _drained(server: DeviceServer) -> bool:
    await server.watch_cache.wait_ended(5)
    return server.watch_cache.subscribers == 0


async def test_the_oldest_generation_is_read_over_the_socket_and_writes_say_that_there_are_none(folder: Path) -> None:
    async with speaking(folder, Generation.V1) as (server, api):
        inside = Api(server.registry.transport())
        await inside.create(gpu("gpu-0", status=status(condition())))
        found, version = await api.list()
        assert (version, found[0]["metadata"]["name"], found[0]["spec"]["uuid"]) == ("", "gpu-0", "GPU-gpu-0")
        assert (await api.get())["status"]["conditions"][0]["type"] == "Ready"
        async with api.watch() as events:
            assert (await anext(events))[0] == "ADDED"
            await inside.set_status("gpu-0", condition(status="False"))
            kind, document = await anext(events)
            assert (kind, document["status"]["conditions"][0]["status"]) == ("MODIFIED", "False")
        with pytest.raises(MethodNotSupported):
            await api.create(gpu("gpu-1"))
        async with device.connect(server.target, wire="v1") as devices:
            assert [one.metadata.name for one in await devices.v1alpha1.gpus.list()] == ["gpu-0"]


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("generation", [Generation.V6, Generation.V8])
async def test_the_service_has_both_its_names_on_the_socket(folder: Path, package: str, generation: Generation) -> None:
    async with DeviceServer(server_options(folder, profile=generation)) as server:
        api = Api(DeviceTransport(GRPCChannel(server.target), generation, package=package))
        await api.create(gpu())
        assert await api.names() == ["gpu-0"]
        async with api.watch() as events:
            assert (await anext(events))[0] == "ADDED"
        await api.transport.close()


def older_list(generation: str, version: bytes) -> bytes:
    """A request to list or watch, byte by byte: field 1 is the version in V2, and the options that hold it in V3."""
    if not version:
        return b"" if generation == "v2" else b"\x0a\x00"
    return field(1, version) if generation == "v2" else field(1, field(1, version))


@pytest.mark.covers("D13")
@pytest.mark.parametrize("generation", ["v2", "v3"])
async def test_13_old_clients_list_and_watch_with_and_without_a_version(folder: Path, generation: str) -> None:
    async with raw(folder) as (server, channel):
        inside = Api(server.registry.transport())
        await inside.create(gpu("gpu-0"))
        old = Generation(generation)
        reply = await channel.unary(method_path("ListGpus"), older_list(generation, b""))
        page = decode_page(old, reply.message)
        version = page.resource_version.encode()
        assert len(page.items) == 1
        await inside.create(gpu("gpu-1"))
        again = await channel.unary(method_path("ListGpus"), older_list(generation, version))
        assert len(decode_page(old, again.message).items) == 2
        for start, names in ((b"", [b"gpu-0", b"gpu-1"]), (b"0", [b"gpu-0", b"gpu-1"]), (version, [b"gpu-1"])):
            async with channel.stream(method_path("WatchGpus"), older_list(generation, start)) as incoming:
                messages = aiter(incoming)
                for name in names:
                    event = decode_event(old, await anext(messages))
                    assert event is not None
                    assert name in bytes(event.object)
        with pytest.raises(RPCError) as raised:
            async with channel.stream(method_path("WatchGpus"), older_list(generation, b"1")) as incoming:
                await anext(aiter(incoming))
        assert raised.value.code is Code.OUT_OF_RANGE
        get = b"\x0a\x05gpu-0" if generation == "v2" else b"\x0a\x05gpu-0" + field(2, field(1, version))
        assert b"gpu-0" in (await channel.unary(method_path("GetGpu"), get)).message


@pytest.mark.covers("D11")
async def test_11_health_is_not_serving_before_the_server_knows_its_gpus(folder: Path) -> None:
    async with raw(folder, gate_seconds=60) as (server, channel):

        async def checked(service: str) -> ServingStatus:
            return health_status((await channel.unary(health.CHECK, health_request(service))).message)

        names = ["", *(f"{package}.GpuService" for package in PACKAGES)]
        for name in names:
            assert await checked(name) is ServingStatus.NOT_SERVING
        with pytest.raises(RPCError) as raised:
            await channel.unary(method_path("ListGpus"), b"")
        assert raised.value.code is Code.UNAVAILABLE
        await Api(server.registry.transport()).create(gpu())
        for name in names:
            assert await checked(name) is ServingStatus.SERVING
        assert await channel.unary(method_path("ListGpus"), b"")


async def test_reflection_answers_on_the_socket(folder: Path) -> None:
    async with raw(folder) as (_, channel):
        for method in reflection.METHODS:
            async with channel.stream(method, b"\x3a\x00") as incoming:  # list_services
                answer = await anext(aiter(incoming))
            for name in (*(f"{package}.GpuService" for package in PACKAGES), "grpc.health.v1.Health"):
                assert name.encode() in answer


async def test_a_client_without_labels_keeps_them_and_ours_sets_and_removes_them(folder: Path) -> None:
    async with over_socket(folder) as node:
        api = node.api()
        labelled = {"labels": {"tier": "gold"}, "annotations": {"note": "x"}}
        await api.create(gpu(metadata=labelled))
        await api.patch("gpu-0", {"metadata": {"finalizers": ["example.com/hold"]}})
        channel = GRPCChannel(node.server.target)
        update = written(meta(), field(2, field(1, b"GPU-other")))
        await channel.unary(method_path("UpdateGpu"), update)
        stored = await Api(node.registry.transport()).get()
        assert stored["spec"]["uuid"] == "GPU-other"
        assert {key: stored["metadata"][key] for key in labelled} == labelled
        some = written(meta(b"gpu-0", field(7, field(1, b"tier") + field(2, b"tin"))), SPEC)
        await channel.unary(method_path("UpdateGpu"), some)
        stored = await Api(node.registry.transport()).get()
        assert stored["metadata"]["labels"] == {"tier": "tin"}  # what it does send counts, and for the whole of it
        assert stored["metadata"]["annotations"] == {"note": "x"}
        await api.update(gpu())
        stored = await Api(node.registry.transport()).get()
        assert not stored["metadata"].keys() & {"labels", "annotations"}
        assert stored["metadata"]["finalizers"] == ["example.com/hold"]  # no generation has a field for them
        await channel.close()


async def test_a_provider_learns_that_a_condition_belongs_to_another(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_socket(folder) as node:
        await node.api("nvml").create(gpu(status=status(condition())))
        async with device.connect(node.server.target, provider_id="dcgm") as devices:
            gpus = devices.v1alpha1.gpus
            for _ in range(3):
                found = await gpus.get("gpu-0")
                await gpus.update_status(found)  # sending back what was read is not a conflict
            assert "belongs to" not in caplog.text
            for _ in range(3):
                found = await gpus.get("gpu-0")
                found.status.conditions[0].status = "False"
                assert (await gpus.update_status(found)).status.conditions[0].status == "True"
    warned = [record for record in caplog.records if "belongs to provider 'nvml'" in record.getMessage()]
    assert [record.name for record in warned] == ["pilotage.client"]
    logged = [record for record in caplog.records if "another provider" in record.getMessage()]
    assert len(logged) == 1
