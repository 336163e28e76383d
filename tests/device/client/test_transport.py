"""The Device API as a transport: its requests, its answers, and its errors."""

from __future__ import annotations

import asyncio
from typing import cast

import msgspec
import pytest
from msgspec.structs import replace

from pilotage.client.retries import Retries
from pilotage.device import codes
from pilotage.device.client.listerwatcher import NO_BOOKMARKS_SILENCE_SECONDS, DeviceListerWatcher
from pilotage.device.client.telemetry import TelemetryClient
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.telemetry import Telemetry
from pilotage.device.wire import telemetry as telemetry_messages
from pilotage.device.wire.generation import RESOURCE, Generation
from pilotage.device.wire.options import BOOKMARK_SECONDS, UNDERSTOOD
from pilotage.device.wire.server import decode_request, encode_event, encode_page, encode_response
from pilotage.errors import (
    BadRequest,
    Conflict,
    ConnectionLost,
    Forbidden,
    Gone,
    MethodNotSupported,
    NotAcceptable,
    NotFound,
    ServiceUnavailable,
    StatusDetails,
    Timeout,
    TooManyRequests,
)
from pilotage.grpc.rpc import Code, Reply, RPCError
from pilotage.meta import objects
from pilotage.rest import APIRequest, Form, ListOptions, Page, Verb, WatchEvent, WatchEventType
from pilotage.rest.request import DeleteOptions

from .fakes import GET, LIST, WATCH, ScriptedChannel, device_server, gpu

EMPTY = encode_page(Generation.V6, Page([], "7"))
ADDED = b'{"kind":"GPU","metadata":{"name":"gpu-0","resourceVersion":"8"},"spec":{"uuid":"GPU-1"}}'


def event(kind: str, body: bytes = ADDED) -> bytes:
    return encode_event(Generation.V6, WatchEvent(cast(WatchEventType, kind), body))


def raising(*errors: Exception) -> tuple[DeviceTransport, ScriptedChannel]:
    """A transport to a server that fails so often, then answers with an empty list."""
    left = list(errors)

    def answer(method: str, message: bytes) -> Reply:
        if left:
            raise left.pop(0)
        return Reply(EMPTY)

    channel = ScriptedChannel(answer)
    return DeviceTransport(channel), channel


async def test_get_list_and_watch_give_objects_with_their_kind_and_no_namespace() -> None:
    async with device_server(gpu("gpu-0"), gpu("gpu-1")) as server:
        transport = DeviceTransport(server)
        found = objects.read((await transport.call(GET)).body)
        assert (found["kind"], found["apiVersion"]) == ("GPU", "device.nvidia.com/v1alpha1")
        assert "namespace" not in found["metadata"]
        assert found["spec"] == {"uuid": "GPU-gpu-0"}
        page = await transport.list(LIST)
        assert [objects.header(item).name for item in page.items] == ["gpu-0", "gpu-1"]
        async with transport.watch(WATCH) as events:
            first = await anext(events)
            assert (first.type, objects.header(first.object).name) == ("ADDED", "gpu-0")


async def test_calls_have_a_timeout_and_lists_a_longer_one() -> None:
    async with device_server(gpu("gpu-0")) as server:
        transport = DeviceTransport(server)
        await transport.call(GET)
        await transport.list(LIST)
        assert [sent.timeout for sent in server.sent] == [5.0, 10.0]


async def test_every_call_carries_the_metadata_of_the_client() -> None:
    async with device_server(gpu("gpu-0")) as server:
        transport = DeviceTransport(server, metadata={"provider-id": "nvml"})
        await transport.call(GET)
        async with transport.watch(WATCH):
            pass
        await transport.heartbeat("nvml", ["gpu-0"])
        assert [sent.metadata.get("provider-id") for sent in server.sent] == ["nvml"] * 3
        assert server.sent[2].method == "/nvidia.device.v1alpha1.ProviderService/Heartbeat"


async def test_metadata_alone_is_given_where_it_is_asked_for() -> None:
    async with device_server(gpu("gpu-0", rack="a")) as server:
        transport = DeviceTransport(server)
        found = objects.read((await transport.call(replace(GET, form=Form.METADATA))).body)
        assert found["kind"] == "PartialObjectMetadata"
        assert "spec" not in found
        assert found["metadata"]["labels"] == {"rack": "a"}
        page = await transport.list(replace(LIST, form=Form.METADATA))
        assert objects.read(page.items[0])["kind"] == "PartialObjectMetadata"
        async with transport.watch(replace(WATCH, form=Form.METADATA)) as events:
            assert objects.read((await anext(events)).object)["kind"] == "PartialObjectMetadata"
        with pytest.raises(NotAcceptable, match="table"):
            await transport.list(replace(LIST, form=Form.TABLE))


async def test_a_deletion_returns_the_deleted_object() -> None:
    async with device_server(gpu("gpu-0")) as server:
        transport = DeviceTransport(server)
        uid = objects.header((await transport.call(GET)).body).uid
        body = (await transport.call(APIRequest(Verb.DELETE, RESOURCE, name="gpu-0"))).body
        assert msgspec.json.decode(body)["details"]["uid"] == uid
        with pytest.raises(NotFound):
            await transport.call(APIRequest(Verb.DELETE, RESOURCE, name="gpu-0"))


async def test_what_exists_is_known_without_asking() -> None:
    transport, channel = raising()
    (mapping,) = await transport.resources()
    assert str(mapping.gvk.kind) == "GPU"
    assert not mapping.namespaced
    assert channel.sent == []


# Errors


async def test_the_error_of_a_bare_not_found_names_the_object() -> None:
    transport, _ = raising(RPCError(Code.NOT_FOUND, 'gpu "gpu-0" not found'))
    with pytest.raises(NotFound) as raised:
        await transport.call(GET)
    assert raised.value.status.details == StatusDetails(name="gpu-0", group="device.nvidia.com", kind="gpus")


async def test_a_read_whose_connection_broke_is_made_again() -> None:
    transport, channel = raising(ConnectionLost("broke"))
    await transport.list(LIST)
    assert len(channel.sent) == 2


async def test_a_write_whose_connection_broke_is_not_made_again() -> None:
    transport, channel = raising(ConnectionLost("broke"))
    with pytest.raises(ConnectionLost):
        await transport.call(APIRequest(Verb.CREATE, RESOURCE, body=ADDED))
    assert len(channel.sent) == 1


@pytest.mark.virtual_time
async def test_a_deferred_call_is_retried_after_the_delay_of_the_server() -> None:
    later = codes.rpc_error(TooManyRequests("slow down", details=StatusDetails(retry_after_seconds=2)))
    transport, channel = raising(later, later)
    begun = asyncio.get_running_loop().time()
    await transport.list(LIST)
    assert len(channel.sent) == 3
    assert asyncio.get_running_loop().time() - begun >= 4


async def test_a_server_that_does_not_say_when_is_not_asked_again() -> None:
    transport, channel = raising(RPCError(Code.UNAVAILABLE, "not ready"))
    with pytest.raises(ServiceUnavailable):
        await transport.list(LIST)
    assert len(channel.sent) == 1


async def test_there_is_an_end_to_trying() -> None:
    transport = DeviceTransport(ScriptedChannel(_always_lost), retries=Retries(first=0.001, lost=3))
    with pytest.raises(ConnectionLost):
        await transport.list(LIST)


def _always_lost(method: str, message: bytes) -> Reply:
    raise ConnectionLost("broke")


# Watches


def watching(*messages: bytes | Exception, **metadata: str) -> DeviceTransport:
    answered = {key.replace("_", "-"): value for key, value in metadata.items()}
    return DeviceTransport(ScriptedChannel(None, [(messages, answered)]))


async def watched(transport: DeviceTransport, *, resource_version: str = "", label_selector: str = "") -> list[str]:
    options = ListOptions(resource_version=resource_version, label_selector=label_selector)
    request = replace(WATCH, options=options)
    async with transport.watch(request) as events:
        return [event.type async for event in events]


@pytest.mark.covers("D3")
async def test_the_order_of_events_is_kept_and_unknown_types_are_skipped() -> None:
    kinds = ["ADDED", "MODIFIED", "EXPLODED", "DELETED", "ADDED"]
    assert await watched(watching(*map(event, kinds))) == ["ADDED", "MODIFIED", "DELETED", "ADDED"]


@pytest.mark.covers("D3")
async def test_the_end_of_the_stream_ends_the_watch_quietly() -> None:
    assert await watched(watching(event("ADDED"))) == ["ADDED"]
    assert await watched(watching(event("ADDED"), RPCError(Code.CANCELLED, "bye"))) == ["ADDED"]


@pytest.mark.covers("D3")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (Code.OUT_OF_RANGE, Gone),
        (Code.RESOURCE_EXHAUSTED, Gone),
        (Code.INVALID_ARGUMENT, Gone),
        (Code.PERMISSION_DENIED, Forbidden),
        (Code.NOT_FOUND, NotFound),
        (Code.UNAVAILABLE, ServiceUnavailable),
    ],
)
async def test_a_stream_that_fails_raises_once_after_what_came_before(code: Code, error: type[Exception]) -> None:
    async with watching(event("ADDED"), RPCError(code, "because")).watch(WATCH) as events:
        assert (await anext(events)).type == "ADDED"
        with pytest.raises(error, match="because"):
            await anext(events)
        assert [one async for one in events] == []


async def test_a_status_that_came_along_wins_over_the_code() -> None:
    with pytest.raises(Conflict):
        await watched(watching(codes.rpc_error(Conflict("no"))))


@pytest.mark.covers("D3")
async def test_leaving_the_block_ends_the_stream_however_often() -> None:
    async with device_server(gpu("gpu-0")) as server:
        transport = DeviceTransport(server)
        for _ in range(3):
            async with transport.watch(WATCH) as events:
                await anext(events)
                assert server.streams == 1
            assert server.streams == 0


async def test_a_server_whose_lists_have_no_version_cannot_resume() -> None:
    """As NVIDIA's fake server of V2: its watch begins with everything, whatever is asked for."""
    page = encode_page(Generation.V2, Page([ADDED], ""))
    lines = [encode_event(Generation.V2, WatchEvent("ADDED", ADDED))]
    transport = DeviceTransport(ScriptedChannel(lambda *_: Reply(page), [(lines, {})]), Generation.V2)
    assert (await transport.list(LIST)).resource_version == ""
    with pytest.raises(Gone, match="no version"):
        await watched(transport, resource_version="8")
    assert await watched(transport) == ["ADDED"]


# Options that the wire has no field for


async def test_a_label_selector_is_sent_and_confirmed() -> None:
    async with device_server(gpu("gpu-0", rack="a"), gpu("gpu-1", rack="b")) as server:
        transport = DeviceTransport(server)
        page = await transport.list(replace(LIST, options=ListOptions(label_selector="rack=b")))
        assert [objects.header(item).name for item in page.items] == ["gpu-1"]
        async with transport.watch(replace(WATCH, options=ListOptions(label_selector="rack=b"))) as events:
            assert objects.header((await anext(events)).object).name == "gpu-1"


async def test_a_selector_that_a_server_does_not_know_is_an_error_not_all_gpus() -> None:
    async with device_server(gpu("gpu-0"), knows_options=False) as server:
        with pytest.raises(BadRequest, match="label-selector"):
            await DeviceTransport(server).list(replace(LIST, options=ListOptions(label_selector="rack=b")))
    with pytest.raises(BadRequest, match="label-selector"):
        await watched(watching(event("ADDED")), label_selector="rack=b")
    with pytest.raises(BadRequest, match="label-selector"):
        await watched(watching(event("ADDED"), other="metadata"), label_selector="rack=b")


@pytest.mark.parametrize("generation", [Generation.V6, Generation.V8])
@pytest.mark.parametrize("options", [ListOptions(field_selector="spec.uuid=b"), ListOptions(continue_token="t")])
async def test_a_field_selector_or_token_that_a_server_does_not_know_is_an_error(
    generation: Generation, options: ListOptions
) -> None:
    whole = encode_page(generation, Page([ADDED], "7"))
    transport = DeviceTransport(ScriptedChannel(lambda method, message: Reply(whole)), generation)
    with pytest.raises(BadRequest, match=r"does not support the option (field-selector|continue)"):
        await transport.list(replace(LIST, options=options))
    page = await transport.list(replace(LIST, options=ListOptions(limit=1)))  # a limit that is ignored loses nothing
    assert (len(page.items), page.continue_token) == (1, "")


@pytest.mark.parametrize("generation", [Generation.V1, Generation.V2, Generation.V3])
@pytest.mark.parametrize("verb", [Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE])
async def test_writes_in_a_read_only_generation_are_refused_before_they_are_sent(
    generation: Generation, verb: Verb
) -> None:
    channel = ScriptedChannel()
    with pytest.raises(MethodNotSupported, match="read-only"):
        await DeviceTransport(channel, generation).call(APIRequest(verb, RESOURCE, name="gpu-0", body=ADDED))
    assert channel.sent == []


async def test_a_write_to_a_read_only_server_is_reported_as_such() -> None:
    transport, _ = raising(RPCError(Code.UNIMPLEMENTED, "method CreateGpu not implemented"))
    with pytest.raises(MethodNotSupported, match="read-only"):
        await transport.call(APIRequest(Verb.CREATE, RESOURCE, body=ADDED))


async def test_silence_is_suspicious_only_where_bookmarks_were_promised() -> None:
    async with device_server() as server:
        source = DeviceListerWatcher(DeviceTransport(server))
        assert source.silence_seconds == NO_BOOKMARKS_SILENCE_SECONDS
        await source.list(ListOptions())
        assert source.silence_seconds == 10.0
    async with device_server(knows_options=False) as server:
        source = DeviceListerWatcher(DeviceTransport(server))
        await source.list(ListOptions())
        assert source.silence_seconds == NO_BOOKMARKS_SILENCE_SECONDS


async def test_a_server_without_telemetry_is_named_as_such() -> None:
    transport, _ = raising(
        *[RPCError(Code.UNIMPLEMENTED, "unknown service pilotage.device.v1alpha1.TelemetryService")] * 2
    )
    telemetry = TelemetryClient(transport)
    for call in (lambda: telemetry.get("gpu-1"), telemetry.list):
        with pytest.raises(MethodNotSupported, match="NVIDIA's servers do not have"):
            await call()


async def test_a_reading_whose_connection_broke_is_asked_for_again() -> None:
    answer = telemetry_messages.encode_got(Telemetry("gpu-1", temperature_celsius=31))
    answers: list[Reply | Exception] = [ConnectionLost("broke"), Reply(answer)]

    def say(method: str, message: bytes) -> Reply:
        if isinstance(found := answers.pop(0), Exception):
            raise found
        return found

    transport = DeviceTransport(ScriptedChannel(say), retries=Retries(first=0.001))
    assert (await TelemetryClient(transport).get("gpu-1")).temperature_celsius == 31


async def test_a_server_of_v8_that_promises_no_bookmarks_may_be_silent() -> None:
    """NVIDIA's sends none."""
    async with device_server(generation=Generation.V8, knows_options=False) as server:
        source = DeviceListerWatcher(DeviceTransport(server, Generation.V8))
        await source.list(ListOptions())
        assert source.silence_seconds == NO_BOOKMARKS_SILENCE_SECONDS


@pytest.mark.parametrize(("promised", "seconds"), [("3", 10.0), ("20", 60.0), ("soon", NO_BOOKMARKS_SILENCE_SECONDS)])
async def test_how_long_a_watch_may_be_silent_follows_from_the_promised_rhythm(promised: str, seconds: float) -> None:
    page = encode_page(Generation.V6, Page([ADDED], "7"))
    transport = DeviceTransport(ScriptedChannel(lambda *_: Reply(page, {BOOKMARK_SECONDS: promised})))
    source = DeviceListerWatcher(transport)
    await source.list(ListOptions())
    assert source.silence_seconds == seconds


# After a lost connection


@pytest.mark.parametrize(
    ("known", "storage", "resumes"),
    [(True, "storage-1", True), (True, "storage-2", False), (False, "storage-1", False)],
)
async def test_a_watch_is_resumed_on_another_connection_only_where_the_versions_are_the_same(
    known: bool, storage: str, resumes: bool
) -> None:
    async with device_server(gpu("gpu-0"), knows_options=known) as server:
        source = DeviceListerWatcher(DeviceTransport(server))
        version = (await source.list(ListOptions())).resource_version
        async with source.watch(ListOptions(resource_version=version)):
            pass
        server.break_streams()
        server.announces(storage=storage)
        if resumes:
            async with source.watch(ListOptions(resource_version=version)):
                return
        with pytest.raises(Gone, match="list again"):
            async with source.watch(ListOptions(resource_version=version)):
                pass
        assert server.streams == 0
        version = (await source.list(ListOptions(resource_version=version))).resource_version
        async with source.watch(ListOptions(resource_version=version)):
            pass


async def test_a_list_of_another_caller_does_not_make_an_old_version_valid_again() -> None:
    async with device_server(gpu("gpu-0"), knows_options=False) as server:
        transport = DeviceTransport(server)
        source = DeviceListerWatcher(transport)
        version = (await source.list(ListOptions())).resource_version
        server.break_streams()
        await DeviceListerWatcher(transport).list(ListOptions())
        with pytest.raises(Gone, match="list again"):
            async with source.watch(ListOptions(resource_version=version)):
                pass


async def test_a_list_after_a_lost_connection_asks_a_foreign_server_for_its_newest_state() -> None:
    pages = [encode_page(Generation.V6, Page([ADDED], version)) for version in ("900", "9")]
    asked = []

    def answer(method: str, message: bytes) -> Reply:
        asked.append(decode_request(Generation.V6, method, message).options.resource_version)
        return Reply(pages[len(asked) - 1])

    source = DeviceListerWatcher(DeviceTransport(ScriptedChannel(answer)))
    assert (await source.list(ListOptions(resource_version="0"))).resource_version == "900"
    assert (await source.list(ListOptions(resource_version="900"))).resource_version == "9"
    assert asked == ["0", ""]


# Options that a server may ignore


@pytest.mark.parametrize("condition", [DeleteOptions(uid="another"), DeleteOptions(resource_version="1")])
async def test_nothing_is_deleted_on_a_condition_that_the_server_would_ignore(condition: DeleteOptions) -> None:
    request = APIRequest(Verb.DELETE, RESOURCE, name="gpu-0", delete=condition)
    async with device_server(gpu("gpu-0"), knows_options=False) as server:
        with pytest.raises(BadRequest, match=r"not deleted: .* V5 and V6 ignore (uid|resource_version) and delete"):
            await DeviceTransport(server).call(request)
        assert "DeleteGpu" not in server.methods
        await DeviceTransport(server).call(replace(request, delete=DeleteOptions()))
    async with device_server(gpu("gpu-0")) as server:
        with pytest.raises(Conflict):
            await DeviceTransport(server).call(request)
    async with device_server(gpu("gpu-0"), generation=Generation.V8, knows_options=False) as server:
        with pytest.raises(Conflict):
            await DeviceTransport(server, Generation.V8).call(request)


@pytest.mark.parametrize(
    ("asked", "match", "given", "error"),
    [
        ("7", "", "9", None),
        ("7", "Exact", "7", None),
        ("7", "Exact", "9", BadRequest),
        ("9", "", "7", Timeout),
        ("9", "NotOlderThan", "7", Timeout),
        ("7", "", "", BadRequest),
        ("0", "", "", None),
        ("", "", "", None),
    ],
)
async def test_a_list_of_another_version_than_was_asked_for_is_an_error(
    asked: str, match: str, given: str, error: type[Exception] | None
) -> None:
    page = encode_page(Generation.V6, Page([ADDED], given))
    transport = DeviceTransport(ScriptedChannel(lambda *_: Reply(page)))
    options = ListOptions(resource_version=asked, resource_version_match=match)
    if error is None:
        await transport.list(replace(LIST, options=options))
        return
    with pytest.raises(error):
        await transport.list(replace(LIST, options=options))


@pytest.mark.parametrize(("asked", "confirmed"), [("8", True), ("9", False), ("0", True)])
async def test_a_get_that_is_not_known_to_be_new_enough_is_an_error(asked: str, confirmed: bool) -> None:
    answer = encode_response(Generation.V6, "GetGpu", ADDED)
    request = replace(GET, options=ListOptions(resource_version=asked))
    transport = DeviceTransport(ScriptedChannel(lambda *_: Reply(answer)))
    if confirmed:
        await transport.call(request)
    else:
        with pytest.raises(BadRequest, match="did not confirm resource_version=9"):
            await transport.call(request)
    ours = DeviceTransport(ScriptedChannel(lambda *_: Reply(answer, {UNDERSTOOD: "resource-version"})))
    await ours.call(request)


@pytest.mark.parametrize("initial", [True, False])
async def test_initial_events_that_a_server_does_not_know_are_an_error(initial: bool) -> None:
    asked = replace(WATCH, options=ListOptions(send_initial_events=initial))
    with pytest.raises(BadRequest, match="send-initial-events"):
        async with watching(event("ADDED"), other="metadata").watch(asked):
            pass


async def test_labels_that_were_not_stored_are_a_warning() -> None:
    stored = encode_response(Generation.V6, "CreateGpu", ADDED)
    body = msgspec.json.encode(msgspec.json.decode(ADDED) | {"metadata": {"name": "gpu-0", "labels": {"a": "b"}}})
    transport = DeviceTransport(ScriptedChannel(lambda *_: Reply(stored)))
    response = await transport.call(APIRequest(Verb.CREATE, RESOURCE, body=body))
    assert response.warnings == (
        "the Device API server did not store labels: servers of V5 and V6 have no fields for them",
    )
    plain = await transport.call(APIRequest(Verb.CREATE, RESOURCE, body=ADDED))
    assert plain.warnings == ()


@pytest.mark.virtual_time
async def test_a_watch_ends_after_its_timeout_though_the_server_does_not_know_it() -> None:
    loop = asyncio.get_running_loop()
    async with device_server(gpu("gpu-0"), knows_options=False) as server:
        server.deaf_to_timeouts = True
        began = loop.time()
        asked = replace(WATCH, options=ListOptions(timeout_seconds=5))
        async with DeviceTransport(server).watch(asked) as events:
            assert [one.type async for one in events] == ["ADDED"]
        assert loop.time() - began == pytest.approx(5, abs=0.1)
        assert server.streams == 0
