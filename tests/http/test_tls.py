from __future__ import annotations

import asyncio
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from pilotage.errors import ConnectionLost
from pilotage.http.client import HTTPClient
from pilotage.http.connector import ServerRoute
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import Server, serve
from pilotage.http.tls import client_context, server_context
from pilotage.testing.proxy import Answer, Cut, FaultProxy
from tests.http import raw
from tests.http.certificates import Authority, Pair
from tests.http.raw import until


async def handler(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
    async def lines() -> AsyncIterator[bytes]:
        for number in range(5000):
            yield b'{"n":%d}\n' % number

    if request.target == "/watch":
        return StreamingResponse(200, (), lines())
    who = dict(pair[0] for pair in (request.peer.certificate or {}).get("subject", ()))
    return HTTPResponse(
        200, (("X-Secure", str(request.peer.secure)),), who.get("commonName", "nobody").encode() + request.body
    )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    return authority.issue("server")


def server_side(pair: Pair) -> ssl.SSLContext:
    return server_context(pair.cert_file, pair.key_file)


async def test_requests_and_streams_go_through_tls(authority: Authority, pair: Pair) -> None:
    trusting = client_context(ca_data=authority.ca_data)
    async with (
        serve(handler, ssl=server_side(pair)) as server,
        HTTPClient("127.0.0.1", server.port, ssl=trusting) as client,
    ):
        for _ in range(2):
            response = await client.request("PUT", "/", body=b"x" * 500_000)
            assert response.headers.get("x-secure") == "True"
            assert response.body == b"nobody" + b"x" * 500_000
        received: list[bytes] = []
        async with client.stream("GET", "/watch") as stream:
            async for lines in stream.lines():
                received += lines
        assert len(received) == 5000
        assert client.statistics().opened == 1


async def test_a_server_with_an_unknown_authority_is_trusted_only_on_request(pair: Pair) -> None:
    async with serve(handler, ssl=server_side(pair)) as server:
        async with HTTPClient("127.0.0.1", server.port, ssl=client_context()) as client:
            with pytest.raises(ConnectionLost, match="certificate verify failed") as lost:
                await client.request("POST", "/")
            assert not lost.value.sent
        async with HTTPClient("127.0.0.1", server.port, ssl=client_context(verify=False)) as client:
            assert (await client.request("GET", "/")).status == 200


async def test_a_certificate_that_is_its_own_authority_is_trusted_alone(authority: Authority, pair: Pair) -> None:
    """Go trusts each certificate that it is given; envtest gives the one of a webhook as its authority."""
    other = authority.issue("other")
    trusting = client_context(pair.cert_file)
    async with (
        serve(handler, ssl=server_side(pair)) as server,
        HTTPClient("127.0.0.1", server.port, ssl=trusting) as client,
    ):
        assert (await client.request("GET", "/")).status == 200
    async with (
        serve(handler, ssl=server_side(other)) as server,
        HTTPClient("127.0.0.1", server.port, ssl=trusting) as client,
    ):
        with pytest.raises(ConnectionLost, match="certificate verify failed"):
            await client.request("GET", "/")


async def test_the_name_of_the_certificate_must_fit(authority: Authority, pair: Pair) -> None:
    trusting = client_context(authority.ca_file)
    async with serve(handler, ssl=server_side(pair)) as server:
        async with HTTPClient("127.0.0.1", server.port, ssl=trusting, route=ServerRoute("other")) as client:
            with pytest.raises(ConnectionLost, match="Hostname mismatch"):
                await client.request("GET", "/")
        async with HTTPClient("127.0.0.1", server.port, ssl=trusting, route=ServerRoute("localhost")) as client:
            assert (await client.request("GET", "/")).status == 200


async def test_with_an_authority_for_clients_they_must_show_who_they_are(authority: Authority, pair: Pair) -> None:
    context = server_context(pair.cert_file, pair.key_file, client_ca_file=authority.ca_file)
    own = authority.issue("alice")
    async with serve(handler, ssl=context) as server:
        known = client_context(authority.ca_file, cert_file=own.cert_file, key_file=own.key_file)
        async with HTTPClient("127.0.0.1", server.port, ssl=known) as client:
            assert (await client.request("GET", "/")).body == b"alice"
        async with HTTPClient("127.0.0.1", server.port, ssl=client_context(authority.ca_file)) as client:
            with pytest.raises(ConnectionLost):
                await client.request("GET", "/")


async def test_old_versions_of_tls_are_refused(authority: Authority, pair: Pair) -> None:
    old = client_context(authority.ca_file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    async with serve(handler, ssl=server_side(pair)) as server, HTTPClient("127.0.0.1", server.port, ssl=old) as client:
        with pytest.raises(ConnectionLost):
            await client.request("GET", "/")


async def half_done(server: Server, stack: AsyncExitStack) -> list[raw.Raw]:
    """Clients that send nothing, and clients that send the start of a handshake."""
    silent = [await stack.enter_async_context(raw.connect(server.port)) for _ in range(100)]
    for client in silent[:50]:
        client.send(b"\x16\x03\x01\x02\x00\x01\x00")
    return silent


async def test_half_done_handshakes_do_not_hinder_others(authority: Authority, pair: Pair) -> None:
    limits = HTTPLimits(handshake_seconds=100)
    async with serve(handler, ssl=server_side(pair), limits=limits) as server, AsyncExitStack() as stack:
        await half_done(server, stack)
        async with HTTPClient("127.0.0.1", server.port, ssl=client_context(authority.ca_file)) as honest:
            assert (await honest.request("GET", "/")).status == 200
            assert server.statistics().connections == 101


async def test_half_done_handshakes_are_cut(pair: Pair) -> None:
    limits = HTTPLimits(handshake_seconds=0.05)
    async with serve(handler, ssl=server_side(pair), limits=limits) as server, AsyncExitStack() as stack:
        silent = await half_done(server, stack)
        assert set(await asyncio.gather(*(client.receive() for client in silent))) == {b""}
        await until(lambda: server.statistics().connections == 0)


async def test_plain_http_on_a_tls_port_ends_quickly_and_disturbs_no_other_client(
    authority: Authority, pair: Pair
) -> None:
    async with serve(handler, ssl=server_side(pair)) as server:
        await raw.exchange(server.port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        async with HTTPClient("127.0.0.1", server.port, ssl=client_context(authority.ca_file)) as client:
            assert (await client.request("GET", "/")).status == 200


async def test_a_client_gives_up_on_a_server_that_does_not_shake_hands() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    timeouts = Timeouts(handshake=0.05)
    async with listener, HTTPClient("127.0.0.1", port, ssl=client_context(verify=False), timeouts=timeouts) as client:
        with pytest.raises(ConnectionLost, match="cannot connect"):
            await client.request("GET", "/")


async def test_the_fault_proxy_ends_tls_or_lets_it_through(authority: Authority, pair: Pair) -> None:
    trusting = client_context(authority.ca_file)
    async with serve(handler, ssl=server_side(pair)) as server:
        async with FaultProxy(*server.address, server_ssl=server_side(pair), client_ssl=trusting) as proxy:
            proxy.add(Answer(503))
            async with HTTPClient(*proxy.address, ssl=trusting) as client:
                assert [(await client.request("GET", "/")).status for _ in range(2)] == [503, 200]
        async with FaultProxy(*server.address, http=False) as proxy, HTTPClient(*proxy.address, ssl=trusting) as client:
            assert (await client.request("GET", "/")).status == 200
            proxy.add(Cut(after_bytes=proxy.statistics().bytes_down + 10))
            with pytest.raises(ConnectionLost):
                await client.request("POST", "/")
