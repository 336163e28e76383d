"""How an API server reaches the webhook server: through a Service, by a URL, or in the same process."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from pilotage.meta.bounds.optionfields import check_fields, count_field
from pilotage.meta.documents import Document
from pilotage.net.sockets import address_text

DEFAULT_SERVICE = "webhook-service"
"""kubebuilder's name of the Service."""


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """A Service in front of the replicas."""

    name: str
    namespace: str
    port: int = count_field(443, least=1, most=65535)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def hosts(self) -> Sequence[str]:
        """The names and addresses for the certificate."""
        name = f"{self.name}.{self.namespace}.svc"
        return (name, f"{name}.cluster.local")

    def client_config(self, path: str) -> Document:
        """The `clientConfig` of a webhook configuration, without the bundle."""
        return {"service": {"name": self.name, "namespace": self.namespace, "port": self.port, "path": path}}


@dataclass(frozen=True, slots=True)
class HostAddress:
    """A host and port that the API server can connect to."""

    host: str
    port: int = count_field(0, most=65535)
    """0: the port of HTTPS."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def hosts(self) -> Sequence[str]:
        return (self.host,)

    def client_config(self, path: str) -> Document:
        return {"url": f"https://{address_text(self.host, self.port) if self.port else self.host}{path}"}


WebhookAddress: TypeAlias = ServiceAddress | HostAddress
"""Where webhooks are called."""


def with_bundle(client_config: Document, bundle: bytes) -> Document:
    """The same with the authorities that the API server must trust."""
    return {**client_config, "caBundle": base64.b64encode(bundle).decode()} if bundle else client_config


def runs_in_cluster(server_url: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this is a Pod of the cluster of that API server: a Service reaches it then."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    return bool(host) and urlsplit(server_url).hostname == host


def local_host(server_url: str) -> str:
    """The address of this machine on the route to the API server, which that server can reach; else loopback."""
    parts = urlsplit(server_url)
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # of a datagram socket: nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"
