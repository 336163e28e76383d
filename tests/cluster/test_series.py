"""Series of events.k8s.io/v1 events, by client-go's rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pilotage.cluster.correlation import REMEMBERED, ObjectReference, Occurrence
from pilotage.cluster.series import MAX_NOTE_BYTES, EventSeries, truncated

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
POD = ObjectReference("v1", "Pod", "shop", "web", "u-1", "7")
NODE = ObjectReference("v1", "Node", "", "n1", "u-2")
BOUND = Occurrence(
    "scheduler", POD, "Normal", "Scheduled", "on n1", NOW, action="Binding", related=NODE, instance="scheduler-host"
)

pytestmark = pytest.mark.covers("T191")


def later(seconds: float, occurrence: Occurrence = BOUND) -> Occurrence:
    return replace(occurrence, time=NOW + timedelta(seconds=seconds))


def counts(records: object) -> list[int]:
    return [record.count for record in records]  # type: ignore[attr-defined]  # records of a series


@pytest.mark.covers("T189")
def test_the_first_event_is_created_with_all_its_fields() -> None:
    (record,) = EventSeries().add(BOUND)
    assert record.is_new
    assert record.document() == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"web.{1767323045678901000:x}", "namespace": "shop"},
        "eventTime": "2026-01-02T03:04:05.678901Z",
        "reportingController": "scheduler",
        "reportingInstance": "scheduler-host",
        "reason": "Scheduled",
        "regarding": POD.document(),
        "related": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-2"},
        "note": "on n1",
        "type": "Normal",
        "action": "Binding",
    }


def test_the_second_event_starts_a_series_and_further_ones_are_only_counted() -> None:
    series = EventSeries()
    (first,) = series.add(BOUND)
    (second,) = series.add(later(60))
    assert (second.name, second.is_new) == (first.name, False)
    assert second.patch() == {"series": {"count": 2, "lastObservedTime": "2026-01-02T03:05:05.678901Z"}}
    assert [list(series.add(later(61 + number))) for number in range(5)] == [[]] * 5


def test_the_message_and_the_version_of_the_object_do_not_matter_for_a_series_but_the_rest_does() -> None:
    series = EventSeries()
    list(series.add(BOUND))
    same = replace(BOUND, message="on n2", regarding=replace(POD, resource_version="8"))
    assert [record.is_new for record in series.add(same)] == [False]
    others = (
        replace(BOUND, action="Unbinding"),
        replace(BOUND, reason="Preempted"),
        replace(BOUND, type="Warning"),
        replace(BOUND, related=None),
        replace(BOUND, regarding=replace(POD, uid="u-9")),
        replace(BOUND, instance="scheduler-other"),
    )
    assert [[record.is_new for record in series.add(other)] for other in others] == [[True]] * len(others)


def test_a_series_is_finished_with_its_last_count_after_six_minutes_of_silence() -> None:
    series = EventSeries()
    for seconds in (0, 1, 2, 3):
        list(series.add(later(seconds)))
    assert list(series.due(NOW + timedelta(seconds=362))) == []
    (finished,) = series.due(NOW + timedelta(seconds=364))
    assert finished.patch()["series"] == {"count": 4, "lastObservedTime": "2026-01-02T03:04:08.678901Z"}
    assert not series
    assert [record.is_new for record in series.add(later(365))] == [True]


def test_a_single_event_and_a_written_count_are_finished_without_a_write() -> None:
    series = EventSeries()
    list(series.add(BOUND))
    list(series.add(later(1, replace(BOUND, reason="Other"))))
    list(series.add(later(2, replace(BOUND, reason="Other"))))
    assert list(series.due(NOW + timedelta(seconds=400))) == []
    assert not series


def test_a_series_that_goes_on_is_refreshed_every_thirty_minutes() -> None:
    series = EventSeries()
    refreshed: list[int] = []
    for minute in range(91):
        list(series.add(later(minute * 60)))
        refreshed += counts(series.due(NOW + timedelta(seconds=minute * 60)))
    assert refreshed == [31, 61, 91]


def test_counts_that_are_not_written_are_written_at_the_end() -> None:
    series = EventSeries()
    for seconds in range(7):
        list(series.add(later(seconds)))
    assert counts(series.finish()) == [7]
    assert counts(series.finish()) == []


def test_the_memory_is_bounded_and_what_is_forgotten_is_finished() -> None:
    series = EventSeries()
    for _ in range(3):
        list(series.add(BOUND))
    written = []
    for number in range(REMEMBERED):
        written += [record for record in series.add(replace(BOUND, reason=f"R{number}")) if not record.is_new]
    assert counts(written) == [3]


def test_events_of_the_same_microsecond_have_different_names() -> None:
    series = EventSeries()
    names = {record.name for reason in "abc" for record in series.add(replace(BOUND, reason=reason))}
    assert len(names) == 3


def test_a_note_is_truncated_to_what_the_server_accepts() -> None:
    (record,) = EventSeries().add(replace(BOUND, message="é" * 2000))
    note = record.document()["note"]
    assert isinstance(note, str)
    assert len(note.encode()) <= MAX_NOTE_BYTES
    assert note.endswith("é...")
    assert truncated("x" * MAX_NOTE_BYTES, MAX_NOTE_BYTES) == "x" * MAX_NOTE_BYTES


@given(st.lists(st.floats(0, 900), max_size=40))
def test_no_event_is_lost_from_the_counts(pauses: list[float]) -> None:
    series, now, written = EventSeries(), NOW, dict[str, int]()
    for pause in pauses:
        now += timedelta(seconds=pause)
        records = [*series.due(now), *series.add(replace(BOUND, time=now))]
        written |= {record.name: record.count for record in records}
    written |= {record.name: record.count for record in series.finish()}
    assert sum(written.values()) == len(pauses)
