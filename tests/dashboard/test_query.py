"""The parameters of a request."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pilotage.dashboard.query import BadQuery, Query

ALLOWED = ("at", "limit", "name")


def test_parameters_are_decoded() -> None:
    query = Query("name=a%2Fb&limit=3&at=2026-01-31T12:00:00.5Z", ALLOWED)
    assert query.text("name") == "a/b"
    assert query.number("limit", 10, 5) == 3
    assert query.time("at") == datetime(2026, 1, 31, 12, 0, 0, 500_000, tzinfo=UTC)


def test_what_is_not_given_has_a_default() -> None:
    query = Query("limit=", ALLOWED)
    assert (query.text("name"), query.number("limit", 10, 5), query.time("at")) == ("", 10, None)
    with pytest.raises(BadQuery, match="name is missing"):
        query.required("name")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=1", "unknown parameter 'x'"),
        ("name=1&name=2", "given twice"),
        (f"name={'x' * 513}", "more than 512 characters"),
        ("&".join(f"{number}=1" for number in range(21)), "at most 20 parameters"),
        ("name=%ff", "UTF-8"),
    ],
)
def test_what_cannot_be_used_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadQuery, match=message):
        Query(text, ALLOWED)


@pytest.mark.parametrize("text", ["-1", "1.5", "ten", "٣", "9" * 19, "1e3"])
def test_a_number_is_whole(text: str) -> None:
    with pytest.raises(BadQuery, match="whole number"):
        Query(f"limit={text}", ALLOWED).number("limit", 1, 5)


def test_a_number_is_at_most_the_bound() -> None:
    assert Query("limit=1000000", ALLOWED).number("limit", 1, 5) == 5


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z", "0", "2026-01-01", "9999-12-31T23:59:59-23:59"])
def test_a_time_is_in_rfc_3339(text: str) -> None:
    with pytest.raises(BadQuery, match="a time such as"):
        Query(f"at={text}", ALLOWED).time("at")
