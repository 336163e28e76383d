"""The built-in kinds that a server cannot work without: each has them, whatever its set of kinds is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.offload import COMPILED
from pilotage.server.strategies.apiextensions import DefinitionStrategy
from pilotage.server.strategies.namespaces import PROTECTED, NamespaceStrategy
from pilotage.server.strategies.rules import BOTH, DeletionRules, Rules, paths
from pilotage.server.strategies.strategy import KindStrategy
from pilotage.types import builtin

NEEDED: Mapping[str, KindStrategy] = {
    "customresourcedefinitions.apiextensions.k8s.io": KindStrategy(
        Rules(
            generation=True,
            unconditional_update=False,
            deletion=DeletionRules(has_dependents=False),
            without_table=("status",),
            qualified_finalizers=False,
            grace_period=False,
            names_resources=True,
            weight=COMPILED,
        ),
        DefinitionStrategy,
    ),
    "namespaces": KindStrategy(
        Rules(
            name_form="label",
            selectable_fields=paths("status.phase"),
            metadata_checks=BOTH,
            deletion=DeletionRules(returns_object=True, collecting_policy="Foreground"),
            grace_period=False,
            protected_names=PROTECTED,
        ),
        NamespaceStrategy,
    ),
}
REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups whose objects are processed at once, and never stored."""


def needed_resources() -> Iterable[RESTMapping]:
    """The resources that each server has: namespaces, definitions, and the reviews of users and rights."""
    for mapping in builtin.resources():
        if mapping.resource.group in REVIEWS or str(mapping.resource.group_resource) in NEEDED:
            yield mapping
