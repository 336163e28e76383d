from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.scalars import times
from pilotage.meta.scalars.times import Duration, MicroTime

NOON = datetime(2026, 1, 2, 12, 0, 0, 987654, tzinfo=timezone(timedelta(hours=1)))


def test_now_is_in_utc_to_the_second() -> None:
    assert times.now(lambda: NOON) == datetime(2026, 1, 2, 11, 0, 0, tzinfo=UTC)
    assert times.system_clock().tzinfo is UTC


def test_a_time_is_written_in_utc_to_the_second() -> None:
    assert times.format(NOON) == "2026-01-02T11:00:00Z"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        times.format(datetime(2026, 1, 2))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-02T11:00:00Z", datetime(2026, 1, 2, 11, tzinfo=UTC)),
        ("2026-01-02T12:00:00+01:00", datetime(2026, 1, 2, 11, tzinfo=UTC)),
        ("2026-01-02T10:30:00-00:30", datetime(2026, 1, 2, 11, tzinfo=UTC)),
        ("2026-01-02T11:00:00.5Z", datetime(2026, 1, 2, 11, 0, 0, 500000, tzinfo=UTC)),
        ("2026-01-02T11:00:00.123456789Z", datetime(2026, 1, 2, 11, 0, 0, 123456, tzinfo=UTC)),
    ],
)
def test_times_are_read_with_their_zone(text: str, time: datetime) -> None:
    assert times.parse(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-02",
        "2026-01-02T11:00:00",
        "2026-01-02 11:00:00Z",
        "2026-01-02t11:00:00z",
        "20260102T110000Z",
    ],
)
def test_what_is_not_rfc_3339_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        times.parse(text)


@pytest.mark.parametrize(
    "text", ["2026-13-02T11:00:00Z", "2026-02-30T11:00:00Z", "2026-01-02T25:00:00Z", "2026-01-02T11:00:00+25:00"]
)
def test_times_that_are_not_in_the_calendar_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no such time"):
        times.parse(text)


def test_a_micro_time_always_has_six_digits() -> None:
    assert MicroTime.parse("2026-01-02T11:00:00Z").format() == "2026-01-02T11:00:00.000000Z"
    assert MicroTime.of(NOON).format() == "2026-01-02T11:00:00.987654Z"
    assert MicroTime.of(NOON) == NOON
    assert isinstance(MicroTime.of(NOON) + timedelta(seconds=1), MicroTime)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_micro_time_is_read_as_it_was_written(time: datetime) -> None:
    assert MicroTime.parse(MicroTime.of(time).format()) == time


@pytest.mark.parametrize(
    ("text", "seconds", "canonical"),
    [
        ("0", 0, "0s"),
        ("1h30m", 5400, "1h30m0s"),
        ("1h", 3600, "1h0m0s"),
        ("90s", 90, "1m30s"),
        ("1.5s", 1.5, "1.5s"),
        (".5h", 1800, "30m0s"),
        ("-1.5m", -90, "-1m30s"),
        ("+5s", 5, "5s"),
        ("250ms", 0.25, "250ms"),
        ("1.5ms", 0.0015, "1.5ms"),
        ("15us", 0.000015, "15µs"),
        ("15µs", 0.000015, "15µs"),
        ("15μs", 0.000015, "15µs"),
        ("1000ns", 0.000001, "1µs"),
        ("1ns", 0.000001, "1µs"),
        ("48h", 172800, "48h0m0s"),
    ],
)
def test_durations_have_gos_form(text: str, seconds: float, canonical: str) -> None:
    duration = Duration.parse(text)
    assert duration == timedelta(seconds=seconds)
    assert str(duration) == canonical


@pytest.mark.parametrize("text", ["", "-", "1", "s", "1d", "1h ", ".s", "1h-5m", "one", "9" * 200 + "h", "3000000h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a duration is"):
        Duration.parse(text)


def test_a_duration_is_made_from_text_from_a_timedelta_and_from_units() -> None:
    assert Duration("24h") == Duration(timedelta(days=1)) == Duration(hours=24) == timedelta(days=1)
    assert copy.copy(pickle.loads(pickle.dumps(Duration("1m1s")))) == Duration(seconds=61)


@pytest.mark.parametrize("given", [30, 1.5, True, None])
def test_a_duration_needs_a_unit(given: Any) -> None:
    with pytest.raises(ValueError, match="has no unit: write Duration"):
        Duration(given)


def test_a_duration_is_not_made_from_other_text() -> None:
    with pytest.raises(ValueError, match="a duration is written as 1h30m"):
        Duration("1d")


LENGTHS = st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)).map(Duration.of)


@given(LENGTHS)
def test_a_duration_is_read_as_it_was_written(duration: Duration) -> None:
    assert Duration.parse(duration.format()) == duration


def test_what_is_reckoned_with_durations_are_durations() -> None:
    second = Duration.parse("1s")
    for result in (
        second + timedelta(1),
        timedelta(1) + second,
        second - timedelta(1),
        timedelta(1) - second,
        second * 2,
        2 * second,
        -second,
        abs(second),
    ):
        assert isinstance(result, Duration)
    assert str(timedelta(seconds=90) - second) == "1m29s"
    assert repr(second) == "Duration.parse('1s')"
    assert datetime(2026, 1, 1, tzinfo=UTC) + second == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)


def _durations() -> Iterator[tuple[int, str]]:
    minute, hour, day, year = 60, 3600, 86400, 365 * 86400
    yield from [(-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s")]
    yield from [(10 * minute, "10m"), (179 * minute + 59, "179m"), (3 * hour, "3h"), (3 * hour + 61, "3h1m")]
    yield from [(8 * hour, "8h"), (47 * hour, "47h"), (2 * day, "2d"), (2 * day + 5 * hour, "2d5h"), (8 * day, "8d")]
    yield from [(729 * day, "729d"), (2 * year, "2y"), (3 * year + 9 * day, "3y9d"), (9 * year + day, "9y")]


@pytest.mark.parametrize(("seconds", "text"), list(_durations()))
def test_a_length_of_time_has_fewer_units_the_longer_it_is(seconds: int, text: str) -> None:
    assert times.rounded(seconds) == text
