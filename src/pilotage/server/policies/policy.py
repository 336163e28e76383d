"""Policies with their bindings, read from the stored objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.server.matching.configurations import Configurations
from pilotage.server.matching.criteria import Criteria


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a policy applies, and with which parameters."""

    name: str
    criteria: Criteria | None = field(repr=False)
    """None: wherever the policy applies."""
    actions: tuple[str, ...]
    """Deny, Warn, Audit; of validating policies."""
    param_ref: Document | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that has at least one binding."""

    name: str
    spec: Document = field(repr=False)
    criteria: Criteria = field(repr=False)
    bindings: Sequence[Binding]

    @property
    def fails(self) -> bool:
        """Whether an error refuses the request."""
        return self.spec.get("failurePolicy") != "Ignore"

    @property
    def param_kind(self) -> GroupVersionKind | None:
        found = self.spec.get("paramKind")
        if found is None:
            return None
        group, _, version = found["apiVersion"].rpartition("/")
        return GroupVersionKind(group, version, found["kind"])


def policies_of(configurations: Configurations, kind: str) -> tuple[Policy, ...]:
    """The policies of a kind that are bound, in the order of their names."""
    bindings: dict[str, list[Binding]] = {}
    for document in configurations.get(f"{kind}Binding", ()):
        bindings.setdefault(document["spec"].get("policyName") or "", []).append(_binding(document))
    found = ((one["metadata"]["name"], one["spec"]) for one in configurations.get(kind, ()))
    return tuple(
        Policy(name, spec, Criteria.of_match_resources(spec.get("matchConstraints") or {}), bindings[name])
        for name, spec in found
        if name in bindings
    )


def _binding(document: Document) -> Binding:
    spec = document["spec"]
    resources = spec.get("matchResources")
    return Binding(
        name=document["metadata"]["name"],
        criteria=Criteria.of_match_resources(resources) if resources is not None else None,
        actions=tuple(spec.get("validationActions") or ()),
        param_ref=spec.get("paramRef"),
    )
