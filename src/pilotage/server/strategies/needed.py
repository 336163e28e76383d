"""The built-in kinds that a server cannot work without: each has them, whatever its set of kinds is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.strategies.apiextensions import DefinitionStrategy
from pilotage.server.strategies.deletion import DeletionRules
from pilotage.server.strategies.metadatachecks import BOTH
from pilotage.server.strategies.namespaces import NamespaceStrategy
from pilotage.server.strategies.strategy import Strategy, paths
from pilotage.types import builtin

NEEDED: Mapping[str, Strategy] = {
    "customresourcedefinitions.apiextensions.k8s.io": DefinitionStrategy(
        generation=True,
        unconditional_update=False,
        deletion=DeletionRules(has_dependents=False),
        without_table=("status",),
    ),
    "namespaces": NamespaceStrategy(
        name_form="label",
        selectable_fields=paths("status.phase"),
        metadata_checks=BOTH,
        deletion=DeletionRules(returns_object=True, collecting_policy="Foreground"),
    ),
}
REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups whose objects are processed at once, and never stored."""


def needed_resources() -> Iterable[RESTMapping]:
    """The resources that each server has: namespaces, definitions, and the reviews of users and rights."""
    for mapping in builtin.resources():
        if mapping.resource.group in REVIEWS or str(mapping.resource.group_resource) in NEEDED:
            yield mapping
