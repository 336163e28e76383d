"""Informers over HTTPS through a proxy that injects faults: no event is lost, and every failure is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.client.client import Client
from pilotage.client.transport.http import HTTPTransport
from pilotage.cluster import Cluster
from pilotage.errors import UnexpectedAnswer
from pilotage.http.certificates import self_signed
from pilotage.http.limits import Timeouts
from pilotage.http.server import serve
from pilotage.http.tls import server_context
from pilotage.meta.models import ObjectMeta
from pilotage.reflector.silence import Silent
from pilotage.rest.listing import BackoffOptions
from pilotage.server.http.handler import HTTPHandler
from pilotage.testing.proxy import Answer, Cut, CutLine, DuplicateLine, FaultProxy, Stall, is_watch
from pilotage.types.core.v1 import ConfigMap

from .informers import Diary, running, until

QUICK = BackoffOptions(first=0.02, limit=0.1)


@dataclass(frozen=True)
class Scene:
    """A server, a proxy before it that informers go through, and a client that does not."""

    proxy: FaultProxy
    direct: Client
    proxied: Client

    async def informer(self, **options: Any) -> Informer[ConfigMap]:
        source = await self.proxied.lister_watcher(ConfigMap, namespace="default")
        return Informer(source, InformerOptions(ConfigMap, namespace="default", backoff=QUICK, **options))

    async def create(self, name: str) -> ConfigMap:
        return await self.direct.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    certificate = self_signed("127.0.0.1")
    (folder / "server.crt").write_bytes(certificate.certificate)
    (folder / "server.key").write_bytes(certificate.key)
    context = server_context(str(folder / "server.crt"), str(folder / "server.key"))
    async with (
        Cluster.embedded("memory:") as cluster,
        serve(HTTPHandler(cluster.registry, "secret")) as server,
        FaultProxy(*server.address, server_ssl=context) as proxy,
        HTTPTransport(
            f"https://127.0.0.1:{proxy.address[1]}",
            token="secret",
            ca_file=str(folder / "server.crt"),
            timeouts=Timeouts(response=2.0, body=2.0),
        ) as transport,
        asyncio.timeout(200),
    ):
        yield Scene(proxy, cluster.client, Client(transport))


@pytest.mark.covers("T107")
async def test_a_delete_in_the_gap_of_a_forgotten_version_is_delivered(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        gone, kept = await stage.create("gone"), await stage.create("kept")
        made, diary = await stage.informer(), Diary()
        made.add_event_handler(diary)
        async with running(made):
            await until(lambda: made.live, 60)
            diary.clear()
            stage.proxy.add(Answer(410, when=is_watch, times=1))
            stage.proxy.cut_all()
            await stage.direct.delete(gone)
            await until(lambda: bool(diary.events), 60)
            assert diary.heard == [("delete", "gone")]
            assert diary.events[0].object.metadata.uid == gone.metadata.uid
            assert made.list().names == ["kept"]
            await stage.direct.delete(kept)
            await until(lambda: len(diary.events) == 2, 60)
            assert diary.heard[1] == ("delete", "kept")


async def test_a_watch_that_is_unavailable_is_tried_again_at_growing_intervals_without_a_list(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        made, diary = await stage.informer(), Diary()
        made.add_event_handler(diary)
        async with running(made):
            await until(lambda: made.live, 60)
            requests = stage.proxy.statistics().requests
            stage.proxy.add(Answer(503, when=is_watch, times=2))
            stage.proxy.cut_all()
            await until(lambda: not made.live, 60)
            await stage.create("meanwhile")
            await until(lambda: made.live, 60)
            await until(lambda: bool(diary.events), 60)
            assert diary.heard == [("create", "meanwhile")]
            assert not diary.events[0].is_in_initial_list
            assert stage.proxy.statistics().requests - requests == 3, "two refusals, then a watch; no list"


FORGOTTEN = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}\n'
BROKEN_WATCHES = {
    "503": Answer(503, when=is_watch, times=None),
    "ends at once": Answer(200, when=is_watch, times=None, body=b""),
    "200, then 410": Answer(200, when=is_watch, times=None, body=FORGOTTEN),
}


@pytest.mark.parametrize("fault", BROKEN_WATCHES.values(), ids=BROKEN_WATCHES)
async def test_what_happens_while_the_watch_is_broken_is_seen_with_few_requests(tmp_path: Path, fault: Answer) -> None:
    async with scene(tmp_path) as stage:
        time = asyncio.get_running_loop().time
        changed = await stage.create("changed")
        made = await stage.informer()
        async with running(made):
            await until(lambda: made.live, 60)
            requests, begin = stage.proxy.statistics().requests, time()
            stage.proxy.add(fault)
            stage.proxy.cut_all()
            for number in range(6):
                changed.data = {"number": str(number)}
                await stage.direct.update(changed)
                await made.wait_for_version(int(changed.metadata.resource_version), timeout=60)
                assert made.get("changed", namespace="default").data == {"number": str(number)}
            assert not made.live
            asked, spent = stage.proxy.statistics().requests - requests, time() - begin
            assert asked <= 12 + 3 * spent / QUICK.limit, "three requests for each wait, once the waits have grown"
            stage.proxy.clear()
            await until(lambda: made.live, 60)


POD_LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"900"},"items":[]}'


@pytest.mark.parametrize("body", [None, POD_LIST], ids=["a Status", "a PodList"])
async def test_a_wrong_answer_to_a_list_is_not_taken_for_an_empty_one(tmp_path: Path, body: bytes | None) -> None:
    async with scene(tmp_path) as stage:
        await stage.create("kept")
        made, diary = await stage.informer(), Diary()
        made.add_event_handler(diary)
        async with running(made):
            await until(lambda: made.live, 60)
            stage.proxy.add(Answer(200, times=None, body=body))
            stage.proxy.cut_all()
            await until(lambda: isinstance(made.last_error, UnexpectedAnswer), 60)
            assert not made.live
            assert made.list().names == ["kept"]
            stage.proxy.clear()
            await until(lambda: made.live, 60)
    assert diary.heard == [("create", "kept")]


@pytest.mark.covers("F10")
async def test_a_silent_socket_is_noticed_readiness_is_red_and_then_green_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        made, diary = await stage.informer(silence_seconds=1.0), Diary()
        made.add_event_handler(diary)
        async with running(made):
            await until(lambda: made.live, 60)
            stall = stage.proxy.add(Stall(direction="down"))
            await stage.create("unheard")
            await until(lambda: not made.live, 60)
            assert isinstance(made.last_error, Silent)
            assert diary.heard == []
            stage.proxy.remove(stall)
            await until(lambda: made.live, 60)
            await until(lambda: diary.heard == [("create", "unheard")], 60)


@pytest.mark.covers("F10")
@pytest.mark.long
async def test_our_own_server_is_recognised_over_https_and_given_ten_seconds(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        source = await stage.proxied.lister_watcher(ConfigMap, namespace="default")
        assert source.silence_seconds == 75
        made = await stage.informer()
        async with running(made):
            await until(lambda: made.live, 60)
            stage.proxy.add(Stall(direction="down"))
            await until(lambda: not made.live, 60)  # with the 75 seconds of other servers it would still be live


@pytest.mark.covers("F28")
async def test_a_line_that_is_cut_in_two_is_delivered_once_after_the_reconnect(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        made, diary = await stage.informer(), Diary()
        made.add_event_handler(diary)
        stage.proxy.add(CutLine(3, when=is_watch, times=1))  # line 1 ends the initial events
        async with running(made):
            await until(lambda: made.live, 60)
            for name in ("one", "two", "three"):
                await stage.create(name)
            await until(lambda: len(diary.events) >= 3, 60)
    assert diary.heard == [("create", "one"), ("create", "two"), ("create", "three")]


@pytest.mark.covers("F16")
async def test_a_line_that_comes_twice_is_delivered_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        made, diary = await stage.informer(), Diary()
        made.add_event_handler(diary)
        stage.proxy.add(DuplicateLine(2, when=is_watch, times=1))
        async with running(made):
            await until(lambda: made.live, 60)
            await stage.create("one")
            two = await stage.create("two")
            await made.wait_for_version(int(two.metadata.resource_version), timeout=60)
    assert diary.heard == [("create", "one"), ("create", "two")]


@pytest.mark.parametrize("reset", [True, False])
async def test_connections_that_break_again_and_again_lose_nothing(tmp_path: Path, reset: bool) -> None:
    async with scene(tmp_path) as stage:
        made, diary = await stage.informer(), Diary()
        made.add_event_handler(diary)
        async with running(made):
            await until(lambda: made.live, 60)
            stage.proxy.add(Cut(after_bytes=6000, direction="down", reset=reset, times=5))
            for number in range(60):
                await stage.create(f"object-{number}")
                await asyncio.sleep(0)  # sent alone: of many in one TLS record, none would arrive before the cut
            await until(lambda: len(diary.events) >= 60, 60)
    assert diary.heard == [("create", f"object-{number}") for number in range(60)]
    assert made.statistics().troubles >= 1


async def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        stage.proxy.add(Answer(503, times=4))
        await stage.create("early")
        source = await stage.direct.lister_watcher(ConfigMap, namespace="default")  # the resource is known
        made: Informer[ConfigMap] = Informer(
            type(source)(stage.proxied._session.transport, source.resource, "default"),
            InformerOptions(ConfigMap, namespace="default", backoff=QUICK),
        )
        async with running(made):
            await made.wait_for_sync()
            assert made.list().names == ["early"]
