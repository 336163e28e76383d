from __future__ import annotations

import pytest

from pilotage.http.heads import (
    CHUNKED,
    UNTIL_CLOSE,
    Refusal,
    check_request_line,
    header_lines,
    parse_request_head,
    parse_response_head,
    status_line,
)
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Headers


def response(block: str, method: str = "GET") -> tuple[int, int, bool]:
    head = parse_response_head(block, method, HTTPLimits())
    return head.status, head.length, head.keep_alive


def test_header_values_are_trimmed_and_names_are_in_lower_case() -> None:
    head = parse_request_head("GET /a?b HTTP/1.1\r\nHost: h\r\nX-Y: \t a b \r\nx-y:c\r\n\r\n", HTTPLimits())
    assert (head.method, head.target) == ("GET", "/a?b")
    assert head.fields.headers.all("x-y") == ("a b", "c")
    assert head.fields.headers.get("x-y") == "a b"
    assert head.fields.headers.get("missing", "?") == "?"
    assert "host" in head.fields.headers
    assert "Host" not in head.fields.headers


@pytest.mark.parametrize(
    ("version", "connection", "kept"),
    [
        ("1.1", "", True),
        ("1.1", "Connection: close\r\n", False),
        ("1.1", "Connection: Upgrade, CLOSE\r\n", False),
        ("1.1", "Connection: x\r\nConnection: close\r\n", False),
        ("1.0", "", False),
        ("1.0", "Connection: Keep-Alive\r\n", True),
    ],
)
def test_a_connection_is_kept_as_version_and_header_say(version: str, connection: str, kept: bool) -> None:
    assert (
        parse_request_head(f"GET / HTTP/{version}\r\nHost: h\r\n{connection}\r\n", HTTPLimits()).fields.keep_alive
        is kept
    )


def test_an_expectation_that_is_not_100_continue_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        parse_request_head("POST / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", HTTPLimits())
    assert refused.value.status == 417


def test_options_may_ask_for_the_server_as_a_whole() -> None:
    assert parse_request_head("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", HTTPLimits()).target == "*"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", (200, 5, True)),
        ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n", (200, CHUNKED, True)),
        ("HTTP/1.1 200 OK\r\n\r\n", (200, UNTIL_CLOSE, False)),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", (204, 0, True)),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", (304, 0, True)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", (200, 5, False)),
    ],
)
def test_the_headers_of_a_response_define_where_its_body_ends(block: str, expected: tuple[int, int, bool]) -> None:
    assert response(block) == expected


def test_a_response_to_head_has_no_body() -> None:
    assert response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD") == (200, 0, True)


@pytest.mark.parametrize(
    "block",
    [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 999 OK\r\n\r\n",
        "<html>\r\n\r\n",
    ],
)
def test_a_response_that_could_be_read_in_two_ways_is_refused(block: str) -> None:
    with pytest.raises(Refusal):
        response(block)


@pytest.mark.parametrize(
    "pair",
    [("X", "a\r\nY: b"), ("X", "a\nb"), ("X\r\n", "a"), ("X Y", "a"), ("", "a"), ("X", "\ud800"), ("X", "\x00")],
)
def test_a_header_cannot_smuggle_another(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="not a valid header"):
        header_lines((pair,))


@pytest.mark.parametrize(("sent", "read"), [("é ☃".encode(), "é ☃"), (b"\xe9", "\ufffd")])
def test_the_value_of_a_header_is_utf_8(sent: bytes, read: str) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\nImpersonate-User: " + sent + b"\r\n\r\n"
    assert parse_request_head(head.decode("latin-1"), HTTPLimits()).fields.headers.get("impersonate-user") == read
    assert header_lines((("X", "é ☃"),)) == "X: é ☃\r\n".encode()


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection"])
def test_headers_that_frame_the_message_are_not_for_callers(name: str) -> None:
    with pytest.raises(ValueError, match="frames the message"):
        header_lines(((name, "1"),))


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET", "/a b"), ("GET", "/a\r\nX: y"), ("G T", "/"), ("GET", ""), ("GET", "/é"), ("GET", "/#a")],
)
def test_a_request_line_cannot_be_broken(method: str, target: str) -> None:
    with pytest.raises(ValueError, match="not a valid request line"):
        check_request_line(method, target)


def test_a_status_line_has_the_standard_words() -> None:
    assert status_line(404) == b"HTTP/1.1 404 Not Found\r\n"
    with pytest.raises(ValueError, match="100"):
        status_line(100)


def test_headers_compare_by_value_and_print_readably() -> None:
    assert Headers([("A", "b")]) == Headers([("a", "b")])
    assert repr(Headers([("A", "b")])) == "Headers([('a', 'b')])"
    assert len({Headers([("A", "b")]), Headers([("a", "b")])}) == 1


def test_fields_that_are_known_are_not_read_again_and_others_are() -> None:
    first = parse_request_head("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", HTTPLimits())
    same = parse_request_head("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n", HTTPLimits(), first.fields)
    assert same.fields is first.fields
    other = parse_request_head("GET /2 HTTP/1.1\r\nHost: g\r\n\r\n", HTTPLimits(), first.fields)
    assert other.fields.headers.get("host") == "g"
    old = parse_request_head("GET /2 HTTP/1.0\r\nHost: h\r\n\r\n", HTTPLimits(), first.fields)
    assert not old.fields.keep_alive
