"""Manifests of webhooks, from their declarations."""

from __future__ import annotations

import base64

import pilotage as pt
from pilotage.types.core.v1 import Service
from pilotage.webhook.addresses import ServiceAddress
from pilotage.webhook.declarations import VALIDATING
from pilotage.webhook.manifests import ManifestOptions, manifests

from .serving import CONFIGURATION, PATH, book_server, bundle_of, started


def test_a_configuration_and_its_service_belong_together() -> None:
    service, configuration = manifests(book_server().declarations, ManifestOptions(namespace="books"))
    assert service["spec"] == {
        "ports": [{"port": 443, "protocol": "TCP", "targetPort": 9443}],
        "selector": {"control-plane": "controller-manager"},
    }
    assert configuration["kind"] == "ValidatingWebhookConfiguration"
    assert configuration["webhooks"][0]["clientConfig"] == {
        "service": {"name": "webhook-service", "namespace": "books", "port": 443, "path": PATH}
    }


def test_cert_manager_issues_for_the_service_and_injects_its_bundle() -> None:
    options = ManifestOptions(namespace="books", cert_manager=True)
    _, configuration, issuer, certificate = manifests(book_server().declarations, options)
    assert configuration["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "books/serving-cert"}
    assert (issuer["kind"], issuer["spec"]) == ("Issuer", {"selfSigned": {}})
    assert certificate["spec"] == {
        "dnsNames": ["webhook-service.books.svc", "webhook-service.books.svc.cluster.local"],
        "issuerRef": {"kind": "Issuer", "name": "selfsigned-issuer"},
        "secretName": "webhook-server-cert",
    }


async def test_a_cluster_installs_manifests_and_the_server_injects_only_the_bundle() -> None:
    server = book_server(register=False, service=ServiceAddress("webhook-service", "default"))
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(manifests=manifests(server.declarations, ManifestOptions(namespace="default")))
        assert (await cluster.client.get(Service, "webhook-service", namespace="default")).spec is not None
        before = await cluster.client.get(VALIDATING, CONFIGURATION)
        async with started(server, cluster):
            bundle = await bundle_of(cluster)
        after = await cluster.client.get(VALIDATING, CONFIGURATION)
    assert bundle.startswith(b"-----BEGIN CERTIFICATE-----")
    before["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
    assert after["webhooks"] == before["webhooks"]
