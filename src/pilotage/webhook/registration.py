"""Registers webhooks with an API server, and waits until it calls them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from pilotage.client.client import Client
from pilotage.errors import Invalid, NotFound
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.telemetry.logs import logger
from pilotage.webhook.addresses import Address, with_bundle
from pilotage.webhook.completion import completed
from pilotage.webhook.conversion.declaration import DEFINITION

log = logger("pilotage.webhook")

FIELD_OWNER = "pilotage-webhook"


class Registrable(Protocol):
    """A webhook that an API server is told about in an object of its own: a configuration, or a CRD."""

    @property
    def kind(self) -> GroupVersionKind: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...

    def document(self, client_config: Document) -> Document:
        """What is applied to register it."""

    def injection(self, bundle: bytes) -> Document:
        """What is applied to replace only the bundle."""


class Registration:
    """Applies the objects by server-side apply: what other programs set in them (a namespace selector …) stays.

    With `installed`, the objects are those of other manifests, and only the bundle is injected.
    """

    def __init__(self, client: Client, address: Address, *, installed: bool = False) -> None:
        self._client = client
        self._address = address
        self._installed = installed

    async def apply(self, declarations: Sequence[Registrable], bundle: bytes) -> list[Registrable]:
        """Register them, or bring them up to date; those of which something was written."""
        return [each for each in declarations if await self._apply(each, bundle)]

    async def remove(self, declarations: Sequence[Registrable]) -> None:
        """Delete their configurations."""
        for declaration in declarations:
            with suppress(NotFound):
                await self._client.delete(declaration.kind, declaration.name)

    async def _apply(self, declaration: Registrable, bundle: bytes) -> bool:
        found = await self._client.find(declaration.kind, declaration.name)
        if found is None and declaration.kind == DEFINITION:
            return False  # `Cluster.install` writes the conversion with the CRD
        before = found.metadata.resource_version if found is not None else ""
        if not self._installed:
            client_config = with_bundle(self._address.client_config(declaration.path), bundle)
            applied = Unstructured(declaration.document(client_config))
        elif found is None or not bundle:
            if found is None:
                log.warning("The webhook is not installed", kind=declaration.kind.kind, name=declaration.name)
            return False
        else:
            applied = Unstructured(declaration.injection(bundle))
        try:
            await completed(self._client.apply(applied, field_owner=FIELD_OWNER, force=True))
        except Invalid:
            if self._installed:
                log.warning("Cannot inject the CA bundle", kind=declaration.kind.kind, name=declaration.name)
            raise
        return bool(applied.metadata.resource_version != before)
