"""What an open page is sent: bounded, encoded once, and nothing while none is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from pilotage.dashboard import stream as streams
from pilotage.dashboard.stream import ROWS_OF_MORE, Frames, Stream
from pilotage.dashboard.values import Leader, Overview, Program, Summary, Watch
from pilotage.history.runs import Run

from .records import BOOK, NOON, Happened, new_history, recorded

pytestmark = pytest.mark.virtual_time

PROGRAM = Program("test", 1, "1", NOON, "3", "memory:")
OVERVIEW = Overview(PROGRAM, NOON, None, Leader("off"), (), (), (Watch("Book", 1, "1", 0.5, True),), ())


class Looked:
    """What a stream looks at."""

    def __init__(self) -> None:
        self.journal = new_history().journal("books", BOOK)
        self.ended: list[Run] = []
        self.changed = 0
        self.looks = self.rows = 0
        self.overview = OVERVIEW
        self.stream = Stream(self.look, lambda: self.overview, self.row, asyncio.get_running_loop().time)

    def look(self) -> tuple[list[Run], int]:
        self.looks += 1
        ended, changed, self.ended, self.changed = self.ended, self.changed, [], 0
        return ended, changed

    def row(self, run: Run) -> Summary:
        self.rows += 1
        return Summary(run.number, "books", "Book", "default", "a", NOON, 0, 0, "success", "", 0, 0, "")

    def reconcile(self, count: int) -> None:
        self.ended += [recorded(self.journal, Happened(0, 1)) for _ in range(count)]


def parsed(chunk: bytes) -> list[tuple[str, Any]]:
    """The events of a chunk."""
    found = []
    for block in chunk.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in lines:
            found.append((lines["event"], msgspec.json.decode(lines["data"])))
    return found


async def opened(stream: Stream) -> AsyncIterator[bytes]:
    chunks = stream.chunks()
    assert await anext(chunks) == b"retry: 1000\n\n"
    return chunks


async def test_nothing_is_looked_at_while_no_page_is_open() -> None:
    program = Looked()
    await asyncio.sleep(60)
    assert program.looks == 0
    chunks = await opened(program.stream)
    await anext(chunks)
    await chunks.aclose()  # type: ignore[attr-defined]  # it is a generator
    looks = program.looks
    await asyncio.sleep(60)
    assert program.looks == looks
    assert program.stream.viewers == 0


async def test_a_viewer_is_sent_an_overview_and_then_what_is_new() -> None:
    program = Looked()
    program.reconcile(3)  # in the answers to requests
    chunks = await opened(program.stream)
    (event, first), *more = parsed(await anext(chunks))
    assert (event, first["program"]["name"], more) == ("overview", "test", [])
    program.reconcile(2)
    program.changed = 7
    found = dict(parsed(await anext(chunks)))
    assert [row["number"] for row in found["summaries"]["rows"]] == [4, 5]
    assert found["summaries"]["skipped"] == 0
    assert found["objects"] == {"changed": 7}


async def test_of_many_reconciles_the_last_are_sent_and_the_others_counted() -> None:
    program = Looked()
    chunks = await opened(program.stream)
    await anext(chunks)
    program.reconcile(1000)
    found = dict(parsed(await anext(chunks)))
    assert len(found["summaries"]["rows"]) == ROWS_OF_MORE == program.rows
    assert found["summaries"]["skipped"] == 1000 - ROWS_OF_MORE


async def test_an_overview_is_sent_again_when_more_than_the_time_has_changed() -> None:
    program = Looked()
    chunks = await opened(program.stream)
    await anext(chunks)
    later = NOON + timedelta(seconds=9)
    watches = (Watch("Book", 1, "1", 9.5, True),)
    program.overview = msgspec.structs.replace(OVERVIEW, now=later, watches=watches)
    assert await anext(chunks) == b": alive\n\n"
    program.overview = msgspec.structs.replace(OVERVIEW, shards=("a",))
    assert dict(parsed(await anext(chunks)))["overview"]["shards"] == ["a"]


async def test_a_slow_viewer_gets_the_newest_frames_only_and_holds_nothing_back() -> None:
    program = Looked()
    slow, fast = await opened(program.stream), await opened(program.stream)
    await anext(slow)
    for _ in range(20):
        program.reconcile(1)
        await anext(fast)
    assert len(program.stream._frames._frames) <= 3
    found = dict(parsed(await anext(slow)))
    assert [row["number"] for row in found["summaries"]["rows"]] == [20]


async def test_all_viewers_share_one_look_and_one_encoding() -> None:
    program = Looked()
    viewers = [await opened(program.stream) for _ in range(10)]

    async def read(chunks: AsyncIterator[bytes]) -> list[bytes]:
        return [await anext(chunks) for _ in range(8)]

    async def work() -> None:
        while True:
            program.reconcile(1)
            await asyncio.sleep(streams.TICK / 5)

    working = asyncio.create_task(work())
    looks = program.looks
    received = await asyncio.gather(*map(read, viewers))
    working.cancel()
    assert program.looks - looks <= 9
    assert all(each == received[0] for each in received)
    assert received[0][0] is received[1][0] or received[0][0] == received[1][0]


async def test_there_is_a_bound_for_viewers() -> None:
    program = Looked()
    viewers = [await opened(program.stream) for _ in range(streams.MOST_VIEWERS)]
    assert not program.stream.has_room
    await viewers[0].aclose()  # type: ignore[attr-defined]  # it is a generator
    assert program.stream.has_room


def test_frames_have_rising_numbers() -> None:
    frames = Frames()
    frames.put("a", b"1")
    frames.put("b", b"2")
    frames.put("a", b"3")
    assert frames.since(0) == b"event: b\nid: 2\ndata: 2\n\nevent: a\nid: 3\ndata: 3\n\n"
    assert frames.since(3) == b""
