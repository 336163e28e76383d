"""The objects as they were at an earlier moment."""

from __future__ import annotations

from pilotage.dashboard.state.past import changes_since, events_since, oldest
from pilotage.history.records import TextNote
from tests.dashboard.records import BOOK, Happened, book, event, new_history, recorded

ONE, TWO, THREE = book(version=1), book(version=2), book(version=3)
KEY = (BOOK, "default", "a")


def test_the_newer_events_are_taken_back() -> None:
    events = [(10.0, event("create", None, ONE)), (20.0, event("update", ONE, TWO)), (30.0, event("delete", TWO, None))]
    assert changes_since(events, 5.0) == {KEY: None}
    assert changes_since(events, 15.0) == {KEY: ONE}
    assert changes_since(events, 25.0) == {KEY: TWO}
    assert changes_since(events, 35.0) == {}


def test_the_order_of_the_events_does_not_matter() -> None:
    events = [(30.0, event("update", TWO, THREE)), (20.0, event("update", ONE, TWO))]
    assert changes_since(events, 15.0) == changes_since(events[::-1], 15.0) == {KEY: ONE}


def test_an_event_without_an_object_changes_nothing() -> None:
    unchanged = event("update", ONE, ONE)
    unchanged.is_unchanged = True
    assert changes_since([(10.0, unchanged), (11.0, event("generic", None, None))], 5.0) == {}


def test_an_event_that_has_lost_its_objects_changes_nothing() -> None:
    assert changes_since([(10.0, event("update", None, None)), (11.0, event("delete", None, None))], 5.0) == {}
    assert changes_since([(10.0, event("create", None, None))], 5.0) == {KEY: None}


def test_events_are_those_of_runs_of_predicates_and_of_queues() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    first, second, third, fourth = (event("update", ONE, TWO, name) for name in "abcd")
    recorded(journal, Happened(10, 11), "a", [(9.0, first)])
    recorded(journal, Happened(21, 22), "b", [(15.0, second), (16.0, TextNote("test"))])
    journal.drop(third.origin, third, "is_interesting", 17.0)
    found = events_since(history, [(18.0, fourth)], 12.0)
    assert sorted((at, note.name) for at, note in found) == [(15.0, "b"), (17.0, "c"), (18.0, "d")]


def test_an_event_of_several_runs_comes_once() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    shared = event("update", ONE, TWO)
    for name in "abc":
        recorded(journal, Happened(10, 11), name, [(9.0, shared)])
    assert len(events_since(history, [])) == 1


def test_the_history_reaches_back_to_its_oldest_run() -> None:
    history = new_history()
    assert oldest(history) is None
    recorded(history.journal("books", BOOK), Happened(10, 11))
    assert oldest(history) == 10.0
