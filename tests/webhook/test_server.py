"""The webhook server: HTTPS, paths, registration, and shutdown."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import msgspec
import pytest

import pilotage as pt
from pilotage.errors import ConnectionLost
from pilotage.http import certificates, tls
from pilotage.http.client import HTTPClient
from pilotage.server.webhooks.local import IN_PROCESS_HOST
from pilotage.types.core.v1 import Secret
from pilotage.webhook.addresses import ServiceAddress
from pilotage.webhook.declarations import VALIDATING
from pilotage.webhook.webhook import WebhookOptions

from ..http.certificates import Authority
from .books import book, review
from .serving import (
    CONFIGURATION,
    PATH,
    book_server,
    bundle_of,
    declare_books,
    environment,
    https,
    post,
    started,
)


@pytest.mark.covers("T172")
async def test_it_serves_over_https_with_a_certificate_that_the_configuration_trusts() -> None:
    server = book_server()
    async with (
        pt.Cluster.embedded() as cluster,
        started(server, cluster),
        https(server, await bundle_of(cluster)) as client,
    ):
        accepted = await post(client, review(object=book()))
        refused = await post(client, review(object=book("winter")))
        unknown = await post(client, review(object=book()), "/other")
    answers = [msgspec.json.decode(each.body)["response"]["allowed"] for each in (accepted, refused)]
    assert (answers, unknown.status) == ([True, False], 404)


async def test_several_requests_use_one_connection() -> None:
    server = book_server()
    async with (
        pt.Cluster.embedded() as cluster,
        started(server, cluster),
        https(server, await bundle_of(cluster)) as client,
    ):
        for _ in range(5):
            assert (await post(client, review(object=book()))).status == 200
        assert client.statistics().opened == 1


@pytest.mark.covers("T172")
async def test_a_path_is_served_once() -> None:
    server = book_server()
    with pytest.raises(pt.InvalidDefinition, match=f"can't register duplicate path: {PATH}"):
        server.register(PATH, pt.webhook.AdmissionWebhook(lambda request: pt.allowed()))
    with pytest.raises(pt.InvalidDefinition, match="must start with '/'"):
        server.register("books", pt.webhook.AdmissionWebhook(lambda request: pt.allowed()))


async def test_tls_1_2_is_the_lowest_version_and_http_1_1_the_protocol() -> None:
    contexts: list[ssl.SSLContext] = []
    server = book_server(tls_options=contexts.append)
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        assert contexts[0].minimum_version is ssl.TLSVersion.TLSv1_2
        context = tls.client_context(ca_data=(await bundle_of(cluster)).decode())
        context.set_alpn_protocols(["h2", "http/1.1"])
        _, writer = await asyncio.open_connection("127.0.0.1", server.address[1], ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
        writer.close()


@pytest.mark.covers("T172")
async def test_tls_options_are_respected() -> None:
    contexts: list[ssl.SSLContext] = []
    server = book_server(
        ciphers="ECDHE-ECDSA-AES128-GCM-SHA256", minimum_tls_version=ssl.TLSVersion.TLSv1_3, tls_options=contexts.append
    )
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        (context,) = contexts
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
        assert [each["name"] for each in context.get_ciphers() if each["protocol"] == "TLSv1.2"] == [
            "ECDHE-ECDSA-AES128-GCM-SHA256"
        ]
        old = tls.client_context(ca_data=(await bundle_of(cluster)).decode())
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        async with HTTPClient("127.0.0.1", server.address[1], ssl=old) as client:
            with pytest.raises(ConnectionLost):
                await post(client, review(object=book()))


async def test_with_a_client_authority_others_are_not_served(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("api-server")
    server = book_server(client_ca_file=authority.ca_file)
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        bundle = (await bundle_of(cluster)).decode()
        async with HTTPClient("127.0.0.1", server.address[1], ssl=tls.client_context(ca_data=bundle)) as stranger:
            with pytest.raises(ConnectionLost):
                await post(stranger, review(object=book()))
        known = tls.client_context(ca_data=bundle, cert_file=pair.cert_file, key_file=pair.key_file)
        async with HTTPClient("127.0.0.1", server.address[1], ssl=known) as client:
            assert (await post(client, review(object=book()))).status == 200


@pytest.mark.covers("T172")
async def test_a_certificate_of_files_is_preferred(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("localhost")
    files = pt.webhook.CertificateFiles(
        tmp_path, cert_name=Path(pair.cert_file).name, key_name=Path(pair.key_file).name, ca_name="none"
    )
    server = book_server(certificates=files)
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        assert len(await cluster.client.list(Secret, namespace="default")) == 0
        context = tls.client_context(ca_file=authority.ca_file)
        async with HTTPClient("localhost", server.address[1], ssl=context) as client:
            assert (await post(client, review(object=book()))).status == 200


@pytest.mark.covers("T172", "F30")
async def test_new_files_are_served_and_their_bundle_is_injected(tmp_path: Path) -> None:
    def issue() -> bytes:
        pair = certificates.self_signed("127.0.0.1")
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)
        (tmp_path / "ca.crt").write_bytes(pair.certificate)
        return pair.certificate

    first = issue()
    server = book_server(certificates=pt.webhook.CertificateFiles(tmp_path, reread_seconds=0.005))
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        assert await bundle_of(cluster) == first
        async with cluster.client.watch(VALIDATING) as events:
            second = issue()
            async for event in events:
                if event.type == "MODIFIED":
                    break
        assert await bundle_of(cluster) == second
        async with https(server, second) as client:
            assert (await post(client, review(object=book()))).status == 200


@pytest.mark.covers("T172")
async def test_the_started_check_passes_once_the_port_can_be_connected_to() -> None:
    server = book_server()
    with pytest.raises(RuntimeError, match="webhook server has not been started yet"):
        await server.started_check()
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        assert server.ready
        await server.started_check()
    assert not server.ready


@pytest.mark.covers("T172")
async def test_a_stop_ends_the_server_and_removes_what_it_registered() -> None:
    server = book_server()
    async with pt.Cluster.embedded() as cluster:
        async with started(server, cluster):
            port = server.address[1]
            assert await cluster.client.find(VALIDATING, CONFIGURATION) is not None
        assert await cluster.client.find(VALIDATING, CONFIGURATION) is None
        assert cluster.registry.local_webhooks.get(f"https://127.0.0.1:{port}{PATH}") is None
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_configurations_with_a_service_stay_for_the_other_replicas() -> None:
    server = book_server(service=ServiceAddress("books", "default"))
    async with pt.Cluster.embedded() as cluster:
        async with started(server, cluster):
            pass
        configuration = await cluster.client.get(VALIDATING, CONFIGURATION)
    service = configuration["webhooks"][0]["clientConfig"]["service"]
    assert service == {"name": "books", "namespace": "default", "port": 443, "path": PATH}


async def test_an_embedded_api_server_is_given_the_handlers_without_a_socket() -> None:
    server = book_server(serve=None)
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        with pytest.raises(pt.InvalidDefinition, match="called in process"):
            server.address  # noqa: B018
        handler = cluster.registry.local_webhooks.get(f"https://{IN_PROCESS_HOST}{PATH}")
        assert handler is not None
        assert (await handler(review(object=book("winter"))))["response"]["status"]["code"] == 422
        configuration = await cluster.client.get(VALIDATING, CONFIGURATION)
        assert configuration["webhooks"][0]["clientConfig"] == {"url": f"https://{IN_PROCESS_HOST}{PATH}"}


async def test_a_webhook_that_is_added_later_is_registered_too() -> None:
    server = pt.webhook.WebhookServer()
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        async with cluster.client.watch(VALIDATING) as events:
            declare_books(server)
            async for event in events:
                if event.type == "ADDED":
                    assert event.object.metadata.name == CONFIGURATION
                    break
        assert cluster.registry.local_webhooks.get(f"https://{IN_PROCESS_HOST}{PATH}") is not None


async def test_what_another_program_set_in_a_configuration_stays() -> None:
    server = book_server(serve=None, remove_on_stop=False)
    async with pt.Cluster.embedded() as cluster:
        async with started(server, cluster):
            pass
        selector = {"matchLabels": {"books": "checked"}}
        await cluster.client.patch(
            await cluster.client.get(VALIDATING, CONFIGURATION),
            [{"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": selector}],
        )
        async with started(server, cluster):
            configuration = await cluster.client.get(VALIDATING, CONFIGURATION)
        assert configuration["webhooks"][0]["namespaceSelector"] == selector


async def test_without_recovery_an_error_of_a_handler_ends_the_server() -> None:
    async def fail(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        raise ZeroDivisionError("oops")

    server = pt.webhook.WebhookServer()
    server.register("/fail", pt.webhook.AdmissionWebhook(fail, WebhookOptions(recover_panic=False)))
    async with pt.Cluster.embedded() as cluster:
        server.attach(lambda: environment(cluster))
        running = asyncio.ensure_future(server.start())
        await server.wait_started()
        with pytest.raises(pt.errors.InternalError):
            await server.endpoint("/fail").local(review(object=book()))
        with pytest.raises(ZeroDivisionError, match="oops"):
            await running


async def test_a_port_in_use_is_an_error_that_names_the_option() -> None:
    server = book_server()
    async with pt.Cluster.embedded() as cluster, started(server, cluster):
        second = pt.webhook.WebhookServer(
            pt.webhook.WebhookServerOptions(host="127.0.0.1", port=server.address[1], serve=True)
        )
        second.attach(lambda: environment(cluster))
        with pytest.raises(OSError, match=r"cannot listen on 127\.0\.0\.1:.* choose another port"):
            await second.start()


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(pt.InvalidDefinition, match="port=70000"):
        pt.webhook.WebhookServerOptions(port=70000)
    with pytest.raises(pt.InvalidDefinition, match="either a service or a reachable_host"):
        pt.webhook.WebhookServerOptions(service=ServiceAddress("a", "b"), reachable_host="c")
    with pytest.raises(pt.InvalidDefinition, match="timeout_seconds=31"):
        pt.RegistrationOptions(timeout_seconds=31)
    with pytest.raises(pt.InvalidDefinition, match=r"write operations=\['CREATE'\]"):
        pt.RegistrationOptions(operations="CREATE")
