from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.server.eventlog import EventLog, LoggedEvent
from pilotage.storage.interface import Entry, Event


def change(revision: int, size: int = 10) -> LoggedEvent:
    return LoggedEvent(Event("k", revision, Entry("k", b"x" * size, revision, 1), None))


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 40)), max_size=80), st.integers(2, 20), st.integers(50, 400)
)
def test_every_change_after_the_floor_is_there_and_the_log_stays_small(
    steps: list[tuple[int, int]], events: int, size: int
) -> None:
    log = EventLog(5, events=events, size=size)
    written: list[int] = []
    revision = 5
    for step, length in steps:
        revision += step
        written.append(revision)
        log.extend([change(revision, length)])
        held = log.since(log.first, 1000)
        assert [one.revision for one in held] == [number for number in written if number > log.floor]
        assert len(held) <= events
        assert sum(one.size for one in held) <= max(size, held[-1].size)
        for version in range(log.floor, revision + 1):
            found = log.since(log.position_after(version), 1000)
            assert [one.revision for one in found] == [number for number in written if number > version]


def test_places_never_come_again() -> None:
    log = EventLog(0, events=4, size=1000)
    log.extend([change(1), change(2)])
    end = log.end
    log.clear(10)
    assert log.first > end - 1
    log.extend([change(11)])
    assert log.position_after(10) == log.first


def test_a_frame_is_made_once_for_each_type_and_generation() -> None:
    made: list[tuple[str, str]] = []

    def render(kind: str, generation: str, entry: Entry, revision: int) -> bytes:
        made.append((kind, generation))
        return b"frame"

    one = change(7)
    for _ in range(3):
        one.frame(render, "v6")
        one.frame(render, "v6", "MODIFIED")
        one.frame(render, "v8")
    assert made == [("ADDED", "v6"), ("MODIFIED", "v6"), ("ADDED", "v8")]
