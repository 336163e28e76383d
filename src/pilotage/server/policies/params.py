"""The parameters of a policy: objects that a binding refers to by name or by labels."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selectors.selectors import Selector
from pilotage.server import records
from pilotage.server.catalogue import Catalogue
from pilotage.server.policies.policy import Binding
from pilotage.server.resources import ResourceInfo
from pilotage.server.webhooks.conversion import Converter
from pilotage.storage.interface import Entry, Storage


class ConfigurationError(Exception):
    """A policy or binding that cannot be used. The failure policy decides."""


class Params:
    """Finds parameters in the storage."""

    def __init__(self, storage: Storage, prefix: str, catalogue: Catalogue, converter: Converter) -> None:
        self._storage = storage
        self._prefix = prefix
        self._catalogue = catalogue
        self._converter = converter

    async def resource(self, kind: GroupVersionKind) -> ResourceInfo:
        """Where objects of a kind of parameters are. Raises ConfigurationError."""
        info = await self._catalogue.of_kind(kind)
        if info is None:
            shown = f"{kind.api_version}, Kind={kind.kind}"
            raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")
        return info

    async def of(self, binding: Binding, info: ResourceInfo | None, namespace: str) -> list[Document | None]:
        """The parameters to evaluate a policy with, one after another. None: without any.

        Raises ConfigurationError.
        """
        reference = binding.param_ref
        if info is None or reference is None:
            return [None]
        where = _namespace(reference, info, namespace)
        name, selector = reference.get("name"), reference.get("selector")
        if name:
            found = await self._get(info, where, name)
        elif selector is not None:
            found = await self._list(info, where, Selector.from_label_selector(selector))
        else:
            raise ConfigurationError("one of name or selector must be provided")
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return list(found)

    async def _get(self, info: ResourceInfo, namespace: str, name: str) -> list[Document]:
        entry = await self._storage.get(self._prefix + info.key(namespace, name))
        return [] if entry is None else [await self._read(entry, info)]

    async def _list(self, info: ResourceInfo, namespace: str, selector: Selector) -> list[Document]:
        snapshot = await self._storage.list(self._prefix + info.key(namespace, ""))
        found = [await self._read(entry, info) for entry in snapshot.entries]
        return [each for each in found if selector.matches(each["metadata"].get("labels") or {})]

    async def _read(self, entry: Entry, info: ResourceInfo) -> Document:
        """An object at the version of the policy. Raises ApiError if its conversion webhook fails."""
        return records.decode(await self._converter.view(entry, info))


def _namespace(reference: Document, info: ResourceInfo, namespace: str) -> str:
    given = reference.get("namespace") or ""
    if not info.namespaced:
        if given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        raise ConfigurationError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return str(given or namespace)
