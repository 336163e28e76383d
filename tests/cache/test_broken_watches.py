"""Watches that are broken while lists work: changes are seen all the same, with few requests, and logged once."""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextlib import aclosing

import msgspec
import pytest

from pilotage.errors import ConnectionLost, DecodeError, Gone, InternalError, ServiceUnavailable
from pilotage.reflector.change import Listening, Replaced, Trouble
from pilotage.rest.response import Page, WatchEvent
from tests.reflector.scripted import End, Scripted, Step, added, bookmark, error, page, taken
from tests.reflector.streams import REFUSED, TOO_LARGE, applied, follow, troubles, watches

from .informers import Diary, informer, running, synced, until

pytestmark = pytest.mark.virtual_time

BROKEN: dict[str, list[Step]] = {
    "5xx": [ServiceUnavailable("the watch cache is not ready")],
    "ends at once": [End()],
    "forgets every version": [error(Gone("too old"))],
    "a bookmark, then forgotten": [bookmark(5), error(Gone("too old"))],
    "a bookmark, then the end": [bookmark(5), End()],
    "an error of 500": [error(InternalError("etcd"))],
    "from the future": [TOO_LARGE],
    "breaks": [0.0, ConnectionLost("reset")],
    "cannot be read": [0.0, DecodeError("a line of the watch cannot be read")],
}


@pytest.mark.parametrize("streaming", [False, True], ids=["listing", "streaming"])
@pytest.mark.parametrize("steps", BROKEN.values(), ids=BROKEN)
async def test_while_watches_are_broken_the_collection_is_listed_within_bounds(
    steps: list[Step], streaming: bool
) -> None:
    """Within 15 minutes: at least each minute the newest state, and few requests."""
    source = Scripted([page("a", version=5)] * 1000, [steps] * 1000, streaming=streaming)
    heard: list[float] = []
    async with aclosing(follow(source)) as stream:
        async for change in stream:
            now = asyncio.get_running_loop().time()
            if isinstance(change, Replaced):
                heard.append(now)
            if now >= 900:
                break
    assert max(after - before for before, after in itertools.pairwise(heard)) <= 60
    assert len(source.asked) <= 260


async def test_after_three_watches_in_vain_the_collection_is_listed_and_again_after_each_further_one() -> None:
    refusal = ServiceUnavailable("the watch cache is not ready")
    source = Scripted([page("a", version=number) for number in range(5, 9)], [[refusal]] * 5 + [[added("b", 9)]])
    found = await taken(follow(source), lambda found: ("b", "9") in applied(found))
    asked = [verb for verb, _ in source.asked]
    assert asked == ["list", "watch", "watch", "watch", "list", "watch", "list", "watch", "list", "watch"]
    assert troubles(found) == [refusal] * 5


async def test_after_three_watches_that_were_silent_the_collection_is_listed() -> None:
    source = Scripted([page("a", version=5), page("b", version=9)], [[1e6]] * 3, silence_seconds=10)
    await taken(follow(source), watches(source, 4))
    assert source.asked == [("list", "0")] + [("watch", "5")] * 3 + [("list", "5"), ("watch", "9")]


async def test_a_watch_that_works_again_is_trusted_again() -> None:
    refusal = ServiceUnavailable("down")
    fails, works = list[Step]([refusal]), list[Step]([added("a", 6), ConnectionLost("cut")])
    source = Scripted([page(version=5)] * 2, [*[fails] * 3, works, *[fails] * 2])
    await taken(follow(source), watches(source, 7))
    assert [verb for verb, _ in source.asked] == ["list", "watch", "watch", "watch", "list"] + ["watch"] * 4


async def test_a_refused_connection_never_leads_to_a_list() -> None:
    source = Scripted([page(version=5)], [[REFUSED]] * 8)
    await taken(follow(source), watches(source, 9))
    assert [verb for verb, _ in source.asked] == ["list"] + ["watch"] * 9


async def test_a_trouble_has_the_time_until_the_next_attempt() -> None:
    source = Scripted([page(version=5)], [[ServiceUnavailable("down")]])
    found = await taken(follow(source), watches(source, 2))
    (trouble,) = (one for one in found if isinstance(one, Trouble))
    assert source.times[2] - source.times[1] == pytest.approx(trouble.retry_seconds)


async def test_a_watch_after_one_that_broke_at_once_is_on_trial() -> None:
    source = Scripted([page(version=5)], [[End()], [added("a", 6), ConnectionLost("cut")]])
    found = await taken(follow(source), watches(source, 3))
    assert [one.trial_seconds for one in found if isinstance(one, Listening)] == [0.0, 1.0, 0.0]


# The informer over such a stream


def lines(caplog: pytest.LogCaptureFixture, level: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == level]


@pytest.mark.parametrize("steps", [*BROKEN.values()][:6], ids=[*BROKEN][:6])
async def test_an_informer_whose_watches_break_at_once_is_not_live_and_warns_once(
    steps: list[Step], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pilotage.cache")
    source = Scripted([page("a", version=5)] * 1000, [list[Step]([1.5, End()]), *[steps] * 1000])
    async with synced(source) as made:
        await asyncio.sleep(1.0)
        assert made.live
        await asyncio.sleep(9.0)
        for _ in range(1000):
            await asyncio.sleep(0.1)
            assert not made.live
    assert len(lines(caplog, "WARNING")) == 1
    assert "retry_seconds=" in lines(caplog, "WARNING")[0]
    assert len(source.asked) <= 40
    assert made.list().names == ["a"]


async def test_an_informer_is_live_again_once_a_watch_lasts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pilotage.cache")
    source = Scripted([page("a", version=5)] * 10, [[End()]] * 3 + [[]])
    async with synced(source) as made:
        await until(lambda: source.open == 1 and len(source.watched) == 4)
        assert not made.live
        assert made.last_error is not None
        await asyncio.sleep(1.0)
        assert made.live
        assert made.last_error is None
    assert lines(caplog, "INFO") == ['The watch is open again kind="v1, Kind=ConfigMap" version=5']


async def test_an_informer_is_live_again_with_the_first_event() -> None:
    source = Scripted([page("a", version=5)] * 10, [[End()], [0.5, added("b", 6)]])
    async with synced(source) as made:
        await until(lambda: "b" in made.list().names)
        assert made.live


async def test_a_forgotten_version_now_and_then_leaves_the_informer_live(caplog: pytest.LogCaptureFixture) -> None:
    source = Scripted([page("a", version=5)] * 10, [[60.0, error(Gone("too old"))]] * 5)
    async with synced(source) as made:
        for _ in range(290):
            await asyncio.sleep(1.0)
            assert made.live
    assert not lines(caplog, "WARNING")


async def test_a_trouble_that_alternates_with_another_is_logged_once_for_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lists: list[Page | Exception] = [page("a", version=5), ServiceUnavailable("no lists")] * 20
    source = Scripted(lists, [[ServiceUnavailable("no watches")]] * 100)
    async with synced(source):
        await asyncio.sleep(300)
    assert len(lines(caplog, "WARNING")) == 2


# Answers that are not what was asked for


@pytest.mark.parametrize("streaming", [False, True], ids=["listing", "streaming"])
async def test_an_informer_that_gets_another_kind_keeps_its_objects_and_is_not_live(
    streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pod = msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "resourceVersion": "9"}})
    wrong: list[Step] = [WatchEvent("ADDED", pod), bookmark(9, end=True)]
    right: list[Step] = [added("a", 4), bookmark(5, end=True)] if streaming else []
    lists = [page("a", version=5)] if not streaming else []
    source = Scripted(
        lists + [Page([pod], "9")] * 1000,
        [[*right, 2.0, ConnectionLost("the server is replaced")]] + [wrong] * 1000,
        streaming=streaming,
    )
    made, diary = informer(source), Diary()
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: made.live)
        await asyncio.sleep(10.0)
        for _ in range(600):
            await asyncio.sleep(0.5)
            assert not made.live
        assert made.list().names == ["a"]
        assert "the server was asked for ConfigMap of v1 and answered with Pod of v1" in str(made.last_error)
    assert diary.heard == [("create", "a")]
    assert len(source.asked) <= 80
    kinds = [line for line in lines(caplog, "WARNING") if "answered with Pod" in line]
    assert len(kinds) <= 2, "once for the watch, once for the list"
