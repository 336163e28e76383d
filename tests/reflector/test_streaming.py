"""Watches that begin with the whole collection."""

from __future__ import annotations

import sys
from contextlib import aclosing

import pytest

from pilotage.errors import ConnectionLost, Gone, InternalError, Invalid, TooManyRequests
from pilotage.reflector.change import Bookmark, Listening, Replaced, Undecodable
from pilotage.rest.response import WatchEvent

from .scripted import End, Scripted, added, bookmark, deleted, error, modified, page, taken
from .streams import REFUSED, applied, follow, names, troubles, watches

pytestmark = pytest.mark.virtual_time


@pytest.mark.covers("T101")
async def test_a_streaming_list_is_one_watch_that_goes_on() -> None:
    initial = [added("a", 3), added("b", 4), modified("a", 5), deleted("b", 6), bookmark(7, end=True)]
    source = Scripted(watches=[[*initial, added("c", 8)]], streaming=True)
    found = await taken(follow(source), lambda found: bool(applied(found)))
    assert names(found[0]) == ["a"]
    assert isinstance(found[0], Replaced)
    assert found[0].resource_version == "7"
    assert found[1] == Listening("7")
    assert applied(found) == [("c", "8")]
    (asked,) = source.watched
    assert (asked.send_initial_events, asked.resource_version_match, asked.resource_version) == (
        True,
        "NotOlderThan",
        "",
    )
    assert asked.allow_watch_bookmarks
    assert not source.listed


@pytest.mark.parametrize("streaming", [False, True])
async def test_objects_are_not_kept_after_they_were_yielded(streaming: bool) -> None:
    initial = [added("a", 4), bookmark(5, end=True)] if streaming else []
    source = Scripted([page("a", version=5)], [[*initial, bookmark(6)]], streaming=streaming)
    async with aclosing(follow(source)) as stream:
        replaced = await anext(stream)
        assert isinstance(replaced, Replaced)
        data = replaced.items[0].data
        del replaced
        assert [await anext(stream), await anext(stream)] == [Listening("5"), Bookmark("6")]
        only_here = bytes(bytearray(data))
        assert sys.getrefcount(data) == sys.getrefcount(only_here), "a watch would keep them for hours"


@pytest.mark.covers("T101")
async def test_a_stream_that_ended_is_resumed_as_a_plain_watch() -> None:
    source = Scripted(watches=[[bookmark(7, end=True), 2.0, End()]], streaming=True)
    await taken(follow(source), watches(source, 2))
    assert source.asked == [("watch", ""), ("watch", "7")]
    assert source.watched[1].send_initial_events is None
    assert source.watched[1].resource_version_match == ""


@pytest.mark.covers("T101")
async def test_a_server_that_cannot_stream_is_listed_for_good() -> None:
    refusal = Invalid("sendInitialEvents is forbidden")
    source = Scripted(
        [page("a", version=5), page(version=9)], [[refusal], [added("x", 6), error(Gone())]], streaming=True
    )
    found = await taken(follow(source), watches(source, 3))
    assert source.asked == [("watch", ""), ("list", "0"), ("watch", "5"), ("list", "6"), ("watch", "9")]
    assert [type(one) for one in troubles(found)] == [Gone], "a server that cannot is no trouble"


@pytest.mark.covers("T101")
@pytest.mark.parametrize(
    "steps",
    [
        [added("a", 3), ConnectionLost("cut")],
        [added("a", 3), End()],
        [added("a", 3), error(InternalError("boom"))],
        [added("a", 3), 1e6],
    ],
)
async def test_a_stream_that_breaks_off_falls_back_to_a_list(steps: list[WatchEvent | float | Exception]) -> None:
    source = Scripted([page("b", version=5)], [steps], streaming=True)
    found = await taken(follow(source), watches(source, 2))
    assert [names(one) for one in found if isinstance(one, Replaced)] == [["b"]]
    assert source.asked == [("watch", ""), ("list", "0"), ("watch", "5")]


@pytest.mark.covers("T101")
@pytest.mark.parametrize("refusal", [REFUSED, TooManyRequests()])
async def test_a_stream_that_is_refused_for_now_is_tried_again(refusal: Exception) -> None:
    source = Scripted(watches=[[refusal], [bookmark(7, end=True)]], streaming=True)
    await taken(follow(source), watches(source, 2))
    assert source.asked == [("watch", ""), ("watch", "")]
    assert source.times[1] >= 0.8


@pytest.mark.covers("T101")
async def test_a_forgotten_version_streams_again_and_at_last_from_the_newest() -> None:
    source = Scripted(
        watches=[
            [bookmark(7, end=True), added("a", 8), error(Gone())],
            [Gone("too old")],
            [added("b", 9), bookmark(10, end=True)],
        ],
        streaming=True,
    )
    found = await taken(follow(source), watches(source, 3))
    assert source.asked == [("watch", ""), ("watch", "8"), ("watch", "")]
    assert [names(one) for one in found if isinstance(one, Replaced)] == [[], ["b"]]
    assert not source.listed


async def test_what_cannot_be_read_in_a_streaming_list_is_reported_after_it() -> None:
    broken = WatchEvent("ADDED", b'{"kind":"ConfigMap","metadata":{"name":"x","labels":5}}')
    source = Scripted(watches=[[added("a", 3), broken, bookmark(5, end=True)]], streaming=True)
    found = await taken(follow(source), lambda found: isinstance(found[-1], Listening))
    assert [type(one) for one in found] == [Replaced, Undecodable, Listening]
    assert names(found[0]) == ["a"]


@pytest.mark.covers("T101")
async def test_a_bookmark_before_the_end_of_the_initial_events_moves_nothing() -> None:
    source = Scripted(watches=[[bookmark(3), added("a", 4), bookmark(5, end=True)]], streaming=True)
    found = await taken(follow(source), lambda found: isinstance(found[-1], Listening))
    assert [type(one) for one in found] == [Replaced, Listening]
