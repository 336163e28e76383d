from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from pilotage.cache.event import InformerEvent, ResourceEventHandler
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.errors import ConnectionLost, Gone, InvalidDefinition, NoMatch, ServiceUnavailable
from pilotage.rest.listing import BackoffOptions, ListerWatcher
from pilotage.rest.response import Page
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import Scripted, added, bookmark, config_map, deleted, error, modified, page

from .informers import Diary, informer, running, synced, until

pytestmark = pytest.mark.virtual_time


@pytest.mark.covers("T105")
async def test_every_handler_gets_every_change_in_order() -> None:
    source = Scripted([page("a", version=1)], [[1.0, added("b", 2), modified("a", 3), deleted("b", 4)]])
    one, two = Diary(), Diary()
    made = informer(source)
    made.add_event_handler(one)
    made.add_event_handler(two)
    async with running(made):
        await until(lambda: len(one.events) == 4)
    expected = [("create", "a"), ("create", "b"), ("update", "a"), ("delete", "b")]
    assert one.heard == two.heard == expected
    assert [event.is_in_initial_list for event in one.events] == [True, False, False, False]


async def test_of_a_server_that_recounts_a_list_with_equal_versions_and_other_content_is_a_change() -> None:
    """A server of the Device API that was restarted may give the same versions to other objects."""
    again = Page([config_map("a", version=1, data={"k": "v"}), config_map("b", version=1)], "2")
    first = Page([config_map("a", version=1), config_map("b", version=1)], "2")
    source = Scripted([first, again], [[error(Gone("too old"))]])
    source.recounts = True  # type: ignore[attr-defined]
    diary = Diary()
    made = informer(source)
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: len(diary.events) == 3)
    assert diary.heard == [("create", "a"), ("create", "b"), ("update", "a")]


async def test_an_event_has_old_and_new_as_objects_and_headers() -> None:
    source = Scripted([page("a", version=1)], [[modified("a", 3, data={"k": "v"}), deleted("a", 4)]])
    diary = Diary()
    made = informer(source)
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: len(diary.events) == 3)
    created, updated, gone = diary.events
    assert created.old is None
    assert created.old_header is None
    assert created.new is not None
    assert isinstance(created.object, ConfigMap)
    assert updated.old is not None
    assert updated.new is not None
    assert (updated.old.metadata.resource_version, updated.new.metadata.resource_version) == ("1", "3")
    assert updated.object.data == {"k": "v"}
    assert updated.object is updated.object
    assert updated.old_header is not None
    assert updated.new_header is not None
    assert (updated.old_header.resource_version, updated.new_header.resource_version) == ("1", "3")
    assert gone.new is None
    assert gone.new_header is None
    assert gone.header.resource_version == "4"
    assert not gone.unknown_final_state


async def test_handlers_get_the_objects() -> None:
    source = Scripted([page("a", version=1)], [[modified("a", 3), deleted("a", 4)]])
    heard: list[tuple[str, ...]] = []
    made = informer(source)
    made.add_event_handler(
        ResourceEventHandler(
            on_add=lambda new: heard.append(("add", new.metadata.resource_version)),
            on_update=lambda old, new: heard.append(
                ("update", old.metadata.resource_version, new.metadata.resource_version)
            ),
            on_delete=lambda old: heard.append(("delete", old.metadata.name)),
        )
    )
    made.add_event_handler(ResourceEventHandler())  # one without functions
    async with running(made):
        await until(lambda: len(heard) == 3)
    assert heard == [("add", "1"), ("update", "1", "3"), ("delete", "a")]
    assert made.statistics().handler_failures == 0


@pytest.mark.covers("T105", "T111")
async def test_a_handler_that_is_added_later_gets_every_stored_object() -> None:
    source = Scripted([page("a", "b", version=1)], [[10.0, added("c", 2)]])
    async with synced(source) as made:
        diary = Diary()
        registration = made.add_event_handler(diary)
        assert diary.heard == [("create", "a"), ("create", "b")]
        assert all(event.is_in_initial_list for event in diary.events)
        assert registration.has_synced
        await until(lambda: len(diary.events) == 3)
        assert not diary.events[2].is_in_initial_list


@pytest.mark.covers("T111")
async def test_a_registration_has_synced_when_its_handler_has_got_the_whole_list() -> None:
    source = Scripted([ServiceUnavailable("starting"), page("a", version=1)])
    made = informer(source)
    diary = Diary()
    registration = made.add_event_handler(diary)
    async with running(made):
        assert not registration.has_synced
        assert not made.has_synced
        await made.wait_for_sync()
        assert diary.heard == [("create", "a")]
        assert registration.has_synced


@pytest.mark.covers("T111")
async def test_a_handler_that_is_added_during_a_long_list_gets_each_object_once() -> None:
    names = [f"object-{number}" for number in range(1000)]
    made = informer(Scripted([page(*names, version=1)]))
    first, second = Diary(), Diary()
    made.add_event_handler(first)
    async with running(made):
        while not first.events:  # noqa: ASYNC110  # between two parts of the list
            await asyncio.sleep(0)
        assert len(first.events) < 1000
        late = made.add_event_handler(second)
        await made.wait_for_sync()
        await late.wait_for_backlog()
        assert late.has_synced
    assert sorted(event.name for event in first.events) == sorted(names)
    assert sorted(event.name for event in second.events) == sorted(names)


@pytest.mark.covers("T103")
async def test_an_empty_list_is_a_list() -> None:
    async with synced(Scripted([page(version=7)])) as made:
        assert made.has_synced
        assert len(made.list()) == 0
        assert made.resource_version == "7"


@pytest.mark.covers("T103", "T107")
async def test_what_was_missed_appears_after_the_next_list_deletes_first() -> None:
    after = Page([config_map("kept", 1), config_map("changed", 8), config_map("new", 9)], "9")
    source = Scripted([page("gone", "kept", "changed", version=1), after], [[5.0, error(Gone())]])
    diary = Diary()
    made = informer(source)
    made.add_event_handler(diary)
    async with running(made):
        await made.wait_for_sync()
        diary.clear()
        await until(lambda: len(diary.events) == 3)
    assert diary.heard == [("delete", "gone"), ("update", "changed"), ("create", "new")]
    assert diary.events[0].unknown_final_state
    assert diary.events[0].object.metadata.name == "gone"
    assert not diary.events[2].is_in_initial_list


@pytest.mark.covers("T107")
async def test_an_object_that_was_created_again_between_lists_is_an_update_with_another_uid() -> None:
    again = config_map("a", 8, metadata={"uid": "another"})
    source = Scripted([page("a", version=1), Page([again], "9")], [[5.0, error(Gone())]])
    diary = Diary()
    made = informer(source)
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: len(diary.events) == 2)
    event = diary.events[1]
    assert event.type == "update"
    assert event.old_header is not None
    assert event.new_header is not None
    assert (event.old_header.uid, event.new_header.uid) == ("uid-a", "another")


async def test_the_same_version_sent_twice_is_delivered_once() -> None:
    source = Scripted([page("a", version=1)], [[modified("a", 2), modified("a", 2), deleted("b", 3), modified("a", 4)]])
    diary = Diary()
    made = informer(source)
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: made.resource_version == "4")
    assert diary.heard == [("create", "a"), ("update", "a"), ("update", "a")]


@pytest.mark.covers("T106")
async def test_the_same_version_in_another_spelling_is_no_update() -> None:
    spelt = config_map("a", 1, data={}).replace(b'"data":{}', b'"data": {}')
    source = Scripted([page("a", version=1), Page([spelt], "9")], [[5.0, error(Gone())]])
    diary = Diary()
    made = informer(source)
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: made.resource_version == "9")
        await asyncio.sleep(1)
    assert diary.heard == [("create", "a")]


# Handlers that fail, are removed, or are added late


@pytest.mark.covers("T105", "T110")
@pytest.mark.parametrize("failure", [ValueError, asyncio.CancelledError, SystemExit])
async def test_a_handler_that_fails_is_logged_by_name_and_stops_no_other(
    failure: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def careless(event: InformerEvent[Any]) -> None:
        raise failure("careless")

    source = Scripted([page("a", version=1)], [[modified("a", 2)]])
    diary = Diary()
    made = informer(source)
    made.add_event_handler(careless)
    made.add_event_handler(diary)
    with caplog.at_level(logging.ERROR):
        async with running(made):
            await until(lambda: len(diary.events) == 2)
            assert made.has_synced
    assert made.statistics().handler_failures == 2
    assert "careless" in caplog.text


@pytest.mark.covers("T108")
async def test_a_handler_that_is_removed_gets_no_more_events() -> None:
    source = Scripted([page("a", version=1)], [[5.0, modified("a", 2), modified("a", 3)]])
    async with synced(source) as made:
        diary, other = Diary(), Diary()
        registration = made.add_event_handler(diary)
        made.add_event_handler(other)
        registration.remove()
        registration.remove()
        await until(lambda: len(other.events) == 3)
        assert diary.heard == [("create", "a")]
        assert made.statistics().listeners == 1


@pytest.mark.covers("T108")
async def test_a_handler_may_remove_itself_and_others_while_it_is_called() -> None:
    source = Scripted([page("a", version=1)], [[5.0, modified("a", 2), modified("a", 3)]])
    made = informer(source)
    last, other = Diary(), Diary()

    def leaving(event: InformerEvent[Any]) -> None:
        first.remove()
        second.remove()

    first = made.add_event_handler(leaving)
    second = made.add_event_handler(last)
    made.add_event_handler(other)
    async with running(made):
        await until(lambda: len(other.events) == 3)
    assert last.heard == []


@pytest.mark.covers("T108")
async def test_a_stopped_informer_takes_no_listeners_and_does_not_run_again() -> None:
    async with synced(Scripted()) as made:
        with pytest.raises(InvalidDefinition, match="only once"):
            await made.run()
    with pytest.raises(InvalidDefinition, match="has stopped"):
        made.add_event_handler(Diary())
    with pytest.raises(InvalidDefinition, match="only once"):
        await made.run()


async def test_an_async_handler_is_refused() -> None:
    async def handler(event: InformerEvent[Any]) -> None:
        pass

    with pytest.raises(InvalidDefinition, match="is async"):
        informer(Scripted()).add_event_handler(handler)  # type: ignore[arg-type]  # that is the mistake


# Resync


@pytest.mark.covers("T100", "T106")
async def test_a_resync_sends_every_object_again_to_the_listeners_that_are_due() -> None:
    made = informer(Scripted([page("a", "b", version=1)], silence_seconds=1e9))
    never, often, seldom = Diary(), Diary(), Diary()
    async with running(made):
        await made.wait_for_sync()
        made.add_event_handler(never)
        made.add_event_handler(often, resync=10)
        made.add_event_handler(seldom, resync=25)
        for diary in (never, often, seldom):
            diary.clear()
        await asyncio.sleep(51)
    assert never.heard == []
    assert often.heard == [("update", "a"), ("update", "b")] * 5
    assert seldom.heard == [("update", "a"), ("update", "b")] * 2
    assert all(event.is_resync and event.old_header == event.new_header for event in often.events)


@pytest.mark.covers("T106")
async def test_a_resync_period_is_at_least_a_second_and_comes_from_the_options_unless_given() -> None:
    made = informer(Scripted([page("a", version=1)], silence_seconds=1e9), resync=20.0)
    hasty, plain, never = Diary(), Diary(), Diary()
    async with running(made):
        await made.wait_for_sync()
        made.add_event_handler(hasty, resync=0.001)
        made.add_event_handler(plain)
        made.add_event_handler(never, resync=0)
        await asyncio.sleep(20.5)
    assert len(hasty.events) == 1 + 20
    assert len(plain.events) == 1 + 1
    assert len(never.events) == 1


# Liveness and progress


async def test_live_is_true_while_a_watch_is_open_and_false_from_trouble_on() -> None:
    source = Scripted([page(version=1)], [[added("a", 2), 5.0, ConnectionLost("cut")], [ConnectionLost("cut")]])
    made = informer(source)
    assert not made.live
    async with running(made):
        await made.wait_for_sync()
        await until(lambda: made.resource_version == "2")
        assert made.live
        await until(lambda: not made.live, 6)
        assert isinstance(made.last_error, ConnectionLost)
        await until(lambda: made.live)
        assert made.last_error is None
        assert made.statistics().troubles == 2
    assert not made.live


async def test_silence_is_noticed_within_the_deadline_and_repaired() -> None:
    refused = ConnectionLost("refused", sent=False)
    source = Scripted([page(version=1)], [[bookmark(2), 1e6], [refused], [added("a", 3)]], silence_seconds=10)
    loop = asyncio.get_running_loop()
    made = informer(source)
    async with running(made):
        await until(lambda: made.resource_version == "2")
        assert made.last_contact is not None
        await until(lambda: not made.live)
        assert loop.time() - made.last_contact <= 10.01
        await until(lambda: made.live)
        await until(lambda: made.resource_version == "3")
    assert source.asked == [("list", "0"), ("watch", "1"), ("watch", "2"), ("watch", "2")]


async def test_a_forgotten_version_does_not_make_it_dead() -> None:
    source = Scripted([page(version=1), page(version=9)], [[added("a", 2), 5.0, error(Gone())]])
    async with synced(source) as made:
        await until(lambda: made.live)
        while made.resource_version != "9":
            assert made.live
            await asyncio.sleep(0.01)


@pytest.mark.covers("T113")  # in place of a cache of one's own writes: a read waits until they are seen
async def test_reached_waits_for_events_and_bookmarks() -> None:
    source = Scripted([page(version=5)], [[1.0, added("a", 7), 1.0, bookmark(9)]])
    loop = asyncio.get_running_loop()
    async with synced(source) as made:
        await made.wait_for_version(5)
        await made.wait_for_version(6, timeout=3)
        assert made.resource_version == "7"
        await made.wait_for_version(9, timeout=3)
        assert loop.time() < 2.1
        with pytest.raises(TimeoutError):
            await made.wait_for_version(10, timeout=3)


async def test_a_delete_can_be_waited_for_by_uid() -> None:
    again = added("a", 9, metadata={"uid": "another"})
    source = Scripted([page("a", version=5)], [[2.0, deleted("a", 8), again]])
    async with synced(source) as made:
        assert made.holds("uid-a")
        assert made.holds("uid-a", name="a", namespace="default")
        await made.wait_for_release("uid-a", name="a", namespace="default", timeout=3)
        await until(lambda: made.resource_version == "9")
        assert not made.holds("uid-a")
        assert made.holds("another", name="a", namespace="default")
        with pytest.raises(TimeoutError):
            await made.wait_for_release("another", timeout=1)


async def test_a_collection_that_is_looked_up_is_looked_up_until_it_is_there() -> None:
    source = Scripted([page("a", version=1)])
    tries: list[int] = []

    async def look_up() -> ListerWatcher:
        tries.append(len(tries))
        if len(tries) < 3:
            raise NoMatch("not served yet")
        return source

    made: Informer[ConfigMap] = Informer(look_up, InformerOptions(ConfigMap))
    async with running(made):
        await made.wait_for_sync()
    assert len(tries) == 3
    assert made.statistics().troubles == 2


async def test_an_informer_can_be_made_of_what_has_a_collection() -> None:
    class Shelf:
        def lister_watcher(self) -> ListerWatcher:
            return Scripted([page("a", version=1)])

    made: Informer[ConfigMap] = Informer(Shelf(), InformerOptions(ConfigMap))
    async with running(made):
        await made.wait_for_sync()
        assert made.get("a", namespace="default").metadata.name == "a"


async def test_a_trouble_that_stays_the_same_is_logged_once_and_again_after_ten_minutes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    source = Scripted([ConnectionLost("nobody listens")] * 700 + [page("a", version=1)])
    quick = BackoffOptions(first=1, limit=1, jitter=0)
    async with synced(source, backoff=quick):
        pass
    levels = [record.levelname for record in caplog.records if "retrying" in record.getMessage()]
    assert (levels.count("WARNING"), levels.count("DEBUG")) == (2, 698)
