"""Requests of pages of other sites."""

from __future__ import annotations

import pytest

from pilotage.http.messages import Headers, HTTPRequest
from pilotage.http.origins import foreign, is_address


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:80", "localhost", "localhost:6060", "[::1]", "[::1]:6060", "10.0.0.7:6060"]
)
def test_an_address_and_localhost_are_no_name_of_a_site(host: str) -> None:
    assert is_address(host)


@pytest.mark.parametrize(
    "host",
    [
        *("", ":80", "evil.example", "evil.example:80", "localhost.evil", "127.0.0.1.evil:80", "localhost:80:80"),
        *("::1", "[::1", "127.0.0.1:x", "[evil]:80", "1"),
    ],
)
def test_any_other_name_may_be_that_of_a_site(host: str) -> None:
    assert not is_address(host)


def asked(*headers: tuple[str, str]) -> str:
    return foreign(HTTPRequest("GET", "/", Headers(headers)), is_address)


def test_a_tool_without_the_headers_of_a_browser_is_answered() -> None:
    assert not asked(("Host", "127.0.0.1:6060"))


@pytest.mark.parametrize(
    ("header", "value"),
    [("Origin", "null"), ("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Host", "127.0.0.1")],
)
def test_a_page_of_another_site_is_not(header: str, value: str) -> None:
    assert asked(("Host", "127.0.0.1:6060"), (header, value))
