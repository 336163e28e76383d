"""Manifests from the same declarations: webhook configurations, the Service, and cert-manager's resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pilotage.meta.bounds.optionfields import check_fields, count_field
from pilotage.meta.documents import Document
from pilotage.webhook.addresses import DEFAULT_SERVICE, ServiceAddress
from pilotage.webhook.options import DEFAULT_PORT
from pilotage.webhook.registration import Registrable

CERTIFICATE = "serving-cert"
CERTIFICATE_SECRET = "webhook-server-cert"  # noqa: S105 - its name
ISSUER = "selfsigned-issuer"
"""kubebuilder's names."""


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """What the manifests of webhooks refer to."""

    namespace: str = "system"
    """The namespace of the manager's Pods, and of the Service."""

    service: str = DEFAULT_SERVICE
    """The name of the Service."""

    prefix: str = ""
    """What the names of cert-manager's objects and of its Secret begin with, such as `greetings-`."""

    service_port: int = count_field(443, least=1, most=65535)
    """The port of the Service."""

    port: int = count_field(DEFAULT_PORT, least=1, most=65535)
    """The port that the webhook server listens on."""

    selector: Mapping[str, str] = field(default_factory=lambda: {"control-plane": "controller-manager"})
    """The labels of the manager's Pods."""

    cert_manager: bool = False
    """Whether cert-manager issues the certificate and injects the bundle: adds an Issuer and a Certificate. The Pods
    mount its Secret, `webhook-server-cert`, and use it with `CertificateFiles`. Otherwise the program manages the
    certificate and injects the bundle itself, with `WebhookServerOptions(register=False)`."""

    def __post_init__(self) -> None:
        check_fields(self)


def manifests(declarations: Iterable[Registrable], options: ManifestOptions | None = None) -> list[Document]:
    """All documents to install webhooks with other tools: the Service, the configurations, and what cert-manager needs.

    `manager.webhook_server.declarations` are the webhooks of a program.
    """
    options = options or ManifestOptions()
    configurations = [configuration(each, options) for each in declarations]
    return [service(options), *configurations, *(cert_manager(options) if options.cert_manager else ())]


def service(options: ManifestOptions) -> Document:
    """The Service that the API server reaches the webhooks through."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": options.service, "namespace": options.namespace},
        "spec": {
            "ports": [{"port": options.service_port, "protocol": "TCP", "targetPort": options.port}],
            "selector": dict(options.selector),
        },
    }


def configuration(declaration: Registrable, options: ManifestOptions) -> Document:
    """The webhook configuration of one webhook."""
    address = ServiceAddress(options.service, options.namespace, options.service_port)
    document = declaration.document(address.client_config(declaration.path))
    if options.cert_manager:
        reference = f"{options.namespace}/{options.prefix}{CERTIFICATE}"
        annotations = {**document["metadata"].get("annotations", {}), "cert-manager.io/inject-ca-from": reference}
        document["metadata"] = {**document["metadata"], "annotations": annotations}
    return document


def cert_manager(options: ManifestOptions) -> Sequence[Document]:
    """An Issuer and a Certificate for the Service, as kubebuilder writes them."""
    address = ServiceAddress(options.service, options.namespace)
    issuer = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": {"name": options.prefix + ISSUER, "namespace": options.namespace},
        "spec": {"selfSigned": {}},
    }
    certificate = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": options.prefix + CERTIFICATE, "namespace": options.namespace},
        "spec": {
            "dnsNames": list(address.hosts),
            "issuerRef": {"kind": "Issuer", "name": options.prefix + ISSUER},
            "secretName": options.prefix + CERTIFICATE_SECRET,
        },
    }
    return (issuer, certificate)
