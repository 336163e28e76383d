from __future__ import annotations

import pytest

from pilotage.kubernetes.batch.schedules import schedule_problem, zone_problem


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-23/2 ? jan-DEC mon,wed",
        "0 0 1,15 * 6",
        "5/10 * * * *",
        "1,,2 * * * *",
        "@hourly",
        "@midnight",
        "@every 1h30m",
        "  0   0  *  *  *  ",
    ],
)
def test_a_schedule_is_accepted(schedule: str) -> None:
    assert schedule_problem(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("1/-5 * * * *", "negative number (-5) not allowed: -5"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("TZ=Nowhere/City * * * * *", "provided bad location Nowhere/City: unknown time zone Nowhere/City"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_named(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem


def test_a_number_with_many_digits_is_refused_in_bounded_time() -> None:
    assert schedule_problem(f"{'9' * 100_000} * * * *").endswith("value out of range")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Etc/GMT+5"])
def test_a_time_zone_is_accepted(zone: str) -> None:
    assert zone_problem(zone) == ""


@pytest.mark.parametrize("zone", ["Nowhere/City", "../x", "Europe", "a/-b", "Europe//Berlin", "a" * 15])
def test_another_time_zone_is_unknown(zone: str) -> None:
    assert zone_problem(zone) == f"unknown time zone {zone}"
