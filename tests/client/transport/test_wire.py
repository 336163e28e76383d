"""Parsing the answers of an API server."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.client.transport import wire
from pilotage.errors import (
    ApiError,
    Conflict,
    DecodeError,
    NotFound,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
)


def test_a_list_is_cut_into_the_bytes_of_its_items() -> None:
    metadata = b'{"resourceVersion":"7","continue":"next","remainingItemCount":3}'
    body = b'{"kind":"ThingList","metadata":' + metadata + b',"items":[ {"a":1} ,{"b":[2]}]}'
    page = wire.page(body)
    assert [bytes(item) for item in page.items] == [b'{"a":1}', b'{"b":[2]}']
    assert (page.resource_version, page.continue_token, page.remaining_item_count) == ("7", "next", 3)


@pytest.mark.parametrize(
    "body", [b'{"kind":"ThingList","items":null,"metadata":{}}', b'{"kind":"Status","status":"Success"}']
)
def test_a_list_without_items_is_empty(body: bytes) -> None:
    page = wire.page(body)
    assert (list(page.items), page.resource_version, page.remaining_item_count) == ([], "", None)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"items":[]}', b"<html>", b'{"items":{}}', b'{"items":[{"a":', b"\xff\xfe", b"[" * 50_000],
)
def test_an_answer_that_is_not_a_list_is_reported_with_its_beginning(body: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        wire.page(body)
    assert len(str(caught.value)) < 700


def test_a_watch_line_is_cut() -> None:
    event = wire.watch_event(b'{"type":"ADDED","object":{"a": 1}}')
    assert (event.type, bytes(event.object)) == ("ADDED", b'{"a": 1}')
    reordered = wire.watch_event(b'{"object":{},"type":"DELETED","more":1}')
    assert (reordered.type, bytes(reordered.object)) == ("DELETED", b"{}")


@pytest.mark.parametrize(
    "line", [b"", b"{}", b'{"type":"ADDED"}', b'{"type":"SHOUTED","object":{}}', b'{"type":"ADDED","ob']
)
def test_a_line_that_is_not_an_event_is_reported(line: bytes) -> None:
    with pytest.raises(DecodeError, match="line of the watch"):
        wire.watch_event(line)


def test_a_status_becomes_the_error_it_stands_for() -> None:
    status = {
        "kind": "Status",
        "code": 409,
        "reason": "Conflict",
        "message": "modified",
        "details": {"name": "a", "kind": "widgets"},
    }
    error = wire.error(409, msgspec.json.encode(status), asked="PUT /x")
    assert type(error) is Conflict
    assert str(error) == "modified"
    assert error.status.details is not None
    assert error.status.details.name == "a"


def test_the_code_of_the_answer_stands_in_for_a_missing_one() -> None:
    error = wire.error(401, b'{"kind":"Status","message":"who are you?"}', asked="GET /x")
    assert type(error) is Unauthorized
    assert error.status.code == 401


@pytest.mark.parametrize(
    ("code", "body", "leaf", "message"),
    [
        (404, b"404 page not found\n", NotFound, "the server answered 404 to GET /x: 404 page not found"),
        (503, b"<html>\n<b>try  later</b>", ServiceUnavailable, "503 to GET /x: <html> <b>try later</b>"),
        (502, b"", ApiError, "the server answered 502 to GET /x"),
        (404, b'{"kind":"Pod"}', NotFound, "404 to GET /x"),
        (404, b"[]", NotFound, "404 to GET /x"),
        (302, b"moved", ApiError, "302"),
        (400, b"\xff\x00\x1b[31m", ApiError, "400"),
    ],
)
def test_an_answer_without_a_status_is_read_by_its_code(
    code: int, body: bytes, leaf: type[ApiError], message: str
) -> None:
    error = wire.error(code, body, asked="GET /x")
    assert isinstance(error, leaf)
    assert message in str(error)
    assert error.status.code == code
    assert str(error).isprintable()


def test_a_long_answer_is_cut_short_in_the_message() -> None:
    assert len(str(wire.error(500, b"x" * 100_000, asked="GET /x"))) < 400


@pytest.mark.parametrize(("header", "seconds"), [("5", 5), ("Wed, 21 Oct 2026 07:28:00 GMT", 1), ("", 0)])
def test_how_long_to_wait_is_kept(header: str, seconds: int) -> None:
    plain = wire.error(429, b"slow down", asked="GET /x", retry_after=header)
    assert isinstance(plain, TooManyRequests)
    assert plain.retry_after_seconds == seconds
    status = wire.error(503, b'{"kind":"Status","reason":"ServiceUnavailable"}', asked="GET /x", retry_after=header)
    assert status.retry_after_seconds == seconds


def test_the_status_overrides_the_header() -> None:
    body = b'{"kind":"Status","reason":"Timeout","details":{"retryAfterSeconds":9}}'
    assert wire.error(504, body, asked="GET /x", retry_after="2").retry_after_seconds == 9


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ('299 - "plain"', "plain"),
        (r'299 - "unknown field \"spec.x\""', 'unknown field "spec.x"'),
        (r'299 - "back\\slash" "date"', "back\\slash"),
        ("nothing quoted", "nothing quoted"),
        ('299 - "never closed', "never closed"),
    ],
)
def test_warnings_are_unquoted(header: str, text: str) -> None:
    assert wire.warnings([header]) == (text,)


@given(st.integers(300, 599), st.binary(max_size=200), st.text(max_size=20))
def test_any_answer_becomes_an_error(code: int, body: bytes, retry_after: str) -> None:
    error = wire.error(code, body, asked="GET /x", retry_after=retry_after)
    assert isinstance(error, ApiError)
    assert error.retry_after_seconds >= 0
