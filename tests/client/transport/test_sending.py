"""The credentials of a client change while it runs: tokens, certificates, authorities; and proxies on the way."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilotage.client import Client
from pilotage.client.config import Config
from pilotage.client.credentials.credentials import (
    REREAD_SECONDS,
    ClientCertificate,
    Credentials,
    Material,
    StaticCredentials,
    TokenFile,
    read_file,
)
from pilotage.client.credentials.execplugin import ExecCredentials
from pilotage.client.credentials.trust import Trust
from pilotage.client.retries import Retries
from pilotage.client.transport.http import HTTPTransport
from pilotage.client.transport.sending import proxy_of
from pilotage.cluster import Cluster
from pilotage.errors import ConnectionLost, InvalidDefinition, NoCredentials, Unauthorized
from pilotage.http.connector import Proxy
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from pilotage.http.tls import server_context
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.models import ObjectMeta
from pilotage.rest import APIRequest, Verb
from pilotage.server.http.handler import HTTPHandler
from pilotage.types.core.v1 import ConfigMap, Namespace
from tests.clocks import Seconds

from ...http.certificates import Authority, Pair
from ..credentials.test_execplugin import plugin, runs

GET = APIRequest(Verb.GET, GroupVersionResource("", "v1", "namespaces"), name="default")
WATCH = APIRequest(Verb.WATCH, GroupVersionResource("", "v1", "namespaces"))


class Rotating:
    """An API server whose token can change."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.token = "one"
        self.refusals = 0

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        answer = await HTTPHandler(self._cluster.registry, self.token)(request)
        self.refusals += answer.status == 401
        return answer


@asynccontextmanager
async def rotating(credentials: Credentials) -> AsyncIterator[tuple[Rotating, HTTPTransport]]:
    async with Cluster.embedded("memory:") as cluster:
        handler = Rotating(cluster)
        async with serve(handler) as server:
            transport = HTTPTransport.from_config(Config(f"http://127.0.0.1:{server.port}", credentials))
            async with transport:
                yield handler, transport


@pytest.mark.covers("F30")
async def test_a_token_that_is_refused_is_read_again_at_once_for_writes_too(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    async with rotating(TokenFile(str(path))) as (handler, transport):
        client = Client(transport)
        await client.get(Namespace, "default")
        handler.token = "two"
        path.write_text("two")
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        assert handler.refusals == 1
        handler.token = "three"
        path.write_text("three")
        async with transport.watch(WATCH) as events:
            assert (await anext(events)).type == "ADDED"
        assert handler.refusals == 2
        handler.token = "four"
        with pytest.raises(Unauthorized):
            await client.get(Namespace, "default")
        assert handler.refusals == 3, "what is shown is the same as before: it is not shown again"


async def test_a_plugin_is_run_again_when_its_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "answer").write_text("one")
    body = f"credential(token=open({str(tmp_path / 'answer')!r}).read())"
    async with rotating(ExecCredentials(plugin(tmp_path, body))) as (handler, transport):
        await transport.call(GET)
        await transport.call(GET)
        assert runs(tmp_path) == 1
        handler.token = "two"
        (tmp_path / "answer").write_text("two")
        await transport.call(GET)
        assert runs(tmp_path) == 2


async def test_a_static_token_that_is_refused_is_not_sent_twice() -> None:
    async with rotating(StaticCredentials(Material("wrong"))) as (handler, transport):
        with pytest.raises(Unauthorized):
            await transport.call(GET)
        with pytest.raises(Unauthorized):
            async with transport.watch(WATCH):
                pytest.fail("the watch has begun")
    assert handler.refusals == 2


@asynccontextmanager
async def asking_for_certificates(authority: Authority) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that records the common names of client certificates."""
    names: list[str] = []

    async def handler(request: HTTPRequest) -> HTTPResponse:
        certificate = request.peer.certificate or {}
        names.extend(value for part in certificate.get("subject", ()) for key, value in part if key == "commonName")
        return HTTPResponse(200, [("content-type", "application/json")], b"{}")

    pair = authority.issue("localhost")
    context = server_context(pair.cert_file, pair.key_file, client_ca_file=authority.ca_file)
    async with serve(handler, ssl=context) as server:
        yield server.port, names


def installed(folder: Path, pair: Pair) -> ClientCertificate:
    """Put a pair where the client looks for it, by renaming, as rotations are done."""
    cert, key = folder / "client.crt", folder / "client.key"
    for source, target in ((pair.cert_file, cert), (pair.key_file, key)):
        shutil.copy(source, f"{target}.new")
        os.replace(f"{target}.new", target)
    return ClientCertificate(str(cert), str(key))


@pytest.mark.covers("F30")
async def test_a_client_certificate_is_shown_and_its_successor_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    certificate = installed(tmp_path, authority.issue("alice"))
    clock = Seconds()
    monkeypatch.setattr("pilotage.client.transport.sending.Trust", lambda config: Trust(config, clock=clock))
    async with asking_for_certificates(authority) as (port, names):
        credentials = StaticCredentials(Material(certificate=certificate))
        config = Config(f"https://localhost:{port}", credentials, ca_file=authority.ca_file)
        async with HTTPTransport.from_config(config) as transport:
            await transport.call(GET)
            installed(tmp_path, authority.issue("bob"))
            await transport.call(GET)
            clock.now += REREAD_SECONDS
            await transport.call(GET)
            shutil.copy(authority.issue("carol").cert_file, tmp_path / "client.crt")  # its key is still to come
            clock.now += REREAD_SECONDS
            await transport.call(GET)
            installed(tmp_path, authority.issue("carol"))
            clock.now += REREAD_SECONDS
            await transport.call(GET)
    assert names == ["alice", "alice", "bob", "bob", "carol"]


async def test_a_certificate_may_stand_in_the_kubeconfig_itself(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("alice")
    certificate = ClientCertificate(cert_data=read_file(pair.cert_file), key_data=read_file(pair.key_file))
    async with asking_for_certificates(authority) as (port, names):
        ca_data = read_file(authority.ca_file)
        config = Config(
            f"https://127.0.0.1:{port}",
            StaticCredentials(Material(certificate=certificate)),
            ca_data=ca_data,
            tls_server_name="localhost",
        )
        async with HTTPTransport.from_config(config) as transport:
            await transport.call(GET)
    assert names == ["alice"]


@pytest.mark.parametrize("wrong", ["text", "cut", "another's key"])
async def test_a_certificate_that_cannot_be_used_is_an_error_that_names_the_kubeconfig(
    tmp_path: Path, wrong: str
) -> None:
    authority = Authority(tmp_path)
    alice, bob = authority.issue("alice"), authority.issue("bob")
    cert, key = read_file(alice.cert_file), read_file(alice.key_file)
    match wrong:
        case "text":
            cert = key = b"no certificate"
        case "cut":
            cert = cert[: len(cert) // 2]
        case _:
            key = read_file(bob.key_file)
    async with asking_for_certificates(authority) as (port, names):
        credentials = StaticCredentials(Material("token", ClientCertificate(cert_data=cert, key_data=key)))
        config = Config(f"https://localhost:{port}", credentials, ca_file=authority.ca_file, source="kubeconfig x")
        async with HTTPTransport.from_config(config) as transport:
            for _ in range(2):  # it does not become better by itself
                message = (
                    r"kubeconfig x: the client certificate and its key \(in the configuration\) cannot be used: .*PEM"
                )
                with pytest.raises(NoCredentials, match=message):
                    await transport.call(GET)
    assert names == []


async def test_no_request_is_sent_to_a_server_that_is_not_trusted(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    async with (
        asking_for_certificates(theirs) as (port, names),
        HTTPTransport(f"https://localhost:{port}", ca_file=ours.ca_file, token="x") as transport,
    ):
        with pytest.raises(
            ConnectionLost, match=r"certificate verify failed.*configure the client with the certificate authority"
        ):
            await transport.call(GET)
    assert names == []


@pytest.mark.covers("F30")
def test_material_that_cannot_be_used_is_logged_once_and_the_last_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(tmp_path)
    ca = tmp_path / "served-ca.crt"
    shutil.copy(authority.ca_file, ca)
    clock = Seconds()
    trust = Trust(Config("https://a", ca_file=str(ca)), clock=clock)
    assert trust.renew(None) is not None
    assert trust.renew(None) is None
    with caplog.at_level(logging.WARNING, logger="pilotage.client"):
        for content in ("half a fi", "half a fi", None):
            clock.now += REREAD_SECONDS
            ca.write_text(content) if content is not None else ca.unlink()
            assert trust.renew(None) is None
    assert caplog.text.count("using the last ones") == 2
    clock.now += REREAD_SECONDS
    shutil.copy(authority.issue("another").cert_file, ca)
    assert trust.renew(None) is not None


def test_an_empty_ca_file_is_an_error_and_does_not_mean_the_authorities_of_the_system(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_text("\n")
    with pytest.raises(NoCredentials, match=r"ca\.crt\) cannot be used: the file is empty"):
        Trust(Config("https://a", ca_file=str(ca))).renew(None)


def test_the_first_material_must_be_good(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = authority.issue("one"), authority.issue("other")
    with pytest.raises(NoCredentials, match=r"one.*other.*key must be the certificate's"):
        Trust(Config("https://a", source="here")).renew(ClientCertificate(one.cert_file, other.key_file))
    assert not [*Path(tmp_path).glob("pilotage-*")]


@asynccontextmanager
async def connecting_proxy(
    answer: bytes = b"HTTP/1.0 200 Connection established\r\n\r\n",
) -> AsyncIterator[tuple[int, list[str]]]:
    """A proxy that connects to whatever it is asked for."""
    heads: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        writer.write(answer)
        if b" 200 " in answer:
            host, _, port = head.split()[1].rpartition(":")
            there, out = await asyncio.open_connection(host, int(port))
            async with asyncio.TaskGroup() as group:
                group.create_task(pumped(reader, out))
                group.create_task(pumped(there, writer))
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heads


async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()
    except OSError:
        writer.close()


async def test_a_proxy_connects_us_and_sees_nothing(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with asking_for_certificates(authority) as (port, names), connecting_proxy() as (proxy, heads):
        pair = authority.issue("alice")
        config = Config(
            f"https://localhost:{port}",
            StaticCredentials(Material("secret", ClientCertificate(pair.cert_file, pair.key_file))),
            ca_file=authority.ca_file,
            proxy_url=f"http://me:p%40ss@127.0.0.1:{proxy}",
        )
        async with HTTPTransport.from_config(config) as transport:
            await transport.call(GET)
            await transport.call(GET)
    known = base64.b64encode(b"me:p@ss").decode()
    expected = (
        f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\nProxy-Authorization: Basic {known}\r\n\r\n"
    )
    assert heads == [expected]
    assert names == ["alice", "alice"]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n", "answered 407: it requires a user and password"),
        (b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n", "answered 502"),
        (b"", "did not answer"),
        (b"nonsense\r\n\r\n", "did not answer"),
    ],
)
async def test_a_proxy_that_does_not_connect_is_named(answer: bytes, complaint: str) -> None:
    async with connecting_proxy(answer) as (proxy, _):
        config = Config("http://127.0.0.1:1", proxy_url=f"http://127.0.0.1:{proxy}")
        async with HTTPTransport.from_config(config, retries=Retries(lost=0)) as transport:
            with pytest.raises(ConnectionLost, match=complaint) as caught:
                await transport.call(GET)
    assert f"127.0.0.1:{proxy}" in str(caught.value)
    assert caught.value.sent is False


def test_a_proxy_that_cannot_be_used_is_refused_without_its_secrets() -> None:
    assert proxy_of("http://proxy") == Proxy("proxy", 80)
    for url in ("socks5://me:hunter2@proxy:1080", "https://me:hunter2@proxy", "proxy:3128", "http://p:99999"):
        with pytest.raises(InvalidDefinition, match="proxy") as caught:
            proxy_of(url)
        assert "hunter2" not in str(caught.value)
