from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
import pytest

from pilotage.errors import (
    ApiError,
    ConnectionLost,
    DecodeError,
    Forbidden,
    Gone,
    InternalError,
    NotFound,
    ServiceUnavailable,
    StatusDetails,
    TooManyRequests,
    UnexpectedAnswer,
)
from pilotage.reflector.change import Applied, Bookmark, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.silence import Silent
from pilotage.reflector.stages import ShortWatch
from pilotage.rest.listing import BOOKMARK_SECONDS_ANNOTATION, BackoffOptions
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Page, WatchEvent

from .scripted import End, Scripted, Step, added, bookmark, config_map, deleted, error, modified, page, taken
from .streams import REFUSED, TOO_LARGE, applied, follow, names, troubles, watches

pytestmark = pytest.mark.virtual_time


@pytest.mark.covers("T90")
async def test_a_collection_is_listed_at_any_version_and_watched_from_there() -> None:
    source = Scripted([page("a", "b", version=5)], [[added("c", 6), modified("a", 7), deleted("b", 8)]])
    found = await taken(follow(source), lambda found: isinstance(found[-1], Deleted))
    assert names(found[0]) == ["a", "b"]
    assert found[1] == Listening("5")
    assert applied(found) == [("c", "6"), ("a", "7")]
    assert source.asked == [("list", "0"), ("watch", "5")]


@pytest.mark.covers("T97")
async def test_a_watch_that_ends_is_opened_again_where_it_stopped() -> None:
    source = Scripted([page(version=5)], [[added("a", 6), bookmark(9), 2.0, End()], [2.0, End()]])
    await taken(follow(source), watches(source, 3))
    assert source.asked == [("list", "0"), ("watch", "5"), ("watch", "9"), ("watch", "9")]
    assert source.times[1:] == [0.0, 2.0, 4.0]


@pytest.mark.covers("T97")
async def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    source = Scripted([page(version=5)], [[bookmark(9)]])
    found = await taken(follow(source), lambda found: isinstance(found[-1], Bookmark))
    assert found[1:] == [Listening("5"), Bookmark("9")]


@pytest.mark.covers("F16")
async def test_events_that_are_repeated_after_a_reconnect_are_not_applied_again() -> None:
    first: list[Step] = [added("a", 6), deleted("a", 7), added("b", 8), ConnectionLost("cut")]
    again: list[Step] = [added("a", 6), deleted("a", 7), added("b", 8), added("c", 10)]
    found = await taken(
        follow(Scripted([page(version=5)], [first, again])), lambda found: ("c", "10") in applied(found)
    )
    assert applied(found) == [("a", "6"), ("b", "8"), ("b", "8"), ("c", "10")], "the last one is known by its bytes"
    assert sum(isinstance(one, Deleted) for one in found) == 1


async def test_versions_that_are_not_numbers_are_not_compared() -> None:
    opaque: list[Step] = [
        added("a", 6, metadata={"resourceVersion": "z"}),
        added("b", 7, metadata={"resourceVersion": "y"}),
    ]
    found = await taken(follow(Scripted([page(version=5)], [opaque])), lambda found: len(applied(found)) == 2)
    assert applied(found) == [("a", "z"), ("b", "y")]


@pytest.mark.covers("T90", "T107")
async def test_a_forgotten_version_means_another_list_at_the_last_version() -> None:
    source = Scripted(
        [page("a", version=5), page("b", version=9)], [[added("x", 7), error(Gone("too old"))], [added("y", 10)]]
    )
    found = await taken(follow(source), lambda found: ("y", "10") in applied(found))
    assert source.asked == [("list", "0"), ("watch", "5"), ("list", "7"), ("watch", "9")]
    assert [names(one) for one in found if isinstance(one, Replaced)] == [["a"], ["b"]]
    assert source.times == [0.0] * 4, "nobody waits: the watch has told something"
    assert [type(one) for one in troubles(found)] == [Gone]


@pytest.mark.covers("T90", "T91")
@pytest.mark.parametrize("refusal", [Gone("too old"), TOO_LARGE])
async def test_a_version_that_cannot_be_listed_is_replaced_by_the_newest_at_once(refusal: ApiError) -> None:
    source = Scripted([page(version=5), refusal, page(version=9)], [[added("x", 7), error(Gone("too old"))]])
    await taken(follow(source), watches(source, 2))
    assert source.asked == [("list", "0"), ("watch", "5"), ("list", "7"), ("list", ""), ("watch", "9")]
    assert source.times == [0.0] * 5


@pytest.mark.covers("T90")
async def test_a_watch_at_a_version_from_the_future_means_a_list_of_the_newest() -> None:
    source = Scripted([page(version=900), page(version=9)], [[TOO_LARGE]])
    await taken(follow(source), watches(source, 2))
    assert source.asked == [("list", "0"), ("watch", "900"), ("list", ""), ("watch", "9")]


@pytest.mark.covers("T92")
async def test_pages_are_asked_for_and_taken_together() -> None:
    source = Scripted([page("a", version=5, continue_token="next"), page("b", version=5)])
    found = await taken(follow(source), lambda found: True)
    assert names(found[0]) == ["a", "b"]
    assert [(one.limit, one.continue_token, one.resource_version) for one in source.listed] == [
        (500, "", "0"),
        (500, "next", ""),
    ]


@pytest.mark.covers("T92")
async def test_a_list_at_a_version_is_not_paged_unless_the_server_pages_anyway() -> None:
    source = Scripted([page(version=5), page(version=9)], [[added("x", 7), error(Gone())]])
    await taken(follow(source), watches(source, 2))
    assert [one.limit for one in source.listed] == [500, 0]
    source = Scripted(
        [page("a", version=5, continue_token="next"), page("b", version=5), page(version=9)],
        [[added("x", 7), error(Gone())]],
    )
    await taken(follow(source), watches(source, 2))
    assert [one.limit for one in source.listed] == [500, 500, 500]


@pytest.mark.covers("T91", "T92")
async def test_a_page_that_has_expired_means_the_whole_list_in_one() -> None:
    source = Scripted([page("a", version=5, continue_token="next"), Gone("expired"), page("a", "b", version=6)])
    found = await taken(follow(source), lambda found: True)
    assert names(found[0]) == ["a", "b"]
    assert [one.limit for one in source.listed] == [500, 500, 0]


@pytest.mark.covers("T93")
@pytest.mark.parametrize("refusal", [REFUSED, TooManyRequests("slow down"), ServiceUnavailable("starting")])
async def test_a_refused_watch_is_tried_again_without_a_list(refusal: Exception) -> None:
    source = Scripted([page(version=5)], [[refusal], [refusal]])
    found = await taken(follow(source), watches(source, 3))
    assert source.asked == [("list", "0")] + [("watch", "5")] * 3
    assert troubles(found) == [refusal] * 2
    first, second = source.times[2] - source.times[1], source.times[3] - source.times[2]
    assert 0.8 <= first <= 1.6
    assert 1.6 <= second <= 3.2


@pytest.mark.covers("T93")
async def test_too_many_requests_inside_the_watch_is_waited_out_without_a_list() -> None:
    refusal = TooManyRequests("slow down", details=StatusDetails(retry_after_seconds=7))
    source = Scripted([page(version=5)], [[added("a", 6), error(refusal)]])
    await taken(follow(source), watches(source, 2))
    assert source.asked == [("list", "0"), ("watch", "5"), ("watch", "6")]
    assert source.times[2] >= 7


@pytest.mark.covers("T94", "T102")
@pytest.mark.parametrize("refusal", [InternalError("corrupt object"), Forbidden("no")])
async def test_another_error_inside_the_watch_leads_to_a_list(refusal: ApiError) -> None:
    source = Scripted([page("a", "corrupt", version=5), page("a", version=9)], [[added("x", 6), error(refusal)]])
    found = await taken(follow(source), watches(source, 2))
    assert source.asked == [("list", "0"), ("watch", "5"), ("list", "6"), ("watch", "9")]
    assert source.times[2] >= 0.8
    assert names(found[-2]) == ["a"]


async def test_a_kind_that_is_gone_is_listed_until_it_is_back() -> None:
    source = Scripted([page("a", version=5), NotFound("gone"), NotFound("gone"), page(version=9)], [[NotFound("gone")]])
    await taken(follow(source), watches(source, 2))
    assert [verb for verb, _ in source.asked] == ["list", "watch", "list", "list", "list", "watch"]


async def test_a_lost_connection_resumes_at_the_last_version() -> None:
    source = Scripted([page(version=5)], [[added("a", 6), ConnectionLost("reset")], [added("b", 7)]])
    found = await taken(follow(source), lambda found: ("b", "7") in applied(found))
    assert source.asked == [("list", "0"), ("watch", "5"), ("watch", "6")]
    assert applied(found) == [("a", "6"), ("b", "7")]


async def test_a_watch_that_ends_at_once_backs_off_and_after_three_lists_again() -> None:
    source = Scripted([page(version=5), page(version=5)], [[End()], [End()], [End()]])
    found = await taken(follow(source), watches(source, 4))
    assert [verb for verb, _ in source.asked] == ["list", "watch", "watch", "watch", "list", "watch"]
    assert [type(one) for one in troubles(found)] == [ShortWatch] * 3
    assert source.times[-1] >= 0.8 + 1.6 + 3.2


async def test_a_line_that_never_can_be_read_does_not_hold_up_the_rest_for_ever() -> None:
    broken = DecodeError("a line of the watch cannot be read")
    source = Scripted([page("a", version=5), page("a", "b", version=9)], [[0.0, broken]] * 3)
    found = await taken(follow(source), watches(source, 4))
    assert names(found[-2]) == ["a", "b"]


@pytest.mark.covers("T95")
async def test_a_watch_asks_to_be_ended_after_five_to_ten_minutes() -> None:
    source = Scripted([page(version=5)], [[2.0, End()]] * 20)
    await taken(follow(source), watches(source, 20))
    asked = {one.timeout_seconds for one in source.watched}
    assert all(seconds is not None and 300 <= seconds <= 600 for seconds in asked)
    assert len(asked) > 10, "not all at once"
    assert all(one.allow_watch_bookmarks for one in source.watched)


@pytest.mark.covers("T96")
@pytest.mark.parametrize("steps", [[], [added("a", 6)], [added("a", 6), 2.0, End()]])
async def test_closing_ends_the_watch(steps: list[WatchEvent | float | Exception]) -> None:
    source = Scripted([page(version=5)], [steps])
    stream = follow(source)
    async with aclosing(stream):
        async for change in stream:
            if isinstance(change, Listening):
                assert source.open == 1
                break
    assert source.open == 0


@pytest.mark.covers("T96")
async def test_cancelling_ends_the_watch_at_every_stage() -> None:
    async def consume(source: Scripted) -> None:
        async for _ in follow(source):
            pass

    for seconds in (0.0, 1.0, 4.0, 50.0):
        source = Scripted([REFUSED, page(version=5)], [[REFUSED], [added("a", 6), 100.0]])
        task = asyncio.ensure_future(consume(source))
        await asyncio.sleep(seconds)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert source.open == 0


OTHER_KINDS = {
    "a table": {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "t"}},
    "a status": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"},
    "another group": {"kind": "ConfigMap", "apiVersion": "example.com/v1", "metadata": {"name": "a"}},
    "metadata only": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}},
}


@pytest.mark.covers("T98")
@pytest.mark.parametrize("document", OTHER_KINDS.values(), ids=OTHER_KINDS)
async def test_an_object_of_another_kind_is_left_out_and_the_collection_listed_again(document: object) -> None:
    other = WatchEvent("ADDED", msgspec.json.encode(document))
    source = Scripted([page("a", version=5), page("a", "b", version=7)], [[other], [added("c", 8)]])
    found = await taken(follow(source), lambda found: bool(applied(found)))
    assert [type(one) for one in troubles(found)] == [UnexpectedAnswer]
    assert source.asked == [("list", "0"), ("watch", "5"), ("list", "5"), ("watch", "7")]
    assert source.times[2] >= 0.8
    assert applied(found) == [("c", "8")]


@pytest.mark.covers("T98")
@pytest.mark.parametrize("document", OTHER_KINDS.values(), ids=OTHER_KINDS)
async def test_a_list_with_an_object_of_another_kind_replaces_nothing(document: object) -> None:
    wrong = Page([config_map("a", 5), msgspec.json.encode(document)], "5")
    source = Scripted([wrong, page("a", "b", version=7)])
    found = await taken(follow(source), watches(source, 1))
    assert [type(one) for one in troubles(found)] == [UnexpectedAnswer]
    assert [names(one) for one in found if isinstance(one, Replaced)] == [["a", "b"]]


async def test_a_streaming_list_with_an_object_of_another_kind_replaces_nothing() -> None:
    other = WatchEvent("ADDED", msgspec.json.encode(OTHER_KINDS["a table"]))
    source = Scripted([page("a", version=7)], [[other, bookmark(5, end=True)]], streaming=True)
    found = await taken(follow(source), watches(source, 2))
    assert [names(one) for one in found if isinstance(one, Replaced)] == [["a"]]


@pytest.mark.parametrize(
    "data",
    [
        msgspec.json.encode({"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n", "labels": 5}}),
        msgspec.json.encode({"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n", "finalizers": [{}]}}),
    ],
)
async def test_one_object_that_cannot_be_read_is_reported_by_name_and_the_others_go_on(data: bytes) -> None:
    source = Scripted([Page([data, config_map("a", 5)], "5")], [[WatchEvent("MODIFIED", data), added("b", 6)]])
    found = await taken(follow(source), lambda found: bool(applied(found)))
    reports = [one for one in found if isinstance(one, Undecodable)]
    assert [(one.namespace, one.name, type(one.error)) for one in reports] == [("n", "x", DecodeError)] * 2
    assert source.asked == [("list", "0"), ("watch", "5")]


@pytest.mark.parametrize("data", [b"5", b'"x"', b"[]", b"{}", b'{"metadata":{}}', b"\xff", b"{", b"[" * 100_000])
async def test_hostile_objects_are_left_out(data: bytes) -> None:
    source = Scripted([Page([data], "5")], [[WatchEvent("ADDED", data), WatchEvent("DELETED", data), added("b", 6)]])
    found = await taken(follow(source), lambda found: bool(applied(found)))
    assert sum(isinstance(one, Undecodable) for one in found) == 3


async def test_an_item_of_a_list_that_does_not_say_its_kind_gets_it() -> None:
    nameless = msgspec.json.encode({"metadata": {"name": "a", "namespace": "n"}, "data": {"x": "y"}})
    source = Scripted([Page([memoryview(nameless)], "5")])
    found = await taken(follow(source), lambda found: True)
    assert isinstance(found[0], Replaced)
    assert msgspec.json.decode(found[0].items[0].data) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "n"},
        "data": {"x": "y"},
    }


@pytest.mark.covers("T99")
async def test_waits_grow_and_stay_within_their_bounds() -> None:
    source = Scripted([ServiceUnavailable("down")] * 10 + [page(version=5)])
    found = await taken(follow(source), watches(source, 1))
    waits = [after - before for before, after in zip(source.times, source.times[1:-1], strict=False)]
    bases = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0, 30.0]
    assert len(troubles(found)) == 10
    assert all(base <= wait <= min(2 * base, 30.0) for base, wait in zip(bases, waits, strict=True))
    assert any(wait > base * 1.1 for base, wait in zip(bases, waits, strict=True)), "with jitter"


async def test_no_wait_is_longer_than_its_limit_whatever_the_server_asks_for() -> None:
    refusal = TooManyRequests("slow down", details=StatusDetails(retry_after_seconds=600))
    source = Scripted([refusal] * 3 + [page(version=5)])
    await taken(follow(source), watches(source, 1))
    assert source.times[:4] == [0.0, 30.0, 60.0, 90.0]


async def test_a_watch_that_delivered_something_new_is_opened_again_after_the_first_wait() -> None:
    broken = DecodeError("a line of the watch cannot be read")
    source = Scripted([page(version=5)], [[added("a", 6 + n), broken] for n in range(8)])
    await taken(follow(source), watches(source, 9))
    waits = [after - before for before, after in zip(source.times[1:], source.times[2:], strict=False)]
    assert [verb for verb, _ in source.asked] == ["list"] + ["watch"] * 9
    assert all(0.8 <= wait <= 1.6 for wait in waits)


async def test_failures_before_a_watch_that_worked_and_ended_do_not_count() -> None:
    source = Scripted([page(version=5)], [[REFUSED]] * 4 + [[added("a", 6), 10.0, End()], [REFUSED]])
    await taken(follow(source), watches(source, 7))
    assert source.times[-1] - source.times[-2] <= 1.6


async def test_a_watch_that_repeats_an_event_before_it_breaks_waits_longer_each_time() -> None:
    broken = DecodeError("a line of the watch cannot be read")
    source = Scripted([page("a", version=5)], [[added("a", 5), broken]] * 4)
    await taken(follow(source), watches(source, 5))
    assert source.times[-1] >= 0.8 + 1.6 + 3.2 + 6.4


async def test_lists_after_events_that_end_a_watch_with_an_error_are_further_apart_each_time() -> None:
    source = Scripted(
        [page(version=10 * n) for n in range(1, 6)],
        [[added("a", 10 * n + 1), error(InternalError("corrupt object"))] for n in range(1, 5)],
    )
    await taken(follow(source), watches(source, 5))
    assert source.times[-1] >= 0.8 + 1.6 + 3.2 + 6.4


@pytest.mark.covers("T99")
async def test_another_backoff_is_kept_to() -> None:
    source = Scripted([ServiceUnavailable("down")] * 4 + [page(version=5)])
    await taken(follow(source, backoff=BackoffOptions(first=1, limit=2, factor=2, jitter=0)), watches(source, 1))
    assert source.times[:5] == [0.0, 1.0, 3.0, 5.0, 7.0]


async def test_a_source_may_say_itself_how_soon_to_try_again() -> None:
    source = Impatient([ServiceUnavailable("down")] * 3 + [page(version=5)])
    await taken(follow(source), watches(source, 1))
    assert source.times[:4] == [0.0, 0.25, 0.75, 1.25]
    source = Impatient([ServiceUnavailable("down"), page(version=5)])
    await taken(follow(source, backoff=BackoffOptions(first=1, limit=2, factor=2, jitter=0)), watches(source, 1))
    assert source.times[:2] == [source.times[0], source.times[0] + 1.0]


class Impatient(Scripted):
    backoff = BackoffOptions(first=0.25, limit=0.5, factor=2, jitter=0)


async def test_a_source_may_learn_from_its_list_how_long_silence_lasts() -> None:
    class Learning(Scripted):
        async def list(self, options: ListOptions) -> Page:
            self.silence_seconds = 10.0
            return await super().list(options)

    source = Learning([page(version=5)], [[added("a", 6), 1e6], []], silence_seconds=86400.0)
    await taken(follow(source), watches(source, 2))
    assert source.times[-1] <= 11


@pytest.mark.covers("T99")
async def test_after_two_minutes_without_trouble_waits_are_short_again() -> None:
    source = Scripted([page(version=5)], [[REFUSED]] * 4 + [[bookmark(6), 60.0, bookmark(6), 70.0, REFUSED]])
    await taken(follow(source), watches(source, 6))
    assert source.times[-1] - source.times[-2] <= 130 + 1.6


@pytest.mark.covers("F10")
async def test_silence_closes_the_watch_and_opens_it_where_it_stopped() -> None:
    source = Scripted([page(version=5)], [[added("a", 6), 1e6], [bookmark(8), 1e6], []], silence_seconds=10)
    found = await taken(follow(source), watches(source, 3))
    assert source.asked == [("list", "0"), ("watch", "5"), ("watch", "6"), ("watch", "8")]
    assert [type(one) for one in troubles(found)] == [Silent, Silent]
    assert source.open == 0
    assert all(8 <= after - before <= 10 for before, after in zip(source.times[1:], source.times[2:], strict=False))


async def test_bookmarks_are_signs_of_life() -> None:
    source = Scripted([page(version=5)], [[step for n in range(50) for step in (3.0, bookmark(6 + n))]])
    source.silence_seconds = 10
    found = await taken(follow(source), lambda found: found[-1] == Bookmark("55"))
    assert not troubles(found)
    assert len(source.watched) == 1


async def test_a_slow_consumer_is_not_the_silence_of_the_server() -> None:
    source = Scripted([page(version=5)], [[added("a", 6), added("b", 7)]], silence_seconds=10)
    stream = follow(source)
    async with aclosing(stream):
        async for change in stream:
            assert not isinstance(change, Trouble)
            if isinstance(change, Applied):
                await asyncio.sleep(1000)
                if change.header.name == "b":
                    break
    assert len(source.watched) == 1


async def test_a_watch_that_cannot_even_be_opened_in_time_is_silent_too() -> None:
    class Hanging(Scripted):
        def watch(self, options: ListOptions):  # type: ignore[no-untyped-def]
            self.watched.append(options)
            return asyncio.timeout(1e6) if len(self.watched) > 1 else Hang()

    class Hang:
        async def __aenter__(self) -> None:
            await asyncio.Event().wait()

        async def __aexit__(self, *error: object) -> None:
            pass

    source = Hanging([page(version=5)], silence_seconds=10)
    found = await taken(follow(source), lambda found: isinstance(found[-1], Trouble))
    assert isinstance(troubles(found)[0], Silent)


async def test_the_announced_interval_of_bookmarks_limits_the_silence() -> None:
    promise = bookmark(6, annotations={BOOKMARK_SECONDS_ANNOTATION: "3"})
    source = Scripted([page(version=5)], [[promise, 1e6], [1e6], []])
    await taken(follow(source), watches(source, 3))
    assert 8 <= source.times[2] - source.times[1] <= 10
    assert 8 <= source.times[3] - source.times[2] <= 10


async def test_other_errors_of_a_source_are_reported_and_tried_again() -> None:
    source = Scripted([OSError("disk"), page(version=5)], [[ValueError("bug")], [added("a", 6)]])
    found = await taken(follow(source), lambda found: bool(applied(found)))
    assert [type(one) for one in troubles(found)] == [OSError, ValueError]


async def test_selectors_go_with_every_request() -> None:
    selection = ListOptions(label_selector="app=web", field_selector="metadata.name=a")
    source = Scripted([page(version=5)], [[2.0, End()]])
    await taken(follow(source, selection=selection), watches(source, 2))
    assert {(one.label_selector, one.field_selector) for one in source.listed + source.watched} == {
        ("app=web", "metadata.name=a")
    }
