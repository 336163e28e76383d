"""What is new in a history, and the state at an earlier moment."""

from __future__ import annotations

from pilotage.dashboard.state.follower import Follower, follower_at
from pilotage.history.records import TextNote
from tests.counting import counted_lines
from tests.dashboard.records import BOOK, Happened, new_history, recorded


def test_each_run_is_reported_once_when_it_has_ended() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    follower = Follower()
    recorded(journal, Happened(1, 2), "a")
    running = recorded(journal, Happened(3, None), "b")
    assert [run.request.name for run in follower.advance(history)] == ["a"]
    assert follower.tally("books").runs == {running}
    recorded(journal, Happened(4, 5), "c")
    assert [run.request.name for run in follower.advance(history)] == ["c"]
    journal.end(running, 6.0)
    assert [run.request.name for run in follower.advance(history)] == ["b"]
    assert follower.advance(history) == []


def test_the_last_reconcile_of_an_object_is_the_one_with_the_highest_number() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    follower = Follower()
    recorded(journal, Happened(1, 2), error="OSError: no paper")
    follower.advance(history)
    last = follower.last_run("books", "default", "a")
    assert last is not None
    assert (last.number, last.error, last.runs) == (1, "OSError: no paper", 1)
    recorded(journal, Happened(3, 4))
    follower.advance(history)
    assert (last.number, last.error, last.runs) == (2, "", 2)


def test_runs_that_were_dropped_before_they_were_seen_are_no_error() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    follower = Follower()
    for number in range(5):
        recorded(journal, Happened(number, number + 1))
    history.ring.entries.clear()
    assert follower.advance(history) == []


def test_an_earlier_moment_has_what_ran_and_what_waited_then() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    recorded(journal, Happened(1, 2), "a", error="OSError")
    running = recorded(journal, Happened(5, 20), "b")
    recorded(journal, Happened(30, 31), "c", [(8.0, TextNote("test"))])
    recorded(journal, Happened(40, 41), "a", [(35.0, TextNote("test"))])
    past = follower_at(history, 10.0)
    tally = past.tally("books")
    assert tally.runs == {running}
    assert tally.queued == 1
    last = past.last_run("books", "default", "a")
    assert last is not None
    assert (last.number, last.error) == (1, "OSError")
    assert past.last_run("books", "default", "c") is None


def test_what_was_seen_costs_nothing_again() -> None:
    history = new_history()
    journal = history.journal("books", BOOK)
    follower = Follower()
    for number in range(1000):
        recorded(journal, Happened(number, number + 1))
    follower.advance(history)
    recorded(journal, Happened(1000, 1001))
    with counted_lines() as lines:
        follower.advance(history)
    assert lines.count < 100
