"""HTTP over a Unix socket: the same server and client, without an address."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pilotage.errors import ConnectionLost
from pilotage.http.client import HTTPClient
from pilotage.http.connector import ServerRoute
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.http.server import serve_on


async def test_requests_over_a_unix_socket_are_answered(tmp_path: Path) -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, (), f"{request.target} {request.headers.get('host')} {request.peer.host}.".encode())

    path = str(tmp_path / "a.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    async with serve_on(listener, handler) as server:
        assert server.address == (path, 0)
        async with HTTPClient("localhost", 80, route=ServerRoute(socket_path=path)) as client:
            for target in ("/1", "/2"):
                assert (await client.request("GET", target)).body == f"{target} localhost .".encode()
            assert client.statistics().opened == 1
    async with HTTPClient("localhost", 80, route=ServerRoute(socket_path=path)) as client:
        with pytest.raises(ConnectionLost, match=r"cannot connect to .*a\.sock: Connection refused"):
            await client.request("GET", "/")
