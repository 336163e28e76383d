"""The connections of a client: which ones it waits for when it is closed."""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest

from pilotage.http.connector import Address
from pilotage.http.exchange import ClientConnection
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.pool import Pool


@pytest.mark.parametrize("retired", ["surplus", "outdated"])
async def test_a_pool_waits_for_connections_that_it_has_closed_before(
    retired: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of TLS takes a round trip: a socket that is still open when the loop ends is a leak."""
    made: list[ClientConnection] = []

    async def connect(*_: object) -> ClientConnection:
        connection = ClientConnection(HTTPLimits(), asyncio.get_running_loop())
        transport = mock.create_autospec(asyncio.Transport, instance=True)
        transport.is_closing.return_value = False
        transport.get_write_buffer_size.return_value = 0
        connection.connection_made(transport)
        made.append(connection)
        return connection

    monkeypatch.setattr("pilotage.http.pool.connect", connect)
    monkeypatch.setattr(ClientConnection, "release", lambda connection: None)
    address = Address("127.0.0.1", 1)
    pool = Pool(address, HTTPLimits(pool_connections=1), Timeouts())
    taken = [await pool.open() for _ in range(2 if retired == "surplus" else 1)]
    for connection in taken:
        pool.give_back(connection)
    if retired == "outdated":
        pool.renew(address)
    closing = asyncio.ensure_future(pool.close())
    for connection in made[1:]:
        connection.connection_lost(None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not closing.done()
    made[0].connection_lost(None)
    await closing
