"""Points 5 to 10 of the conformance checklist, each in this process and over a real Unix socket."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from pilotage.device.server.deviceserver import DeviceServer
from pilotage.device.wire.generation import method_path
from pilotage.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    DecodeError,
    Gone,
    Invalid,
    NotFound,
    RequestTooLarge,
    ServiceUnavailable,
    Timeout,
    UnsupportedMediaType,
)
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.rpc import Code, RPCError
from pilotage.rest import PatchType
from pilotage.server.verbs import read
from pilotage.server.verbs.watch import END_OF_INITIAL_EVENTS
from tests.environments import Opening

from .fakes import Node, condition, gpu, in_process, over_socket, server_options, status

Open = Callable[[Path], AbstractAsyncContextManager[Node]]


@pytest.fixture(params=[in_process, over_socket], ids=["in process", "over a socket"])
def node(request: pytest.FixtureRequest, folder: Path) -> Opening:
    return Opening(lambda: request.param(folder))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a socket's has room for 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="device") as name:
        yield Path(name)


@pytest.mark.covers("D5")
async def test_5_create_fills_in_what_is_the_servers(node: Node) -> None:
    api = node.api()
    created = await api.create(gpu("GPU-5F3C", status=status(condition())))
    metadata = created["metadata"]
    assert metadata["name"] == "GPU-5F3C"
    assert metadata["generation"] == 1
    assert metadata["uid"]
    assert metadata["creationTimestamp"]
    assert int(metadata["resourceVersion"]) > 0
    assert "namespace" not in metadata
    assert created["status"]["conditions"][0]["lastTransitionTime"]
    with pytest.raises(AlreadyExists):
        await api.create(gpu("GPU-5F3C"))


@pytest.mark.covers("D5")
async def test_5_generation_counts_specs_alone_and_what_is_the_servers_never_changes(node: Node) -> None:
    api = node.api()
    created = await api.create(gpu())
    kept = {key: created["metadata"][key] for key in ("uid", "creationTimestamp")}
    labelled = await api.update(gpu(metadata={"labels": {"a": "b"}, "creationTimestamp": "2001-01-01T00:00:00Z"}))
    assert labelled["metadata"]["labels"] == {"a": "b"}
    assert labelled["metadata"]["generation"] == 1
    changed = await api.update(gpu(spec={"uuid": "GPU-other"}))
    assert changed["metadata"]["generation"] == 2
    stated = await api.set_status("gpu-0", condition())
    assert stated["metadata"]["generation"] == 2
    patched = await api.patch("gpu-0", {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}})
    for document in (labelled, changed, stated, patched):
        assert {key: document["metadata"][key] for key in kept} == kept
    other = gpu(metadata={"uid": "other"}, status=status(condition()))
    for write in (api.update(other), api.update_status(other)):
        with pytest.raises(Invalid, match=r'metadata\.uid: Invalid value: "other": field is immutable'):
            await write
    with pytest.raises(Invalid, match="field is immutable"):
        await api.patch("gpu-0", {"metadata": {"uid": "other"}})


@pytest.mark.covers("D6")
async def test_6_a_stale_write_is_a_conflict_and_versions_grow(node: Node) -> None:
    api = node.api()
    old = await api.create(gpu())
    versions = [old["metadata"]["resourceVersion"]]
    for write in (
        api.update(old | {"spec": {"uuid": "GPU-1"}}),
        api.set_status("gpu-0", condition()),
        api.patch("gpu-0", {"spec": {"uuid": "GPU-2"}}),
        api.patch("gpu-0", {"status": {"recommendedAction": "RESTART_BM"}}, subresource="status"),
    ):
        versions.append((await write)["metadata"]["resourceVersion"])
    assert [int(version) for version in versions] == sorted({int(version) for version in versions})
    for stale in (api.update(old), api.update_status(old | {"status": status(condition(status="False"))})):
        with pytest.raises(Conflict):
            await stale
    with pytest.raises(Conflict):
        await api.patch("gpu-0", {"metadata": {"resourceVersion": versions[0]}, "spec": {"uuid": "GPU-3"}})


@pytest.mark.covers("D6")
async def test_6_spec_and_status_are_written_apart(node: Node) -> None:
    api = node.api()
    await api.create(gpu(status=status(condition())))
    updated = await api.update(gpu(spec={"uuid": "GPU-1"}, status=status(condition(status="False"))))
    assert updated["status"]["conditions"][0]["status"] == "True"
    stated = await api.update_status(gpu(spec={"uuid": "GPU-2"}, status=status(condition(status="False"))))
    assert (stated["spec"]["uuid"], stated["status"]["conditions"][0]["status"]) == ("GPU-1", "False")
    both = {"spec": {"uuid": "GPU-3"}, "status": {"recommendedAction": "RESTART_VM"}}
    patched = await api.patch("gpu-0", both, subresource="status")
    assert (patched["spec"]["uuid"], patched["status"]["recommendedAction"]) == ("GPU-1", "RESTART_VM")
    patched = await api.patch("gpu-0", {"spec": {"uuid": "GPU-4"}, "status": {"recommendedAction": "RESTART_BM"}})
    assert (patched["spec"]["uuid"], patched["status"]["recommendedAction"]) == ("GPU-4", "RESTART_VM")


@pytest.mark.covers("D6")
async def test_6_what_changes_nothing_is_not_written(node: Node) -> None:
    api = node.api()
    created = await api.create(gpu(status=status(condition())))
    version = created["metadata"]["resourceVersion"]
    assert (await api.update(gpu()))["metadata"]["resourceVersion"] == version
    assert (await api.set_status("gpu-0", condition()))["metadata"]["resourceVersion"] == version
    assert (await api.patch("gpu-0", {"spec": {}}))["metadata"]["resourceVersion"] == version


@pytest.mark.covers("D7")
async def test_7_get_with_an_old_version_gives_the_newest_and_a_future_one_fails(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "WAIT_SECONDS", 0.01)
    api = node.api()
    created = await api.create(gpu())
    await api.set_status("gpu-0", condition())
    for version in ("", "0", created["metadata"]["resourceVersion"]):
        assert (await api.get(version=version))["status"]["conditions"]
    with pytest.raises((Timeout, ServiceUnavailable)):
        await api.get(version=str(2**60))
    with pytest.raises(BadRequest):
        await api.get(version="seven")


@pytest.mark.covers("D7")
async def test_7_lists_are_live_not_older_than_or_exactly_at_a_version(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "WAIT_SECONDS", 0.01)
    api = node.api()
    await api.create(gpu("gpu-0"))
    _, version = await api.list()
    await api.create(gpu("gpu-1"))
    assert await api.names() == ["gpu-0", "gpu-1"]
    assert await api.names(resource_version="0") == ["gpu-0", "gpu-1"]
    assert await api.names(resource_version=version, resource_version_match="NotOlderThan") == ["gpu-0", "gpu-1"]
    assert await api.names(resource_version=version, resource_version_match="Exact") == ["gpu-0"]
    with pytest.raises((Timeout, ServiceUnavailable)):
        await api.list(resource_version=str(2**60), resource_version_match="NotOlderThan")
    with pytest.raises((BadRequest, Invalid)):
        await api.list(resource_version=version, resource_version_match="Roughly")


@pytest.mark.covers("D8")
async def test_8_a_watch_from_a_version_gets_every_later_change_in_order(node: Node) -> None:
    api = node.api()
    await api.create(gpu("gpu-0"))
    _, version = await api.list()
    await api.create(gpu("gpu-1"))  # between list and watch
    async with api.watch(resource_version=version) as events:
        await api.set_status("gpu-0", condition())
        await api.delete("gpu-1")
        seen = [await anext(events) for _ in range(3)]
    assert [(kind, document["metadata"]["name"]) for kind, document in seen] == [
        ("ADDED", "gpu-1"),
        ("MODIFIED", "gpu-0"),
        ("DELETED", "gpu-1"),
    ]
    versions = [int(document["metadata"]["resourceVersion"]) for _, document in seen]
    assert versions == sorted(set(versions))
    assert versions[0] > int(version)


@pytest.mark.parametrize("version", ["", "0"])
@pytest.mark.covers("D8")
async def test_8_a_watch_from_nothing_begins_with_all_there_is(node: Node, version: str) -> None:
    api = node.api()
    for name in ("gpu-0", "gpu-1"):
        await api.create(gpu(name))
    async with api.watch(resource_version=version) as events:
        await api.delete("gpu-0")
        seen = [await anext(events) for _ in range(3)]
    assert [kind for kind, _ in seen] == ["ADDED", "ADDED", "DELETED"]


@pytest.mark.covers("D8")
async def test_8_a_forgotten_version_is_gone_and_so_is_one_from_another_life(node: Node) -> None:
    api = node.api()
    created = await api.create(gpu())
    storage = node.registry.context.storage
    await api.delete()
    await storage.compact(storage.revision)
    for version in (int(created["metadata"]["resourceVersion"]) - 1000, storage.revision + 1000):
        assert await _refusal(node, str(version)) == 410


async def _refusal(node: Node, version: str) -> int:
    """The code with which a watch ends: raised, or as an event."""
    try:
        async with node.api().watch(resource_version=version) as events:
            kind, found = await anext(events)
    except Gone as error:
        return error.status.code
    assert kind == "ERROR"
    return int(found["code"])


@pytest.mark.covers("D8")
async def test_8_initial_events_end_with_a_bookmark_that_holds_nothing_else(node: Node) -> None:
    api = node.api()
    await api.create(gpu())
    options = {"send_initial_events": True, "resource_version_match": "NotOlderThan", "allow_watch_bookmarks": True}
    async with api.watch(**options) as events:
        assert (await anext(events))[0] == "ADDED"
        kind, bookmark = await anext(events)
    _, version = await api.list()
    assert kind == "BOOKMARK"
    assert bookmark["metadata"]["annotations"][END_OF_INITIAL_EVENTS] == "true"
    assert bookmark["metadata"]["resourceVersion"] == version
    assert set(bookmark) <= {"apiVersion", "kind", "metadata", "spec", "status"}
    assert not any(bookmark.get("spec", {}).values())
    assert not any(bookmark.get("status", {}).values())


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=gold", ["gpu-0"]),
        ("tier!=gold", ["gpu-1", "gpu-2"]),
        ("tier in (gold, tin)", ["gpu-0", "gpu-1"]),
        ("tier,tier notin (tin)", ["gpu-0"]),
        ("!tier", ["gpu-2"]),
    ],
)
@pytest.mark.covers("D8")
async def test_8_labels_choose(node: Node, selector: str, names: list[str]) -> None:
    api = node.api()
    for name, labels in (("gpu-0", {"tier": "gold"}), ("gpu-1", {"tier": "tin"}), ("gpu-2", {})):
        await api.create(gpu(name, metadata={"labels": labels}))
    assert await api.names(label_selector=selector) == names
    async with api.watch(label_selector=selector) as events:
        assert [(await anext(events))[1]["metadata"]["name"] for _ in names] == names


@pytest.mark.covers("D8")
async def test_8_what_enters_a_selection_is_added_and_what_leaves_it_is_deleted(node: Node) -> None:
    api = node.api()
    await api.create(gpu())
    _, version = await api.list()
    async with api.watch(label_selector="tier=gold", resource_version=version) as events:
        for labels in ({"tier": "gold"}, {"tier": "gold", "rack": "7"}, {"tier": "tin"}):
            await api.update(gpu(metadata={"labels": labels}))
        assert [(await anext(events))[0] for _ in range(3)] == ["ADDED", "MODIFIED", "DELETED"]


@pytest.mark.covers("D8")
async def test_8_a_bad_selector_is_a_bad_request(node: Node) -> None:
    api = node.api()
    with pytest.raises(BadRequest):
        await api.list(label_selector="tier=(")
    with pytest.raises((BadRequest, Gone)):
        async with api.watch(label_selector="tier=(") as events:
            await anext(events)


@pytest.mark.covers("D8")
async def test_8_a_watch_ends_well_after_its_time_and_can_go_on_where_it_was(node: Node) -> None:
    api = node.api()
    created = await api.create(gpu())
    async with api.watch(resource_version=created["metadata"]["resourceVersion"], timeout_seconds=1) as events:
        assert [event async for event in events] == []
    await api.set_status("gpu-0", condition())
    async with api.watch(resource_version=created["metadata"]["resourceVersion"]) as events:
        assert (await anext(events))[0] == "MODIFIED"


@pytest.mark.covers("D9")
async def test_9_delete_holds_to_its_preconditions(node: Node) -> None:
    api = node.api()
    created = await api.create(gpu())
    with pytest.raises(Conflict):
        await api.delete(uid="another")
    with pytest.raises(Conflict):
        await api.delete(resource_version="1")
    await api.delete(uid=created["metadata"]["uid"], resource_version=created["metadata"]["resourceVersion"])
    with pytest.raises(NotFound):
        await api.get()
    with pytest.raises(NotFound):
        await api.delete()


@pytest.mark.covers("D9")
async def test_9_json_merge_and_strategic_patches_are_taken_and_apply_is_not(node: Node) -> None:
    api = node.api()
    await api.create(gpu(status=status(condition("Ready"), condition("Degraded", "False"))))
    replaced = await api.patch("gpu-0", [{"op": "replace", "path": "/spec/uuid", "value": "GPU-1"}], PatchType.JSON)
    assert replaced["spec"]["uuid"] == "GPU-1"
    merged = await api.patch("gpu-0", {"metadata": {"labels": {"a": "b"}}}, PatchType.MERGE)
    assert merged["metadata"]["labels"] == {"a": "b"}
    one = {"status": {"conditions": [condition("Degraded", "True")]}}
    strategic = await api.patch("gpu-0", one, PatchType.STRATEGIC, "status")
    assert {found["type"]: found["status"] for found in strategic["status"]["conditions"]} == {
        "Ready": "True",
        "Degraded": "True",
    }
    with pytest.raises(UnsupportedMediaType):
        await api.patch("gpu-0", {}, PatchType.APPLY)
    for bad in ([{"op": "test", "path": "/spec/uuid", "value": "x"}], [{"op": "fly", "path": "/"}]):
        with pytest.raises(Invalid):
            await api.patch("gpu-0", bad, PatchType.JSON)
    with pytest.raises(BadRequest):
        await api.patch("gpu-0", [], PatchType.MERGE)


@pytest.mark.parametrize("name", ["", ".", "..", "../etc/passwd", "a/b", "a%2Fb", "x" * 254, "a b", "a\n"])
@pytest.mark.covers("D10")
async def test_10_names_that_are_no_part_of_a_path_are_refused(node: Node, name: str) -> None:
    api = node.api()
    for bad in (api.create(gpu(name)), api.get(name), api.delete(name)):
        with pytest.raises((BadRequest, Invalid)):
            await bad


@pytest.mark.parametrize("name", ["gpu-0", "GPU-8C91A0E2-0000-1111-2222-333344445555", "0000:3b:00.0", "MIG_1.2"])
@pytest.mark.covers("D10")
async def test_10_any_other_name_will_do_just_as_it_stands(node: Node, name: str) -> None:
    api = node.api()
    await api.create(gpu(name))
    assert (await api.get(name))["metadata"]["name"] == name
    assert await api.names() == [name]


@pytest.mark.covers("D10")
async def test_10_bodies_without_what_they_need_are_refused(node: Node) -> None:
    api = node.api()
    bodies: tuple[Any, ...] = (None, {}, {"metadata": {}}, [])
    for body in bodies:
        with pytest.raises((ApiError, DecodeError)):
            await api.create(body)
    twice = status(condition(), condition())
    for document in (gpu(status=twice), gpu(status=status(condition(status="Maybe")))):
        with pytest.raises((BadRequest, Invalid)):
            await api.create(document)


@pytest.mark.covers("D10")
async def test_10_nothing_grows_beyond_its_bounds(node: Node) -> None:
    api = node.api()
    for document in (
        gpu(metadata={"labels": {f"l{number}": "" for number in range(65)}}),
        gpu(status=status(*(condition(f"C{number}") for number in range(33)))),
    ):
        with pytest.raises(Invalid):
            await api.create(document)
    with pytest.raises((RequestTooLarge, Invalid)):
        await api.create(gpu(metadata={"annotations": {"a": "x" * 70_000}}))
    await api.create(gpu(status=status(*(condition(f"C{number}") for number in range(20)))))
    with pytest.raises(Invalid):
        await node.api("dcgm").set_status("gpu-0", *(condition(f"D{number}") for number in range(13)))


@pytest.mark.covers("D10")
async def test_10_hand_made_requests_without_object_metadata_or_a_sane_namespace_are_refused(folder: Path) -> None:
    async with DeviceServer(server_options(folder)) as server:
        channel = GRPCChannel(server.target)
        cases = {
            "CreateGpu": [b"", b"\x0a\x00", b"\x0a\x02\x0a\x00"],  # no gpu, no metadata, no name
            "UpdateGpu": [b"", b"\x0a\x00"],
            "UpdateGpuStatus": [b"", b"\x0a\x07\x0a\x05\x0a\x03gpu"],  # no status
            "GetGpu": [b"", b"\x0a\x02..", b"\x0a\x01a\x12\x80\x02" + b"n" * 256],  # a namespace over 253
            "DeleteGpu": [b"", b"\x0a\x04../x"],
            "PatchGpu": [b""],
            "ListGpus": [b"\x0a\x80\x02" + b"n" * 256, b"\xff\xff\xff"],
        }
        try:
            for method, messages in cases.items():
                for message in messages:
                    with pytest.raises(RPCError) as raised:
                        await channel.unary(method_path(method), message)
                    assert raised.value.code is Code.INVALID_ARGUMENT, (method, message)
        finally:
            await channel.close()


@pytest.mark.covers("D10")
async def test_10_a_watcher_that_does_not_read_never_blocks_writers_and_gets_an_error(folder: Path) -> None:
    async with over_socket(folder) as node:
        api = node.api()
        await api.create(gpu())
        reader, writer = await asyncio.open_unix_connection(str(folder / "device.sock"))
        try:
            writer.write(_WATCH_WITHOUT_WINDOW)
            await writer.drain()
            watch_cache = node.server.watch_cache
            while not watch_cache.subscribers:
                await api.get()
            for number in range(300):
                await api.set_status("gpu-0", condition(status="True" if number % 2 else "False"))
            answer = b""
            async with asyncio.timeout(60):
                while _OUT_OF_RANGE not in answer:
                    answer += await reader.read(65536)
            assert watch_cache.subscribers == 0
        finally:
            writer.close()
            await writer.wait_closed()


_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_NO_WINDOW = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"  # SETTINGS: initial window 0
_OUT_OF_RANGE = b"grpc-status\x0211"


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


_BLOCK = b"".join(
    _literal(name, value)
    for name, value in (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", method_path("WatchGpus").encode()),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )
)
_HEADERS = len(_BLOCK).to_bytes(3, "big") + b"\x01\x04\x00\x00\x00\x01" + _BLOCK
_DATA = b"\x00\x00\x05\x00\x01\x00\x00\x00\x01" + b"\x00" * 5
_WATCH_WITHOUT_WINDOW = _PREFACE + _NO_WINDOW + _HEADERS + _DATA
