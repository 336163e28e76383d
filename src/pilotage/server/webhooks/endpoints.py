"""The address of a webhook: the URL or the Service of a `clientConfig`, and the addresses behind a Service."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from pilotage.meta.documents import Document
from pilotage.server.webhooks.local import DEFAULT_PORT, webhook_url
from pilotage.storage.interface import Storage

REVIEW_VERSIONS = ("v1", "v1beta1")
"""The versions of reviews that this server can send."""
_SERVICE_NAME = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class ServiceReference:
    """A Service that has a webhook behind it."""

    namespace: str
    name: str
    port: int


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """The URL that is called for a webhook."""

    url: str
    """The key among the webhooks of this program."""
    host: str
    """The name in the certificate of the webhook."""
    port: int
    path: str
    service: ServiceReference | None = None
    ca_bundle: str = field(default="", repr=False)
    """The certificates that are trusted, in base64; empty: the system's certificates."""

    @classmethod
    def of(cls, client_config: Mapping[str, Any]) -> WebhookTarget:
        url = webhook_url(client_config)
        parts = urlsplit(url)
        service = client_config.get("service") if client_config.get("url") is None else None
        return cls(
            url=url,
            host=parts.hostname or "",
            port=_port(parts),
            path="/" + parts.path.strip("/"),
            service=_reference(service) if service else None,
            ca_bundle=str(client_config.get("caBundle") or "").strip(),
        )

    def target(self, timeout: float | None = None) -> str:
        """The path and the query of a call. The time is in whole seconds, rounded up, as kube-apiserver sends it."""
        return self.path if timeout is None else f"{self.path}?timeout={math.ceil(timeout)}s"

    def shown(self, timeout: float | None = None) -> str:
        """The URL of a call as messages show it."""
        parts = urlsplit(self.url)
        return f"https://{parts.netloc}{self.target(timeout)}"


@dataclass(frozen=True, slots=True)
class DefinitionConversion:
    """The webhook that converts between the versions of a custom resource definition."""

    endpoint: WebhookTarget
    review_version: str
    """The first version of ConversionReview that both sides know."""

    @classmethod
    def of_definition(cls, definition: Document) -> DefinitionConversion | None:
        """The conversion of a definition; None if its versions differ in their names alone."""
        conversion = definition["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        webhook = conversion.get("webhook") or {}
        known = (version for version in webhook.get("conversionReviewVersions") or () if version in REVIEW_VERSIONS)
        return cls(WebhookTarget.of(webhook.get("clientConfig") or {}), next(known, REVIEW_VERSIONS[0]))


def _port(parts: SplitResult) -> int:
    """The port of a URL; 0, to which nothing connects, for an invalid port, which a configuration may have."""
    try:
        return parts.port or DEFAULT_PORT
    except ValueError:
        return 0


def _reference(service: Document) -> ServiceReference:
    return ServiceReference(
        service.get("namespace") or "", service.get("name") or "", service.get("port") or DEFAULT_PORT
    )


class Services:
    """Finds addresses of the Services of one tenant, in the objects of its storage."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix

    async def address(self, reference: ServiceReference) -> tuple[str, int, str]:
        """A host and a port to connect to, and a hint for the case that it fails.

        Raises OSError if the Service or its port does not exist. A cluster IP cannot be reached outside of a cluster,
        so the address is the address of a ready endpoint; without one, the DNS of this machine may resolve the Service.
        """
        place = f"{reference.namespace}/{reference.name}"
        service = await self._get(f"core/services/{place}")
        if service is None:
            raise OSError(f'service "{reference.name}" not found')
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return spec.get("externalName") or "", reference.port, ""
        port = next((port for port in spec.get("ports") or () if port.get("port") == reference.port), None)
        if port is None:
            raise OSError(f'no service port {reference.port} found for service "{reference.name}"')
        found = await self._endpoint(reference, port.get("name") or "")
        if found is not None:
            return *found, ""
        hint = f"; the service {place} has no ready address in an EndpointSlice or an Endpoints object"
        return f"{reference.name}.{reference.namespace}.svc", reference.port, hint

    async def _endpoint(self, reference: ServiceReference, port_name: str) -> tuple[str, int] | None:
        prefix = f"{self._prefix}discovery.k8s.io/endpointslices/{reference.namespace}/"
        for entry in (await self._storage.list(prefix)).entries:
            addresses = slice_addresses(msgspec.json.decode(entry.value), reference.name, port_name)
            if (found := next(addresses, None)) is not None:
                return found
        endpoints = await self._get(f"core/endpoints/{reference.namespace}/{reference.name}")
        return next(subset_addresses(endpoints or {}, port_name), None)

    async def _get(self, key: str) -> Document | None:
        entry = await self._storage.get(self._prefix + key)
        return msgspec.json.decode(entry.value) if entry is not None else None


def slice_addresses(document: Document, service: str, port_name: str) -> Iterator[tuple[str, int]]:
    """The addresses of the ready endpoints of an EndpointSlice of a Service, at one of its ports."""
    if (document["metadata"].get("labels") or {}).get(_SERVICE_NAME) != service:
        return
    ports = [port for port in document.get("ports") or () if (port.get("name") or "") == port_name and port.get("port")]
    for endpoint in document.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is not False:
            for address in endpoint.get("addresses") or ():
                yield from ((address, port["port"]) for port in ports)


def subset_addresses(document: Document, port_name: str) -> Iterator[tuple[str, int]]:
    """The ready addresses of an Endpoints object, at one of its ports."""
    for subset in document.get("subsets") or ():
        ports = [port for port in subset.get("ports") or () if (port.get("name") or "") == port_name]
        for address in subset.get("addresses") or ():
            yield from ((address["ip"], port["port"]) for port in ports)
