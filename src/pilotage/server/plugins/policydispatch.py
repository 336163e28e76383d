"""Finds the policies that match a request, with the parameters of each binding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pilotage.errors import ApiError
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selectors.selectors import Selector
from pilotage.server import records
from pilotage.server.admission import Attributes
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.conversion import Converter
from pilotage.server.matching.configurations import Configurations
from pilotage.server.matching.criteria import Match
from pilotage.server.matching.rules import is_exempt_from_policies
from pilotage.server.matching.selectors import NamespaceLabels
from pilotage.server.plugins.plugin import DynamicAdmission, PluginContext
from pilotage.server.policies.policy import Binding, Policy, policies_of
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Entry, Storage


@dataclass(frozen=True, slots=True)
class Application:
    """A policy that is evaluated for a request, with one of its bindings and one parameter; or why it cannot be
    evaluated."""

    policy: Policy
    binding: Binding | None = None
    match: Match | None = None
    param: Document | None = None
    problem: str = ""

    @property
    def identity(self) -> str:
        """Unique among all applications for one request."""
        metadata = (self.param or {}).get("metadata") or {}
        binding = self.binding.name if self.binding is not None else ""
        return f"{self.policy.name}/{binding}/{metadata.get('namespace', '')}/{metadata.get('name', '')}"


class PolicyDispatcher:
    """The policies of one kind."""

    def __init__(self, context: PluginContext, dynamic: DynamicAdmission, kind: str) -> None:
        self._configurations = dynamic.configurations
        self._kind = kind
        self._namespaces = NamespaceLabels(context.storage, context.prefix)
        self._params = Params(context.storage, context.prefix, dynamic.catalogue, dynamic.converter)
        self._known: Configurations | None = None
        self._policies: tuple[Policy, ...] = ()

    async def policies(self, attributes: Attributes) -> Sequence[Policy]:
        """All policies with bindings; none for objects that configure admission itself, and for access reviews."""
        found = self._configurations.current()
        if found is None:
            found = await self._configurations.list()
        if found is not self._known:
            self._policies = policies_of(found, self._kind)
            self._known = found
        if not self._policies or is_exempt_from_policies(attributes.resource.group_resource):
            return ()
        return self._policies

    async def applications(self, policy: Policy, attributes: Attributes) -> AsyncIterator[Application]:
        """The applications of a policy to a request, in the order of its bindings."""
        try:
            match = await policy.criteria.match(attributes, self._namespaces)
            if match is None:
                return
            kind = policy.param_kind
            info = await self._params.resource(kind) if kind is not None else None
        except (ApiError, ConfigurationError) as error:
            yield Application(policy, problem=f"failed to configure policy: {error}")
            return
        for binding in policy.bindings:
            try:
                if binding.criteria is not None and not await binding.criteria.match(attributes, self._namespaces):
                    continue
                params = await self._params.of(binding, info, attributes.request.namespace)
            except (ApiError, ConfigurationError) as error:
                yield Application(policy, binding, match, problem=f"failed to configure binding: {error}")
                continue
            for param in params:
                yield Application(policy, binding, match, param)

    async def namespace(self, attributes: Attributes) -> Document | None:
        """The namespace of the object of a request. Raises NotFound."""
        name = attributes.request.namespace
        if not name or attributes.resource.resource == "namespaces":
            return None
        return await self._namespaces.namespace(name)


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
        return records.decode(await self._converter.as_read(entry, info))


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
