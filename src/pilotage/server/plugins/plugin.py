"""The base of admission plugins: they read stored objects, and reject writes as kube-apiserver does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pilotage.errors import Forbidden, StatusDetails
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.access.rbac import Authorizer
from pilotage.server.admission import Attributes
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.conversion import Converter
from pilotage.server.matching.configurations import AdmissionConfigurations, CurrentObjects
from pilotage.server.matching.requests import Convert
from pilotage.server.webhooks.caller import WebhookCaller
from pilotage.storage.interface import Entry, Storage


@dataclass(frozen=True, slots=True)
class DynamicAdmission:
    """What plugins need that are configured by objects: webhooks and policies."""

    configurations: AdmissionConfigurations
    webhooks: WebhookCaller
    convert: Convert
    """Converts objects between the versions of their resource."""
    authorizer: Authorizer
    uid: Callable[[], str]
    catalogue: Catalogue
    """Finds the resource of a kind."""
    converter: Converter
    """Reads stored objects at other versions."""


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What a plugin may use: the stored objects of one tenant, and random numbers for names."""

    storage: Storage
    prefix: str
    suffix: Callable[[], str]
    """Five letters that make a generated name unique."""
    authorizer: Authorizer | None = None
    """Decides what users may do."""
    dynamic: DynamicAdmission | None = None
    """For plugins that objects configure."""
    quotas: CurrentObjects[bool] | None = None
    """Whether there are quotas; None: that is not watched."""

    async def get(self, collection: str, namespace: str, name: str) -> Document | None:
        """The object under a collection such as `core/pods/`; None if it does not exist."""
        entry = await self.storage.get(f"{self.prefix}{collection}{namespace and namespace + '/'}{name}")
        return records.decode(records.stamp(entry.value, entry.revision)) if entry is not None else None

    async def list(self, collection: str, namespace: str = "") -> list[Document]:
        """The objects of a collection, in one namespace or in all, in the order of their names."""
        return [records.decode(entry.value) for entry in await self.entries(collection, namespace)]

    async def entries(self, collection: str, namespace: str = "") -> Sequence[Entry]:
        """The stored objects of a collection, not decoded."""
        prefix = f"{self.prefix}{collection}{namespace and namespace + '/'}"
        return (await self.storage.list(prefix)).entries


class Plugin:
    """An admission plugin. It implements `mutate`, `validate` or both; its row in the catalogue declares which."""

    name: ClassVar[str]

    def __init__(self, context: PluginContext) -> None:
        self.context = context

    async def mutate(self, attributes: Attributes) -> None:
        """Change the object of a write. Raises ApiError to refuse it."""

    async def validate(self, attributes: Attributes) -> None:
        """Raise ApiError to refuse a write."""


def forbidden(attributes: Attributes, reason: str, name: str | None = None) -> Forbidden:
    """The 403 of a plugin that refuses a write. `name` replaces the name of the object."""
    group, _, resource = attributes.resource
    if name is None:
        metadata = (attributes.new or {}).get("metadata") or {}
        name = metadata.get("name") or metadata.get("generateName") or attributes.name or "Unknown"
    qualified = f"{resource}.{group}" if group else resource
    details = StatusDetails(name=name, group=group, kind=resource)
    return Forbidden(f'{qualified} "{name}" is forbidden: {reason}', details=details)


def annotations_of(document: Document | None) -> Document:
    """The annotations of an object; empty if there is none."""
    return (document or {}).get("metadata", {}).get("annotations") or {}


def section(document: Document | None, name: str) -> dict[str, Any]:
    """A part of a document such as `spec`, which is created if it is absent."""
    if document is None:
        return {}
    found = document.get(name)
    if not isinstance(found, dict):
        found = document[name] = {}
    return found
