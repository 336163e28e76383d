"""Where an API server reaches the webhooks."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.webhook.addresses import HostAddress, ServiceAddress, local_host, runs_in_cluster
from pilotage.webhook.environment import WebhookEnvironment
from pilotage.webhook.running import reachable_address


def remote(cluster: pt.Cluster, url: str) -> WebhookEnvironment:
    return WebhookEnvironment(cluster.client, cluster.clock, None, url, namespace="books")


def test_a_pod_of_the_cluster_is_recognized() -> None:
    pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    assert runs_in_cluster("https://10.96.0.1:443", pod)
    assert not runs_in_cluster("https://example.com:6443", pod)
    assert not runs_in_cluster("https://10.96.0.1:443", {})


def test_the_local_host_is_the_address_on_the_route_to_the_api_server() -> None:
    assert local_host("https://127.0.0.1:6443") == "127.0.0.1"
    assert local_host("https://[::1]:6443") in ("::1", "127.0.0.1")
    assert local_host("https://no-such-host.invalid") == "127.0.0.1"


async def test_a_service_is_registered_in_a_pod_and_a_host_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    async with pt.Cluster.embedded() as cluster:
        pod, elsewhere = remote(cluster, "https://10.96.0.1"), remote(cluster, "https://127.0.0.1:6443")
        options = pt.webhook.WebhookServerOptions()
        assert reachable_address(options, pod, 9443) == ServiceAddress("webhook-service", "books")
        assert reachable_address(options, elsewhere, 9443) == HostAddress("127.0.0.1", 9443)
        named = pt.webhook.WebhookServerOptions(reachable_host="laptop.example.com")
        assert reachable_address(named, pod, 9443) == HostAddress("laptop.example.com", 9443)
        service = ServiceAddress("books", "library", 8443)
        assert reachable_address(pt.webhook.WebhookServerOptions(service=service), elsewhere, 9443) == service


def test_client_configs_are_those_of_kubernetes() -> None:
    assert HostAddress("::1", 9443).client_config("/a") == {"url": "https://[::1]:9443/a"}
    assert ServiceAddress("a", "b").hosts == ("a.b.svc", "a.b.svc.cluster.local")
