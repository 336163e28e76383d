"""Correlation of events, by client-go's rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pilotage.cluster.correlation import BURST, COMBINED, Correlator, EventNames, ObjectReference, Occurrence

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
POD = ObjectReference("v1", "Pod", "shop", "web", "u-1", "7")
STARTED = Occurrence("kubelet", POD, "Normal", "Started", "it began", NOW)

pytestmark = pytest.mark.covers("T191")


def later(occurrence: Occurrence, seconds: float, message: str = "") -> Occurrence:
    time = occurrence.time + timedelta(seconds=seconds)
    return replace(occurrence, time=time, message=message or occurrence.message)


def test_the_first_is_a_new_event() -> None:
    record = Correlator().correlate(STARTED)
    assert record is not None
    assert record.document() == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"web.{1767323045678901000:x}", "namespace": "shop"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web",
            "uid": "u-1",
            "resourceVersion": "7",
        },
        "reason": "Started",
        "type": "Normal",
        "source": {"component": "kubelet"},
        "reportingComponent": "kubelet",
        "reportingInstance": "",
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "message": "it began",
        "count": 1,
        "lastTimestamp": "2026-01-02T03:04:05Z",
    }


def test_the_same_again_is_counted() -> None:
    correlator = Correlator()
    first = correlator.correlate(STARTED)
    again = correlator.correlate(later(STARTED, 60))
    assert first is not None
    assert again is not None
    assert (again.name, again.count, again.first) == (first.name, 2, NOW)
    assert again.patch() == {"message": "it began", "count": 2, "lastTimestamp": "2026-01-02T03:05:05Z"}


def test_the_tenth_of_many_like_it_is_combined_with_those_after_it() -> None:
    correlator = Correlator()
    records = [correlator.correlate(later(STARTED, number, message=f"try {number}")) for number in range(12)]
    shown = [(record.occurrence.message, record.count) for record in records if record is not None]
    assert shown[:9] == [(f"try {number}", 1) for number in range(9)]
    assert shown[9:] == [(f"{COMBINED}try 9", 1), (f"{COMBINED}try 10", 2), (f"{COMBINED}try 11", 3)]


def test_after_ten_quiet_minutes_they_are_apart_again() -> None:
    correlator = Correlator()
    for number in range(10):
        correlator.correlate(later(STARTED, number, message=f"try {number}"))
    record = correlator.correlate(later(STARTED, 10 + 601, message="try again"))
    assert record is not None
    assert record.occurrence.message == "try again"


def test_an_object_may_have_so_many_and_then_one_in_five_minutes() -> None:
    correlator = Correlator()
    assert all(correlator.correlate(STARTED) for _ in range(BURST))
    assert correlator.correlate(STARTED) is None
    other = replace(STARTED, regarding=replace(POD, name="api", uid="u-2"))
    assert correlator.correlate(other) is not None, "each object has its own"
    record = correlator.correlate(later(STARTED, 301))
    assert record is not None
    assert record.count == BURST + 2, "those that were dropped have happened all the same"
    assert correlator.correlate(later(STARTED, 302)) is None


def test_an_object_without_a_namespace_has_its_events_in_default() -> None:
    node = replace(STARTED, regarding=ObjectReference("v1", "Node", "", "n1", "u"))
    record = Correlator().correlate(node)
    assert record is not None
    assert record.document()["metadata"] == {"name": record.name, "namespace": "default"}


def test_a_name_that_no_event_can_have_is_replaced() -> None:
    role = replace(STARTED, regarding=ObjectReference("v1", "ClusterRole", "", "system:node", "u"))
    record = Correlator(EventNames(lambda: "made-up")).correlate(role)
    assert record is not None
    assert record.name == "made-up"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 100)), max_size=60))
def test_no_object_ever_gets_more_than_its_share(steps: list[tuple[str, float]]) -> None:
    correlator, time, written = Correlator(), NOW, 0
    for message, seconds in steps:
        time += timedelta(seconds=seconds)
        written += correlator.correlate(replace(STARTED, message=message, time=time)) is not None
    assert written <= BURST + (time - NOW).total_seconds() / 300 + 1
