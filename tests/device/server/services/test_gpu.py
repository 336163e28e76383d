from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from pilotage.device.server import metrics
from pilotage.device.server.registry import DeviceRegistry
from pilotage.device.server.services.calls import Allows, allow_all
from pilotage.device.server.services.gpu import GPUService, encode
from pilotage.device.server.services.health import LIVENESS, HealthService
from pilotage.device.server.watchcache import WatchCache, WatchCacheOptions
from pilotage.device.wire import health, providerservice, reflection
from pilotage.device.wire.client import decode_event, decode_page, encode_request
from pilotage.device.wire.generation import PACKAGES, RESOURCE, Generation, method_path
from pilotage.device.wire.health import ServingStatus
from pilotage.device.wire.options import BOOKMARK_SECONDS, STORAGE, UNDERSTOOD, UNDERSTOOD_OPTIONS
from pilotage.device.wire.providerservice import (
    Acknowledged,
    Heartbeat,
    Registered,
    RegisterGPU,
    Unregistered,
    UnregisterGPU,
    Updated,
    UpdateGPUCondition,
    UpdateGPUStatus,
    provider_path,
)
from pilotage.errors import Status
from pilotage.grpc.rpc import Call, Code, Handlers, Peer, Reply, RPCError
from pilotage.rest import APIRequest, ListOptions, PatchType, Response, Verb
from pilotage.telemetry.lines import LogEvent

from ...healthchecks import health_request, health_status
from ..fakes import Out, api, condition, gpu, registry, status

SECOND = PACKAGES[1]


class ReadinessGate:
    """Calls the handlers as a gRPC server would."""

    def __init__(self, handlers: Handlers, opened: DeviceRegistry, answers: HealthService) -> None:
        self.handlers = handlers
        self.registry = opened
        self.health = answers
        self.generation = Generation.V6

    async def unary(self, path: str, message: bytes, peer: Peer | None = None, **metadata: str) -> Reply:
        call = Call(path, {key.replace("_", "-"): value for key, value in metadata.items()}, peer or Peer(uid=0))
        return await self.handlers.unary[path](call, message)

    async def ask(self, request: APIRequest, package: str = PACKAGES[0], **more: Any) -> bytes:
        call = encode_request(self.generation, request)
        more |= call.metadata
        return (await self.unary(method_path(call.method, package), call.message, **more)).message


@asynccontextmanager
async def serving(
    generation: Generation = Generation.V6,
    allows: Allows = allow_all,
    watch_cache_options: WatchCacheOptions | None = None,
    **options: Any,
) -> AsyncIterator[ReadinessGate]:
    answers = HealthService([f"{package}.GpuService" for package in PACKAGES])
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(registry(**options))
        made_of = WatchCache(opened.context.storage, opened.info, opened.prefix, encode, watch_cache_options)
        watch_cache = await stack.enter_async_context(made_of)
        opened.gate.on_open(answers.serve)
        made = GPUService(opened, watch_cache, answers, generation, allows).handlers()
        gate = ReadinessGate(made, opened, answers)
        gate.generation = generation
        yield gate


def create(name: str = "gpu-0", **more: Any) -> APIRequest:
    import json

    return APIRequest(Verb.CREATE, RESOURCE, body=json.dumps(gpu(name, **more)).encode())


@pytest.mark.parametrize("package", PACKAGES)
async def test_the_service_answers_under_both_names(package: str) -> None:
    async with serving() as here:
        await here.ask(create(status=status(condition())), package)
        page = decode_page(Generation.V6, await here.ask(APIRequest(Verb.LIST, RESOURCE), package))
        assert len(page.items) == 1
        out = Out()
        path = method_path("WatchGpus", package)
        task = asyncio.ensure_future(here.handlers.stream[path](Call(path), b"", out))
        await out.opened.wait()
        await out.wrote.wait()
        event = decode_event(Generation.V6, out.frames[0][5:])
        assert event is not None
        assert event.type == "ADDED"
        assert out.metadata == {
            UNDERSTOOD: UNDERSTOOD_OPTIONS,
            STORAGE: here.registry.storage_id,
            BOOKMARK_SECONDS: "3",
        }
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("generation", [Generation.V1, Generation.V8])
async def test_another_generation_is_spoken_on_request(generation: Generation) -> None:
    async with serving(generation) as here:
        await api(here.registry).create(gpu(status=status(condition())))
        page = decode_page(generation, await here.ask(APIRequest(Verb.LIST, RESOURCE)))
        assert b'"gpu-0"' in bytes(page.items[0])
        methods = {path.rpartition("/")[2] for path in here.handlers.unary if "GpuService" in path}
        assert ("CreateGpu" in methods) is generation.writes
        own = {path.rpartition("/")[2] for path in here.handlers.unary if "ProviderService" in path}
        assert own == ({"Heartbeat"} if generation.writes else set())


async def test_an_error_carries_the_whole_status() -> None:
    async with serving() as here:
        with pytest.raises(RPCError) as raised:
            await here.ask(APIRequest(Verb.GET, RESOURCE, name="gpu-9"))
        assert raised.value.code is Code.NOT_FOUND
        import json

        found = Status.from_document(json.loads(raised.value.trailers["kubernetes-status-bin"]))
        assert found.details is not None
        assert (found.code, found.details.name, found.details.kind) == (404, "gpu-9", "gpus")


async def test_a_failure_of_the_server_is_reported_without_its_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: APIRequest) -> Response:
        raise RuntimeError("secret")

    async with serving() as here:
        monkeypatch.setattr(here.registry.api, "call", broken)
        with pytest.raises(RPCError) as raised:
            await here.ask(APIRequest(Verb.GET, RESOURCE, name="gpu-0"))
        assert raised.value.code is Code.INTERNAL
        assert "secret" not in raised.value.message
        assert "secret" in caplog.text


async def test_every_write_is_logged_with_caller_object_and_result(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pilotage.device.audit")
    async with serving() as here:
        await here.ask(create(), provider_id="nvml", peer=Peer(uid=7, gid=7, pid=42))
        with pytest.raises(RPCError):
            await here.ask(create())
        await here.ask(APIRequest(Verb.GET, RESOURCE, name="gpu-0"))
        patch = APIRequest(Verb.PATCH, RESOURCE, name="gpu-0", body=b"{}", content_type=PatchType.MERGE.value)
        await here.ask(patch)
        await here.ask(APIRequest(Verb.DELETE, RESOURCE, name="gpu-0"))
    lines = [record.msg.fields for record in caplog.records if isinstance(record.msg, LogEvent)]
    found = [(line["method"], line["name"], line["code"], line["provider"]) for line in lines if "method" in line]
    assert found == [
        ("CreateGpu", "gpu-0", "OK", "nvml"),
        ("CreateGpu", "gpu-0", "ALREADY_EXISTS", "uid:0"),
        ("PatchGpu", "gpu-0", "OK", "uid:0"),
        ("DeleteGpu", "gpu-0", "OK", "uid:0"),
    ]
    assert (lines[0]["uid"], lines[0]["pid"]) == (7, 42)


async def test_who_may_not_is_refused_and_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pilotage.device.audit")
    async with serving(allows=lambda peer, method: method.startswith(("Get", "List"))) as here:
        with pytest.raises(RPCError) as raised:
            await here.ask(create())
        assert raised.value.code is Code.PERMISSION_DENIED
        await here.ask(APIRequest(Verb.LIST, RESOURCE))
        out = Out()
        path = method_path("WatchGpus")
        with pytest.raises(RPCError):
            await here.handlers.stream[path](Call(path), b"", out)
        with pytest.raises(RPCError):
            await here.unary(provider_path("Heartbeat"), Heartbeat("nvml").encode())
    assert "PERMISSION_DENIED" in caplog.text


async def test_calls_are_counted_by_method_and_code() -> None:
    labels = ("unary", "nvidia.nvsentinel.v1alpha1.GpuService", "GetGpu")
    started = metrics.STARTED.labels(*labels).value
    missing = metrics.HANDLED.labels(*labels, "NOT_FOUND").value
    async with serving() as here:
        with pytest.raises(RPCError):
            await here.ask(APIRequest(Verb.GET, RESOURCE, name="gpu-9"))
    assert metrics.STARTED.labels(*labels).value == started + 1
    assert metrics.HANDLED.labels(*labels, "NOT_FOUND").value == missing + 1
    assert metrics.HANDLING_SECONDS.labels(*labels).count > 0


async def test_writes_are_counted_by_what_they_do() -> None:
    operations = ("create", "update_status", "delete")
    before = [metrics.UPDATES.labels(operation).value for operation in operations]
    async with serving() as here:
        own = api(here.registry)
        await own.create(gpu())
        await own.set_status("gpu-0", condition())
        await here.ask(APIRequest(Verb.DELETE, RESOURCE, name="gpu-0"))
    assert [metrics.UPDATES.labels(operation).value for operation in operations] == [value + 1 for value in before]


async def test_callers_at_one_address_do_not_use_up_the_watches_of_another() -> None:
    path = method_path("WatchGpus")

    async with serving(watch_cache_options=WatchCacheOptions(subscribers=2)) as here, asyncio.TaskGroup() as tasks:

        async def watch(address: str) -> None:
            await here.handlers.stream[path](Call(path, peer=Peer(address=address)), b"", Out())

        watches = [tasks.create_task(watch("10.0.0.1:1"))]
        await asyncio.sleep(0)
        with pytest.raises(RPCError, match="the limit of 1 open watches for one caller is reached"):
            await watch("10.0.0.1:2")
        watches.append(tasks.create_task(watch("10.0.0.2:1")))
        await asyncio.sleep(0)
        assert not any(task.done() for task in watches)
        for task in watches:
            task.cancel()


async def test_readers_wait_at_the_gate_and_providers_do_not() -> None:
    async with serving(gate_seconds=30) as here:
        with pytest.raises(RPCError) as raised:
            await here.ask(APIRequest(Verb.LIST, RESOURCE))
        assert raised.value.code is Code.UNAVAILABLE
        path = method_path("WatchGpus")
        with pytest.raises(RPCError):
            await here.handlers.stream[path](Call(path), b"", Out())
        await here.ask(APIRequest(Verb.LIST, RESOURCE), provider_id="nvml")
        here.registry.inventory_complete()
        await here.ask(APIRequest(Verb.LIST, RESOURCE))


async def test_options_that_the_message_cannot_hold_come_as_metadata() -> None:
    async with serving() as here:
        for name, labels in (("gpu-0", {"tier": "gold"}), ("gpu-1", {})):
            await api(here.registry).create(gpu(name, metadata={"labels": labels}))
        options = ListOptions(label_selector="tier=gold")
        page = decode_page(Generation.V6, await here.ask(APIRequest(Verb.LIST, RESOURCE, options=options)))
        assert len(page.items) == 1


async def _provide(here: ReadinessGate, message: Any, name: str, **more: Any) -> bytes:
    return (await here.unary(provider_path(name), message.encode(), **more)).message


async def test_providers_have_a_service_of_their_own() -> None:
    async with serving() as here:
        register = RegisterGPU("gpu-0", "GPU-0", "nvml", status(condition()))
        created = Registered.decode(await _provide(here, register, "RegisterGpu"))
        assert created.created
        again = Registered.decode(await _provide(here, register, "RegisterGpu"))
        assert again == Registered(False, created.resource_version)
        one = UpdateGPUCondition("gpu-0", condition("Degraded", "True"), "nvml")
        updated = Updated.decode(await _provide(here, one, "UpdateGpuCondition"))
        assert updated.resource_version > created.resource_version
        whole = UpdateGPUStatus("gpu-0", status(condition("DCGMHealth")), "dcgm")
        await _provide(here, whole, "UpdateGpuStatus")
        found = (await api(here.registry).get())["status"]["conditions"]
        assert [one["type"] for one in found] == ["Ready", "Degraded", "DCGMHealth"]
        assert Acknowledged.decode(await _provide(here, Heartbeat("nvml", ("gpu-0",)), "Heartbeat"))
        gone = UnregisterGPU("gpu-0")
        assert Unregistered.decode(await _provide(here, gone, "UnregisterGpu")).deleted
        assert not Unregistered.decode(await _provide(here, gone, "UnregisterGpu")).deleted
        assert set(providerservice.METHODS) == {
            path.rpartition("/")[2] for path in here.handlers.unary if "ProviderService" in path
        }


async def test_a_heartbeat_without_a_name_is_its_users() -> None:
    async with serving() as here:
        await _provide(here, Heartbeat(""), "Heartbeat", peer=Peer(uid=7))
        assert not here.registry.heartbeats.is_lost("uid:7")
        assert await _notes(here) == ["/devices/heartbeats/uid:7"]


async def _notes(here: ReadinessGate) -> list[str]:
    storage = here.registry.context.storage
    batch = await anext(aiter(storage.watch("/devices/heartbeats/", since=storage.oldest)))
    return [event.key for event in batch]


async def test_reflection_answers_each_question_about_the_services() -> None:
    async def questions() -> AsyncIterator[bytes]:
        yield b"\x3a\x00"  # list_services
        yield b"\x22" + bytes([len(symbol)]) + symbol  # file_containing_symbol

    symbol = f"{SECOND}.GpuService".encode()
    async with serving() as here:
        for path in reflection.METHODS:
            out = Out()
            await here.handlers.bidi[path](Call(path), questions(), out)
            services, file = out.frames
            for name in (*(f"{package}.GpuService" for package in PACKAGES), "grpc.health.v1.Health"):
                assert name.encode() in services
            assert b"WatchGpusRequest" in file


@pytest.mark.covers("D11")
async def test_health_is_serving_once_readers_are_let_in_and_no_more_at_the_end() -> None:
    async with serving(gate_seconds=30) as here:

        async def checked(name: str = "") -> ServingStatus:
            return health_status((await here.unary(health.CHECK, health_request(name))).message)

        out = Out()
        told = asyncio.ensure_future(
            here.handlers.stream[health.WATCH](Call(health.WATCH), health_request(f"{SECOND}.GpuService"), out)
        )
        assert await checked() is ServingStatus.NOT_SERVING
        assert await checked(LIVENESS) is ServingStatus.SERVING
        here.registry.inventory_complete()
        assert await checked(f"{SECOND}.GpuService") is ServingStatus.SERVING
        assert metrics.SERVICE_STATUS.labels(f"{SECOND}.GpuService").value == 1
        here.health.shut_down()
        here.health.serve()
        assert await checked() is ServingStatus.NOT_SERVING
        await told
        statuses = [health_status(frame[5:]) for frame in out.frames]
        assert statuses[-1] is ServingStatus.NOT_SERVING
        with pytest.raises(RPCError) as raised:
            await checked("another.Service")
        assert raised.value.code is Code.NOT_FOUND


async def test_the_health_of_an_unknown_service_can_be_watched() -> None:
    async with serving() as here:
        out = Out()
        call = Call(health.WATCH)
        told = asyncio.ensure_future(here.handlers.stream[health.WATCH](call, health_request("x.Y"), out))
        await asyncio.sleep(0)
        here.health.shut_down()
        await told
        assert [health_status(frame[5:]) for frame in out.frames] == [ServingStatus.SERVICE_UNKNOWN]
