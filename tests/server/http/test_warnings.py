from __future__ import annotations

import pytest

from pilotage.server.http.warnings import warning_headers


def values(*texts: str) -> list[str]:
    return [value for _, value in warning_headers(texts)]


@pytest.mark.parametrize(
    ("texts", "headers"),
    [
        (("plain", "", "plain"), ['299 - "plain"']),
        (('say "no"', "a\\b"), ['299 - "say \\"no\\""', '299 - "a\\\\b"']),
        (("line\r\nSet-Cookie: x", "tab\there", "\x85"), []),
        (("snow ☃",), ['299 - "snow ☃"']),
    ],
)
def test_warnings_are_headers_that_cannot_break_out(texts: tuple[str, ...], headers: list[str]) -> None:
    assert values(*texts) == headers


def test_warnings_within_four_kilobytes_are_whole() -> None:
    assert [len(value) for value in values("a" * 3000, "b" * 1096)] == [3000 + 8, 1096 + 8]


def test_beyond_four_kilobytes_each_is_cut_and_the_rest_is_left_out() -> None:
    headers = values(*(f"{number:04}" + "x" * 996 for number in range(1000)))
    assert {len(value) for value in headers} == {256 + 8}
    assert len(headers) == 16
    assert len(values(*(f"{number:04}" + "x" * 81 for number in range(60)))) == 49
