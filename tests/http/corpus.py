"""Requests that must not get through: malformed ones, and those that two parsers could read in two ways.

Each case is bytes with, where a body could hide one, a second request (`SMUGGLED`) that must never be handled.
"""

from __future__ import annotations

from collections.abc import Iterator

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
CHUNKED_TAIL = b"0\r\n\r\n" + SMUGGLED
MARK = b"POST /first HTTP/1.1\r\nHost: h\r\n"


def cases() -> Iterator[tuple[str, bytes]]:
    """Every case: a name and the bytes."""
    for family in (
        _length_and_encoding,
        _lengths,
        _encodings,
        _chunks,
        _line_ends,
        _header_names,
        _control_characters,
        _hosts,
        _request_lines,
        _first_bytes,
    ):
        for number, data in enumerate(family()):
            yield f"{family.__name__.strip('_')}-{number}", data


def _length_and_encoding() -> Iterator[bytes]:
    names = (b"Transfer-Encoding", b"transfer-encoding", b"TRANSFER-ENCODING")
    for name in names:
        for value in (b"chunked", b"Chunked", b"identity", b"chunked, identity", b"x"):
            for length in (b"0", b"5", b"6", b"%d" % len(CHUNKED_TAIL)):
                lines = (b"%b: %b\r\n" % (name, value), b"Content-Length: %b\r\n" % length)
                yield MARK + b"".join(lines) + b"\r\n" + CHUNKED_TAIL
                yield MARK + b"".join(reversed(lines)) + b"\r\n" + CHUNKED_TAIL


def _lengths() -> Iterator[bytes]:
    values = (
        b"+5", b"-5", b"-0", b" ", b"", b"5,5", b"5, 5", b"5;5", b"5 5", b"0x5", b"5.0", b"5e0", b"1_0", b"five",
        b"\xb2",
        b"5\x0b", b"5\x00", b"00000000000000000005", b"99999999999999999999", b"18446744073709551617", b"'5'", b'"5"',
    )  # fmt: skip
    for value in values:
        yield MARK + b"Content-Length: " + value + b"\r\n\r\nhello" + SMUGGLED
    for first, second in ((b"5", b"5"), (b"5", b"0"), (b"0", b"5"), (b"5", b""), (b"5", b"x"), (b"0", b"41")):
        yield MARK + b"Content-Length: %b\r\nContent-Length: %b\r\n\r\nhello" % (first, second) + SMUGGLED
        yield MARK + b"Content-Length: %b\r\ncontent-length: %b\r\n\r\nhello" % (first, second) + SMUGGLED


def _encodings() -> Iterator[bytes]:
    values = (
        b"identity", b"gzip", b"gzip, chunked", b"chunked, gzip", b"chunked, chunked", b"chunked,", b",chunked",
        b"xchunked", b"chunkedx", b"chunked;q=1", b"chunked\x0b", b"\x0bchunked", b'"chunked"', b"", b"cow",
        b"chun ked",
        b"chunked\x00", b"\x00chunked", b"chunked\r", b"chunked\xa0", b"\xa0chunked", b"deflate;chunked",
    )  # fmt: skip
    for value in values:
        yield MARK + b"Transfer-Encoding: " + value + b"\r\n\r\n" + CHUNKED_TAIL
    for second in (b"chunked", b"identity", b"x", b""):
        yield MARK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: %b\r\n\r\n" % second + CHUNKED_TAIL
        yield MARK + b"Transfer-Encoding: %b\r\ntransfer-encoding: chunked\r\n\r\n" % second + CHUNKED_TAIL
    yield b"POST /first HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED_TAIL
    yield (
        b"POST /first HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
        + CHUNKED_TAIL
    )


def _chunks() -> Iterator[bytes]:
    head = MARK + b"Transfer-Encoding: chunked\r\n\r\n"
    sizes = (
        b"0x5", b"+5", b"-5", b" 5", b"5 ", b"\t5", b"5\t", b"5\x0b", b"g", b"", b"5,", b"5_0", b"5\x00", b"000000005",
        b"fffffffff", b"ffffffffffffffffff", b"7fffffff", b"5\n", b"5\r", b"5;" + b"x" * 300, b"5;\x00",
        b"5;a\x7f", b"5;a\nb",
        b"5;a\rb", b"5 ;a", b"\xb2",
    )  # fmt: skip
    for size in sizes:
        yield head + size + b"\r\nhello\r\n" + CHUNKED_TAIL
    for ending in (b"", b"\n", b"\r", b"X\r\n", b"\n\r", b" \r\n", b"\r\r\n"):
        yield head + b"5\r\nhello" + ending + CHUNKED_TAIL
    for ending in (b"\n", b"\r\n\n", b"\nX: y\r\n\r\n", b"\r\r\n", b"\n\r\n", b";\n\r\n"):
        yield head + b"5\r\nhello\r\n0" + ending + SMUGGLED
    for trailer in (
        b"X: y",
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Host: other",
        b" folded",
        b"no colon",
    ):
        yield head + b"5\r\nhello\r\n0\r\n" + trailer + b"\r\n\r\n" + SMUGGLED


def _line_ends() -> Iterator[bytes]:
    good = b"GET /first HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n"
    for position in (i for i in range(len(good)) if good[i : i + 2] == b"\r\n"):
        for wrong in (b"\n", b"\r", b"\n\r", b"\r\r\n", b" \n", b"\x00\r\n", b"\x0b\r\n", b"\x85\n"):
            yield good[:position] + wrong + good[position + 2 :]
    for fold in (b" ", b"\t", b" \t "):
        yield b"GET /first HTTP/1.1\r\nHost: h\r\nX: y\r\n" + fold + b"z\r\n\r\n"
        yield b"GET /first HTTP/1.1\r\n" + fold + b"Host: h\r\n\r\n"
        yield MARK + b"Transfer-Encoding:\r\n" + fold + b"chunked\r\n\r\n" + CHUNKED_TAIL
        yield MARK + b"Content-Length: 5\r\n" + fold + b"0\r\n\r\nhello" + SMUGGLED
    yield b"GET /first HTTP/1.1\nHost: h\n\n"
    yield b"GET /first HTTP/1.1\rHost: h\r\r"


def _header_names() -> Iterator[bytes]:
    names = (
        b"X ", b" X", b"X\t", b"X\x00", b"X(", b"X)", b"X,", b"X/", b"X;", b"X<", b"X=", b"X@", b"X[", b"X\\", b"X{",
        b'X"', b"",
        b"X\x7f", b"X\x80", b"X\xff", b"X Y", b"X\x0b", b"\xef\xbb\xbfX", b"X?",
    )  # fmt: skip
    for name in names:
        yield b"GET /first HTTP/1.1\r\nHost: h\r\n" + name + b": y\r\n\r\n"
    for name in (
        b"Content-Length ",
        b"Content-Length\t",
        b" Content-Length",
        b"Content-Length\x00",
        b"Content-Length\x0b",
    ):
        yield MARK + name + b": 5\r\n\r\nhello" + SMUGGLED
    for name in (b"Transfer-Encoding ", b"Transfer-Encoding\t", b" Transfer-Encoding", b"Transfer-Encoding\x00"):
        yield MARK + name + b": chunked\r\n\r\n" + CHUNKED_TAIL
    yield b"GET /first HTTP/1.1\r\nHost: h\r\nno colon here\r\n\r\n"


def _control_characters() -> Iterator[bytes]:
    for byte in (*range(0x09), *range(0x0B, 0x0D), *range(0x0E, 0x20), 0x7F):
        yield b"GET /first HTTP/1.1\r\nHost: h\r\nX: a%cb\r\n\r\n" % byte
        yield b"GET /fi%crst HTTP/1.1\r\nHost: h\r\n\r\n" % byte


def _hosts() -> Iterator[bytes]:
    yield b"GET /first HTTP/1.1\r\n\r\n"
    yield b"GET /first HTTP/1.1\r\nX: y\r\n\r\n"
    for first, second in ((b"h", b"h"), (b"h", b"g"), (b"h", b""), (b"", b"h")):
        yield b"GET /first HTTP/1.1\r\nHost: %b\r\nHost: %b\r\n\r\n" % (first, second)
        yield b"GET /first HTTP/1.1\r\nHost: %b\r\nhOsT: %b\r\n\r\n" % (first, second)
    for host in (b"a b", b"a/b", b"a@b", b"a\x00b", b"a\xe9", b"a#b", b"a?b", b'"a"', b"a\\b"):
        yield b"GET /first HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"


def _request_lines() -> Iterator[bytes]:
    rest = b"\r\nHost: h\r\n\r\n"
    targets = (
        b"http://h/first", b"https://h/first", b"h:80", b"first", b"*", b"?first", b"#", b"/first#part", b"/f\xc3\xa9",
        b"",
        b"/a b", b"/a\x7f", b"/\xff", b"//h /x", b"\\first", b"@h/first",
    )  # fmt: skip
    for target in targets:
        yield b"GET " + target + b" HTTP/1.1" + rest
    yield b"CONNECT h:443 HTTP/1.1" + rest
    for version in (
        b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2", b"HTTP/1.10", b"HTTP/11", b"http/1.1", b"HTTP/1.", b"HTTP/.1", b"HTTP/1",
        b"HTTP",
        b"HTTP/1.1 ", b" HTTP/1.1", b"HTTPS/1.1", b"HTTP /1.1", b"HTTP/ 1.1", b"HTTP/1,1", b"HTTP/3.0",
        b"HTTP/\xb9.1", b"ICE/1.1",
    ):  # fmt: skip
        yield b"GET /first " + version + rest
    for method in (
        b"get",
        b"Get",
        b"G ET",
        b"GET\t",
        b"G\x00T",
        b"(GET)",
        b"",
        b"GET:",
        b"A" * 25,
        b"G\xc9T",
        b"G-T",
        b"G_T",
    ):
        yield method + b" /first HTTP/1.1" + rest
    yield b"GET\t/first\tHTTP/1.1" + rest
    yield b"GET  /first HTTP/1.1" + rest
    yield b"GET /first  HTTP/1.1" + rest
    yield b"GET /first\r\n"
    yield b"GET /first" + rest
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield b"HTTP/1.1 200 OK" + rest


def _first_bytes() -> Iterator[bytes]:
    good = b"GET /first HTTP/1.1\r\nHost: h\r\n\r\n"
    for first in (
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b"\t",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\x16\x03\x01\x02\x00\x01",
        b"\x80",
        b"\xff\xfe",
        b"{}",
        b"<",
    ):
        yield first + good
