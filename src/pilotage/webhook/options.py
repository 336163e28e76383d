"""The options of the webhook server."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.webhook.addresses import DEFAULT_SERVICE, ServiceAddress
from pilotage.webhook.certificates.rotation import Validity
from pilotage.webhook.certificates.source import CertificateSource

DEFAULT_PORT = 9443
DISABLED = -1
DEFAULT_SECRET = "pilotage-webhook-certificate"  # noqa: S105 - its name


@dataclass(frozen=True, slots=True)
class WebhookServerOptions:
    """Options of a WebhookServer."""

    host: str = ""
    """The address to listen on; empty: every address."""

    port: int = count_field(DEFAULT_PORT, least=DISABLED, most=65535)
    """The port to listen on. 0 is a free one. -1 disables the server: nothing is served, and nothing registered."""

    serve: bool | None = None
    """Whether to listen at all. By default it does on a cluster, and not on an embedded API server, which calls the
    webhooks in process. With True an embedded one that shares its storage with other processes has webhooks there,
    too."""

    certificates: CertificateSource | None = None
    """Where the certificate comes from, as `CertificateFiles("/certs")`. By default it is managed: made by an authority
    of our own, kept in a Secret, and rotated."""

    secret_name: str = DEFAULT_SECRET
    """The Secret of the managed certificate."""

    secret_namespace: str = ""
    """Its namespace; by default the Pod's namespace, or the namespace of the kubeconfig's context."""

    validity: Validity = field(default_factory=Validity)
    """How long managed certificates are valid."""

    certificate_check_seconds: SecondsField = seconds_field(60.0, zero=False)
    """How often a managed certificate is checked."""

    client_ca_file: str = ""
    """PEM of the authorities of client certificates. With it, only clients with a certificate of theirs are served."""

    ciphers: str = ""
    """The ciphers of TLS 1.2, in OpenSSL's format; empty: Python's secure defaults."""

    minimum_tls_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    """The lowest version of TLS."""

    tls_options: Callable[[ssl.SSLContext], None] | None = None
    """Changes the TLS context before the server uses it, for everything else."""

    service: ServiceAddress | None = None
    """The Service that the API server reaches the webhooks through. By default, in a Pod, the Service `service_name` in
    its namespace; elsewhere the host is registered."""

    service_name: str = DEFAULT_SERVICE
    """The name of the Service in the namespace of the Pod, without `service`."""

    reachable_host: str = ""
    """The host name or address under which the API server reaches this machine, without a Service. By default the
    address of this machine on the route to the API server."""

    register: bool = True
    """Whether webhook configurations are written at the start. If not, they come from `manifests`, and only the CA
    bundle is injected."""

    remove_on_stop: bool | None = None
    """Whether the configurations are deleted when the server stops. By default yes where no other replica can serve
    them: on an embedded API server, and where a host is registered; and no with a Service."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.service is not None and self.reachable_host:
            raise InvalidDefinition("give either a service or a reachable_host, not both")


def secret_of(service_name: str) -> str:
    """The Secret of the managed certificate for a Service: programs with Services of their own share none."""
    return DEFAULT_SECRET if service_name == DEFAULT_SERVICE else f"{service_name}-certificate"
