"""Registers webhooks with an API server, and waits until it calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from pilotage.client.client import Client
from pilotage.client.conflicts import retry_on_conflict
from pilotage.errors import Forbidden, NotFound, PilotageError
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.telemetry.logs import logger
from pilotage.webhook.addresses import ServiceAddress, WebhookAddress, with_bundle
from pilotage.webhook.conversion.declaration import DEFINITION
from pilotage.webhook.ownership import FIELD_OWNER, FieldPath, Target, refusal, target_of

log = logger("pilotage.webhook")

T = TypeVar("T")

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
    @property
    def client_config(self) -> FieldPath:
        """Where the `clientConfig` stands in the object."""

    def document(self, client_config: Document) -> Document:
        """What is applied to register it."""

    def injection(self, bundle: bytes) -> Document:
        """What is applied to replace only the bundle."""


class RegisteredElsewhere(PilotageError):
    """A registration leads to another program, and belongs to it: this run does not change it."""

    def __init__(self, declaration: Registrable, target: Target, wanted: Document) -> None:
        setter = f", set by {', '.join(target.owners)}" if target.owners else ""
        delete = "" if declaration.kind == DEFINITION else ", or delete the configuration first to serve it here"
        super().__init__(
            f"{declaration.kind.kind} {declaration.name} calls {target.text}{setter}, and not this run at "
            f"{Target(wanted, ()).text}. Nothing was changed: leave webhooks to the program that is deployed "
            f"(--webhook-bind-address 0, WebhookServerOptions(port=-1)){delete}"
        )


class WebhookRegistration:
    """Applies the objects by server-side apply: what other programs set in them (a namespace selector …) stays.

    With `installed`, the objects come from other manifests, and only the bundle is injected; so it is in an object
    that another program has applied and that leads here. One that leads elsewhere is not touched.
    """

    def __init__(self, client: Client, address: WebhookAddress, *, installed: bool = False) -> None:
        self._client = client
        self._address = address
        self._installed = installed
        self._applied: dict[tuple[GroupVersionKind, str], tuple[Document, str]] = {}
        """What was applied last, and the version of the object since."""

    async def check(self, declarations: Sequence[Registrable]) -> list[Registrable]:
        """The conversions that are left to another program: objects must be converted without a break. Raises
        RegisteredElsewhere for a configuration that leads to another program.

        Behind a Service, a run that does not register need not be allowed to read them.
        """
        left: list[Registrable] = []
        if self._installed and isinstance(self._address, ServiceAddress):
            return left
        for declaration in declarations:
            with suppress(Forbidden):
                found = await self._client.find(declaration.kind, declaration.name)
                target = target_of(found.document if found is not None else {}, declaration.client_config)
                try:
                    self._check(declaration, target)
                except RegisteredElsewhere:
                    if declaration.kind != DEFINITION:
                        raise
                    log.info("Another program converts between the versions", crd=declaration.name, target=target.text)
                    left.append(declaration)
        return left

    async def apply(self, declarations: Sequence[Registrable], bundle: bytes) -> list[Registrable]:
        """Register them, or bring them up to date. Returns the declarations of which something was written.

        An object that has not changed since it was last applied is only read: a large CRD takes long to check.
        """
        return [each for each in declarations if await retry_on_conflict(partial(self._apply, each, bundle))]

    async def remove(self, declarations: Sequence[Registrable]) -> None:
        """Delete their configurations, of which no other program has set the address, and that still lead here."""
        for declaration in declarations:
            await retry_on_conflict(partial(self._remove, declaration))

    async def _remove(self, declaration: Registrable) -> None:
        found = await self._client.find(declaration.kind, declaration.name)
        if found is None:
            return
        target = target_of(found.document, declaration.client_config)
        if target.owners or target.address != self._address.client_config(declaration.path):
            return
        meta = found.metadata
        with suppress(NotFound):
            await self._client.delete(
                declaration.kind, declaration.name, uid=meta.uid, resource_version=meta.resource_version
            )

    def _check(self, declaration: Registrable, target: Target) -> None:
        wanted = self._address.client_config(declaration.path)
        if refusal(target, wanted, registers=not self._installed):
            raise RegisteredElsewhere(declaration, target, wanted)

    async def _apply(self, declaration: Registrable, bundle: bytes) -> bool:
        if self._installed and not bundle:
            return False  # another program injects it, and this one need not be allowed to read it
        found = await self._client.find(declaration.kind, declaration.name)
        document = self._wanted(declaration, bundle, found)
        if document is None:
            return False
        key, version = (
            (declaration.kind, declaration.name),
            found.metadata.resource_version if found is not None else "",
        )
        if version and self._applied.get(key) == (document, version):
            return False
        applied = Unstructured(copied(document))
        if version:  # another program may take it over between the check and the write
            applied.metadata.resource_version = version
        await complete(self._client.apply(applied, field_owner=FIELD_OWNER, force=True))
        self._applied[key] = document, applied.metadata.resource_version
        return applied.metadata.resource_version != version

    def _wanted(self, declaration: Registrable, bundle: bytes, found: Unstructured | None) -> Document | None:
        """What is applied; None if there is nothing to do."""
        if found is None and declaration.kind == DEFINITION:
            return None  # `Cluster.install` writes the conversion with the CRD
        target = target_of(found.document if found is not None else {}, declaration.client_config)
        try:
            self._check(declaration, target)
        except RegisteredElsewhere as error:  # applied since the start
            log.warning("The webhook is not registered", error=error)
            return None
        if not self._installed and not target.owners:
            return declaration.document(with_bundle(self._address.client_config(declaration.path), bundle))
        if found is None:
            log.warning(_NOT_INSTALLED, kind=declaration.kind.kind, name=declaration.name)
            return None
        return declaration.injection(bundle) if bundle else None


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
