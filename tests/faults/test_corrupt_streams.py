"""Watches that are cut at any byte or carry garbage: the informer resumes at the last whole event and loses nothing."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest

import pilotage as pt
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.client.retries import Retries
from pilotage.client.transport.http import HTTPTransport
from pilotage.errors import DecodeError
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.rest import APIRequest, Transport, WatchEvent
from pilotage.rest.listing import BackoffOptions, RestListerWatcher
from pilotage.types.core.v1 import ConfigMap
from tests.cache.informers import Diary, running, until
from tests.reflector.scripted import document

from .network import Link, cluster_on

CONFIG_MAPS, GVK = GroupVersionResource("", "v1", "configmaps"), GroupVersionKind("", "v1", "ConfigMap")
QUICK = BackoffOptions(first=0.001, limit=0.002)
EVENTS = [
    msgspec.json.encode({"type": "ADDED", "object": document(name, version, data={"text": "süß"})}) + b"\n"
    for name, version in (("a", 11), ("b", 12), ("c", 13))
]
LIST = msgspec.json.encode(
    {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}, "items": []}
)


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: application/json", *lines, "", ""]).encode()


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


STREAM = head("Transfer-Encoding: chunked") + chunked(*EVENTS)


@dataclass
class Server:
    """Answers lists, the first watch with given bytes, and each later one with the events after its version."""

    first: bytes
    versions: list[int] = field(default_factory=list)
    """At which versions the collection was watched."""
    lists: int = 0
    port: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
                if "watch=" not in target:
                    self.lists += 1
                    writer.write(head(f"Content-Length: {len(LIST)}") + LIST)
                    continue
                version = int(target.partition("resourceVersion=")[2].partition("&")[0])
                self.versions.append(version)
                if len(self.versions) == 1:
                    writer.write(self.first)
                    return
                writer.write(head("Transfer-Encoding: chunked") + chunked(*EVENTS[version - 10 :]))
                await reader.read()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def informer_of(server: Server) -> AsyncIterator[tuple[Informer[ConfigMap], Diary]]:
    async with await asyncio.start_server(server.answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with HTTPTransport(f"http://127.0.0.1:{port}", retries=Retries(tries=0, lost=0)) as transport:
            source = RestListerWatcher(transport, CONFIG_MAPS, streaming=False, gvk=GVK)
            made, diary = Informer[ConfigMap](source, InformerOptions(ConfigMap, backoff=QUICK)), Diary()
            made.add_event_handler(diary)
            async with running(made):
                yield made, diary


async def check(first: bytes, whole: int) -> None:
    """After a watch of these bytes, with so many whole events in them, everything is there, once."""
    server = Server(first)
    async with informer_of(server) as (made, diary):
        await until(lambda: len(diary.events) >= 3 and len(server.versions) > 1, 60)
        assert diary.heard == [("create", "a"), ("create", "b"), ("create", "c")]
        assert [one.data["text"] for one in made.list()] == ["süß"] * 3
        assert server.versions[1] == 10 + whole, "it is resumed at the last whole event"
        assert server.lists == 1


def whole_before(cut: int) -> int:
    return sum(STREAM.index(event) + len(event) <= cut for event in EVENTS)


async def check_cuts(cuts: Sequence[int]) -> None:
    for cut in cuts:
        await check(STREAM[:cut], whole_before(cut))


@pytest.mark.covers("F28")
async def test_a_watch_that_is_cut_is_resumed_at_the_last_whole_event() -> None:
    await check_cuts(range(len(STREAM) - 1, 0, -17))


@pytest.mark.covers("F28")
@pytest.mark.long
@pytest.mark.timeout(600)
async def test_a_watch_that_is_cut_at_any_byte_is_resumed_at_the_last_whole_event() -> None:
    await check_cuts(range(1, len(STREAM)))


GARBAGE = {
    "bytes": b"\xff\xfe\x00\n",
    "HTML": b"<html>gateway time-out</html>\n",
    "no object": b'{"type":"ADDED"}\n',
    "no known type": b'{"type":"SURPRISE","object":{}}\n',
    "half an object": EVENTS[1][:60] + b"\n",
}


@pytest.mark.covers("F28")
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_in_a_watch_is_passed_over_at_the_last_whole_event(garbage: bytes) -> None:
    await check(head("Transfer-Encoding: chunked") + chunked(EVENTS[0], garbage, EVENTS[1]), 1)


@pytest.mark.covers("F28")
async def test_an_object_that_is_not_utf_8_is_reported_and_the_others_are_delivered() -> None:
    bad = b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n'
    server = Server(head("Transfer-Encoding: chunked") + chunked(EVENTS[0], bad, EVENTS[1]))
    async with informer_of(server) as (made, diary):
        await until(lambda: len(diary.events) == 3, 60)
        assert "not UTF-8" in "".join(made.undecodable.values())
    assert diary.heard == [("create", "a"), ("create", "b"), ("create", "c")]


@pytest.mark.covers("F28")
@pytest.mark.parametrize("length", [20, 80, None], ids=["cut early", "cut", "whole"])
async def test_a_compressed_watch_that_was_not_asked_for_is_not_read(length: int | None) -> None:
    packed = gzip.compress(b"".join(EVENTS))[:length]
    await check(head("Transfer-Encoding: chunked", "Content-Encoding: gzip") + chunked(packed), 0)


@pytest.mark.covers("F28")
async def test_a_page_of_a_proxy_in_place_of_a_watch_is_passed_over() -> None:
    page = b"<html>bad gateway</html>"
    await check(head(f"Content-Length: {len(page)}", status="502 Bad Gateway") + page, 0)


@pytest.mark.covers("F28")
async def test_an_error_event_in_a_watch_leads_to_a_list() -> None:
    gone = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}\n'
    server = Server(head("Transfer-Encoding: chunked") + chunked(EVENTS[0], gone))
    async with informer_of(server) as (made, diary):
        await until(lambda: made.list().names == ["a", "b", "c"] and server.lists == 2, 60)
    assert diary.heard == [("create", "a"), ("delete", "a"), ("create", "a"), ("create", "b"), ("create", "c")]


class CorruptingLink(Link):
    """Corrupts one event in 50: the transport raises the error of a line that cannot be read."""

    def __init__(self, server: Transport, chance: random.Random) -> None:
        super().__init__(server)
        self._random = chance
        self.faults: list[float] = []
        """When a line was corrupted."""

    async def delivered(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if self._random.randrange(50) == 0:
                self.faults.append(asyncio.get_running_loop().time())
                raise DecodeError("a line of the watch cannot be read")
            yield event


@pytest.mark.covers("F28")
@pytest.mark.virtual_time
@pytest.mark.parametrize("seed", range(3))
async def test_behind_a_proxy_that_corrupts_one_line_in_50_a_cache_is_late_by_seconds(seed: int) -> None:
    """Five minutes with ten writes a second."""
    time, lags = asyncio.get_running_loop().time, list[float]()
    async with pt.Cluster.embedded() as server:
        link, client = CorruptingLink(server.registry, random.Random(seed)), server.client.with_namespace("default")
        await client.create(ConfigMap(metadata=pt.ObjectMeta(name="a")))
        async with pt.Manager(cluster_on(link), pt.ManagerOptions(handle_signals=False)) as manager:
            cache = await manager.cache.informer_for(ConfigMap)
            await manager.run_until_idle(60)
            link.faults.clear()
            for number in range(3000):
                patched = await client.patch(ConfigMap, {"data": {"number": str(number)}}, name="a")
                if number % 100 == 99:
                    since = time()
                    await cache.wait_for_version(int(patched.metadata.resource_version))
                    lags.append(time() - since)
                await asyncio.sleep(0.1)
            assert time() - link.faults[-1] <= 10
    assert len(link.faults) >= 40
    assert max(lags) <= 10
