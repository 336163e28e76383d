"""The process that envtest starts as etcd: it answers health checks until SIGTERM, and stores nothing.

The launcher runs this file with the standard library alone, because each suite starts it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

_FLAG = "--listen-client-urls"
_DEFAULT = "http://localhost:2379"
_WAIT_SECONDS = 5.0
"""How long a client may take to send its request."""


def main(arguments: list[str]) -> None:
    """Answer at the client URL."""
    try:
        listener = socket.create_server(address_of(arguments))
    except (OSError, ValueError) as error:
        sys.exit(f"etcd (pilotage): cannot listen: {error}")
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(0))
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(_WAIT_SECONDS)
            try:
                connection.sendall(answer(_head(connection)))
            except OSError:
                continue


def address_of(arguments: list[str]) -> tuple[str, int]:
    """Host and port of the first client URL. Raises ValueError."""
    words = [part for word in arguments for part in word.split("=", 1)]
    urls = words[words.index(_FLAG) + 1] if _FLAG in words[:-1] else _DEFAULT
    url = urls.partition(",")[0]
    scheme, _, rest = url.partition("://")
    host, _, port = rest.partition("/")[0].rpartition(":")
    if scheme != "http" or not port.isdigit():
        raise ValueError(f"{url} is not http://HOST:PORT")
    return host.strip("[]"), int(port)


def answer(head: bytes) -> bytes:
    """The response to a request: /health, /version, else 404."""
    path = head.split(b" ", 2)[1:2]
    bodies = {
        b"/health": b'{"health":"true","reason":""}',
        b"/version": b'{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}',
    }
    body = bodies.get(path[0] if path else b"", b"")
    status = b"200 OK" if body else b"404 Not Found"
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


def _head(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received and len(received) < 65536:
        part = connection.recv(4096)
        if not part:
            break
        received += part
    return received


if __name__ == "__main__":
    main(sys.argv[1:])
