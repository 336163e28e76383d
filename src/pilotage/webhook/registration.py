"""Registers webhooks with an API server, and waits until it calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from pilotage.client.client import Client
from pilotage.errors import NotFound
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.telemetry.logs import logger
from pilotage.webhook.addresses import WebhookAddress, with_bundle
from pilotage.webhook.conversion.declaration import DEFINITION

log = logger("pilotage.webhook")

T = TypeVar("T")

FIELD_OWNER = "pilotage-webhook"
_NOT_INSTALLED = (
    "The webhook is not installed: apply its manifests, or have the program register it (pilotage run --install)"
)


class Registrable(Protocol):
    """A webhook that is registered in an object of the API server: a webhook configuration, or a CRD."""

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


class WebhookRegistration:
    """Applies the objects by server-side apply: what other programs set in them (a namespace selector …) stays.

    With `installed`, the objects are those of other manifests, and only the bundle is injected.
    """

    def __init__(self, client: Client, address: WebhookAddress, *, installed: bool = False) -> None:
        self._client = client
        self._address = address
        self._installed = installed
        self._applied: dict[tuple[GroupVersionKind, str], tuple[Document, str]] = {}
        """What was applied last, and the version of the object since."""

    async def apply(self, declarations: Sequence[Registrable], bundle: bytes) -> list[Registrable]:
        """Register them, or bring them up to date; those of which something was written.

        An object that has not changed since it was last applied is only read: a large CRD takes long to check.
        """
        return [each for each in declarations if await self._apply(each, bundle)]

    async def remove(self, declarations: Sequence[Registrable]) -> None:
        """Delete their configurations."""
        for declaration in declarations:
            with suppress(NotFound):
                await self._client.delete(declaration.kind, declaration.name)

    async def _apply(self, declaration: Registrable, bundle: bytes) -> bool:
        if self._installed and not bundle:
            return False  # another program injects it, and this one need not be allowed to read it
        found = await self._client.find(declaration.kind, declaration.name)
        document = self._wanted(declaration, bundle, exists=found is not None)
        if document is None:
            return False
        key, version = (
            (declaration.kind, declaration.name),
            found.metadata.resource_version if found is not None else "",
        )
        if version and self._applied.get(key) == (document, version):
            return False
        applied = Unstructured(copied(document))
        await complete(self._client.apply(applied, field_owner=FIELD_OWNER, force=True))
        self._applied[key] = document, applied.metadata.resource_version
        return applied.metadata.resource_version != version

    def _wanted(self, declaration: Registrable, bundle: bytes, *, exists: bool) -> Document | None:
        """What is applied; None if there is nothing to do."""
        if not exists and declaration.kind == DEFINITION:
            return None  # `Cluster.install` writes the conversion with the CRD
        if not self._installed:
            return declaration.document(with_bundle(self._address.client_config(declaration.path), bundle))
        if not exists:
            log.warning(_NOT_INSTALLED, kind=declaration.kind.kind, name=declaration.name)
            return None
        return declaration.injection(bundle)


async def complete(write: Coroutine[Any, Any, T]) -> T:
    """Await a write to its end, also if the caller is cancelled meanwhile.

    A write that was sent may take effect at any time later. Before the object is deleted, its answer must be there.
    """
    task = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # the cancellation takes precedence over an error of the write
        raise
