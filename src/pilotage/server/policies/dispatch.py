"""Decides which policies are for a request, and gives each binding its parameters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pilotage.errors import ApiError
from pilotage.meta.documents import Document
from pilotage.server.admission import Attributes
from pilotage.server.matching.configurations import Configurations
from pilotage.server.matching.criteria import Match
from pilotage.server.matching.rules import is_exempt_from_policies
from pilotage.server.matching.selectors import NamespaceLabels
from pilotage.server.plugins.plugin import DynamicAdmission, PluginContext
from pilotage.server.policies.params import ConfigurationError, Params
from pilotage.server.policies.policy import Binding, Policy, policies_of


@dataclass(frozen=True, slots=True)
class Application:
    """A policy that is evaluated for a request, with one of its bindings and one parameter; or why it cannot be."""

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
        """All policies that are bound; none for what configures admission itself, and for reviews of access."""
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
        """How a policy is for a request, in the order of its bindings."""
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
