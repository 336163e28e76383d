from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.kit.printers.ages import age

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (timedelta(seconds=-5), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=9, seconds=59), "9m59s"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=3), "3h"),
        (timedelta(hours=7, minutes=59), "7h59m"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=7, hours=23), "7d23h"),
        (timedelta(days=729), "729d"),
        (timedelta(days=800), "2y70d"),
    ],
)
def test_an_age_is_as_precise_as_one_cares_to_know(passed: timedelta, shown: str) -> None:
    assert age(NOW - passed, NOW) == shown


def test_what_has_no_time_has_no_age() -> None:
    assert age(None, NOW) == "-"
