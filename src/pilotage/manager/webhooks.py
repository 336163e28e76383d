"""The API server that calls the webhooks of a manager."""

from __future__ import annotations

from pilotage.cluster.cluster import Cluster
from pilotage.webhook.environment import WebhookEnvironment


def environment(cluster: Cluster) -> WebhookEnvironment:
    """Where webhooks are registered: a remote API server, or the embedded one, which calls them in process."""
    local = None if cluster.server_url else cluster.registry.local_webhooks
    return WebhookEnvironment(
        cluster.client, cluster.clock, local, cluster.server_url, cluster.namespace, cluster.conversions
    )
