"""What NVIDIA's servers and clients do that a Kubernetes program does not expect, by Go programs that do the same.

Servers count from the beginning after a restart, ignore conditions, refuse every watch, crash without options, and send
no bookmarks; clients recognise errors by their messages only."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from hack.device.running import device_server
from pilotage import device
from pilotage.cache.event import InformerEvent
from pilotage.device.client.listerwatcher import NO_BOOKMARKS_SILENCE_SECONDS
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import BadRequest, Conflict, Gone, Invalid, NotFound, PilotageError, UnsupportedMediaType
from pilotage.grpc.rpc import Peer

from ..grpc.ground import UNLIMITED, served
from .followers import following
from .programs import WITHIN, Program, binaries, running, said, serving

pytestmark = pytest.mark.go

NAMES = [f"gpu-{number}" for number in range(8)]


@pytest.fixture(scope="session")
def programs() -> Path:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def target(tmp_path: Path) -> str:
    return f"unix://{tmp_path}/go.sock"


class Restarting:
    """A Go server that can be replaced by a new one at the same socket."""

    def __init__(self, program: Path, target: str) -> None:
        self._program = program
        self._target = target
        self._next = asyncio.Event()
        self._up: asyncio.Queue[Program] = asyncio.Queue()

    async def run(self) -> None:
        while True:
            with suppress(FileNotFoundError):
                os.unlink(self._target.removeprefix("unix://"))
            async with serving(self._program, self._target) as server:
                self._up.put_nowait(server)
                await self._next.wait()
                self._next.clear()

    async def up(self) -> Program:
        async with asyncio.timeout(WITHIN):
            return await self._up.get()

    async def restarted(self) -> Program:
        self._next.set()
        return await self.up()


@asynccontextmanager
async def restarting(program: Path, target: str) -> AsyncIterator[tuple[Restarting, Program]]:
    server = Restarting(program, target)
    task = asyncio.create_task(server.run())
    try:
        yield server, await server.up()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# Servers that count from the beginning


async def test_our_informer_is_right_after_a_restart_of_a_server_that_counts_from_the_beginning(
    programs: Path, target: str
) -> None:
    """The new run is at a higher version than the old one was: a watch from the old version would send the last change
    only."""
    async with (
        restarting(programs / "v6", target) as (server, first),
        device.connect(target) as devices,
        following(devices.v1alpha1.gpus) as (follower,),
    ):
        await first.command("toggle gpu-0")
        await first.command("toggle gpu-1")
        await follower.until(lambda: follower.ready("gpu-1") == "False")
        second = await server.restarted()
        for command in ("toggle gpu-2", "delete gpu-3", "toggle gpu-4"):
            await second.command(command)
        await follower.until(lambda: follower.ready("gpu-4") == "False")
        await follower.until(lambda: "gpu-3" not in follower.state())
        assert [follower.ready(name) for name in ("gpu-0", "gpu-1", "gpu-2")] == ["True", "True", "False"]


@pytest.mark.parametrize(("generation", "wire"), [("v2", "v2"), ("v2", "v6"), ("v3", "v3"), ("v3", "v6")])
async def test_other_gpus_with_equal_versions_are_changes(
    programs: Path, target: str, generation: str, wire: str
) -> None:
    """After every start the fakes have other UUIDs, at the version 1."""
    changed: set[str] = set()

    def heard(event: InformerEvent[GPU]) -> None:
        if event.type == "update":
            changed.add(event.name)

    async with (
        restarting(programs / generation, target) as (server, first),
        device.connect(target, wire=wire) as devices,
        following(devices.v1alpha1.gpus) as (follower,),
    ):
        await first.command("toggle gpu-0")
        await follower.until(lambda: follower.ready("gpu-0") == "False")
        before = {gpu.metadata.name: gpu.spec.uuid for gpu in follower.informer.list()}
        follower.informer.add_event_handler(heard)
        await server.restarted()
        await follower.until(lambda: changed == set(NAMES))
        after = {gpu.metadata.name: gpu.spec.uuid for gpu in follower.informer.list()}
        assert all(before[name] != after[name] for name in NAMES)
        assert after == {gpu.metadata.name: gpu.spec.uuid for gpu in await devices.v1alpha1.gpus.list()}


# Servers that ignore options


@pytest.mark.parametrize("condition", [{"uid": "another"}, {"resource_version": "999"}])
async def test_no_gpu_is_deleted_on_a_condition_that_their_server_ignores(
    programs: Path, target: str, condition: dict[str, str]
) -> None:
    async with serving(programs / "v6", target), device.connect(target) as devices:
        gpus = devices.v1alpha1.gpus
        with pytest.raises(BadRequest, match=r"not deleted: .* V5 and V6 ignore"):
            await gpus.delete("gpu-0", **condition)
        assert (await gpus.get("gpu-0")).metadata.name == "gpu-0"
        await gpus.delete("gpu-0")
        with pytest.raises(NotFound):
            await gpus.get("gpu-0")


async def test_their_server_of_the_eighth_generation_honours_conditions_of_a_delete(
    programs: Path, target: str
) -> None:
    async with serving(programs / "v8", target), device.connect(target, wire="v8") as devices:
        gpus = devices.v1alpha1.gpus
        found = await gpus.get("gpu-0")
        for condition in ({"uid": "another"}, {"resource_version": "999"}):
            with pytest.raises(Conflict):
                await gpus.delete("gpu-0", **condition)
        await gpus.delete("gpu-0", uid=found.metadata.uid, resource_version=found.metadata.resource_version)
        with pytest.raises(NotFound):
            await gpus.get("gpu-0")


async def test_a_list_of_an_exact_version_that_their_server_ignores_is_an_error(programs: Path, target: str) -> None:
    async with serving(programs / "v6", target) as server, device.connect(target) as devices:
        gpus = devices.v1alpha1.gpus
        version = (await gpus.list()).resource_version
        await server.command("toggle gpu-0")
        with pytest.raises(BadRequest, match="ignored resource_version_match=Exact"):
            await gpus.list(resource_version=version, resource_version_match="Exact")


@pytest.mark.parametrize("wire", ["v3", "v6"])
async def test_our_requests_do_not_crash_their_fake_of_the_third_generation(
    programs: Path, target: str, wire: str
) -> None:
    async with serving(programs / "v3", target) as server, device.connect(target, wire=wire) as devices:
        gpus = devices.v1alpha1.gpus
        listed = await gpus.list()
        assert listed.names == NAMES
        assert (await gpus.get("gpu-2")).spec.uuid == listed[2].spec.uuid
        async with asyncio.timeout(WITHIN), gpus.watch() as events:
            assert [(await anext(events)).type for _ in NAMES] == ["ADDED"] * 8
            await server.command("toggle gpu-4")
            assert (await anext(events)).type == "MODIFIED"
        async with gpus.watch(resource_version=listed.resource_version):
            pass
        assert len(await gpus.list()) == 8


# Servers whose watches are of no use


@pytest.mark.parametrize(("generation", "command"), [("v6", "toggle gpu-1"), ("v8", "uuid gpu-1 GPU-new")])
async def test_our_informer_lists_where_every_watch_is_refused(
    programs: Path, target: str, generation: str, command: str
) -> None:
    async with serving(programs / generation, target) as server, device.connect(target, wire=generation) as devices:
        if generation == "v6":
            await server.command("forget")
        with pytest.raises(Gone):
            async with devices.v1alpha1.gpus.watch(resource_version="8"):
                pass
        async with following(devices.v1alpha1.gpus) as (follower,):
            assert sorted(follower.state()) == NAMES
            before = follower.state()["gpu-1"]
            await server.command(command)
            await follower.until(lambda: follower.state()["gpu-1"] != before, within=WITHIN)


async def test_their_server_of_the_eighth_generation_may_be_silent_since_it_promises_no_bookmarks(
    programs: Path, target: str
) -> None:
    async with serving(programs / "v8", target), device.connect(target, wire="v8") as devices:
        source = devices.v1alpha1.gpus.lister_watcher()
        await devices.v1alpha1.gpus.list()
        assert source.silence_seconds == NO_BOOKMARKS_SILENCE_SECONDS


# Clients


@pytest.mark.parametrize("generation", ["v2", "v3", "v6"])
async def test_their_list_at_a_version_from_before_our_versions_fell_is_answered(
    programs: Path, tmp_path: Path, generation: str
) -> None:
    with device_server(tmp_path, "--provider", "fake", "--period", "0", "--log-level", "warning") as ours:
        listed = await said(programs / generation, ours.target, "list", "9" * 18)
        assert len(listed["items"]) == 8
        async with running(programs / generation, ours.target, "watch", listed["version"]) as watch:
            async with device.connect(ours.target) as devices:
                await devices.v1alpha1.gpus.delete("gpu-3")
            assert (await watch.line())["type"] == "DELETED"


async def test_their_client_of_the_eighth_generation_reads_our_refusals(programs: Path, tmp_path: Path) -> None:
    options = ("--provider", "fake", "--period", "0", "--log-level", "warning", "--profile", "v8")
    with device_server(tmp_path, *options) as ours:
        program = programs / "v8"
        for command in ("update-uid", "status-uid"):
            answer = await said(program, ours.target, command, "gpu-1", "another")
            assert answer["error"] == "InvalidArgument"
            assert answer["message"].startswith("unprocessable content: ")
            assert "metadata.uid" in answer["message"]
        merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
        answer = await said(program, ours.target, "patch", "gpu-1", merge, '{"metadata":{"uid":"another"}}')
        assert answer["message"].startswith("unprocessable content: ")
        answer = await said(program, ours.target, "patch", "gpu-1", apply, "{}")
        assert answer["error"] == "InvalidArgument"
        assert answer["message"].startswith("unsupported media type: ")
        answer = await said(program, ours.target, "patch", "gpu-1", merge, '{"spec":{"uuid":"GPU-new"}}')
        assert answer["uuid"] == "GPU-new"


async def test_their_client_of_the_eighth_generation_gets_bookmarks_with_a_version_alone(
    programs: Path, tmp_path: Path
) -> None:
    options = ("--provider", "fake", "--period", "0", "--log-level", "warning", "--profile", "v8")
    with device_server(tmp_path, *options) as ours:
        bookmark = await said(programs / "v8", ours.target, "bookmark")
        assert bookmark.pop("gpu")["version"].isdigit()
        assert bookmark == {"kind": "GPU", "annotations": 0, "labels": 0, "spec": False}


async def test_our_client_reads_the_refusals_of_their_server_of_the_eighth_generation(
    programs: Path, target: str
) -> None:
    async with serving(programs / "v8", target), device.connect(target, wire="v8") as devices:
        gpus = devices.v1alpha1.gpus
        assert (await gpus.patch("gpu-1", {"spec": {"uuid": "GPU-new"}})).spec.uuid == "GPU-new"
        with pytest.raises(UnsupportedMediaType, match="json-patch"):
            await gpus.patch("gpu-1", [{"op": "replace", "path": "/spec/uuid", "value": "x"}])
        with pytest.raises(Invalid, match="cannot unmarshal"):
            await gpus.patch("gpu-1", {"spec": "none"})


async def test_their_client_that_is_refused_shows_the_reason_and_does_not_connect_again_and_again(
    programs: Path,
) -> None:
    def refuse(peer: Peer) -> None:
        raise PilotageError(f"uid {peer.uid} may not read")

    async with served(options=UNLIMITED, admit=refuse) as listening:
        answer = await said(programs / "v6", f"unix://{listening.address}", "list")
        assert listening.statistics().refused <= 2
    assert answer["error"] == "Unavailable"
    assert "may not read" in answer["message"]
