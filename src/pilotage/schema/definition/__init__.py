"""Defaults and validates CustomResourceDefinitions as an API server does, with its messages."""

from pilotage.schema.definition.validate import (
    apply_definition_defaults,
    definition_causes,
    definition_update_causes,
    stored_version_causes,
)
from pilotage.schema.definition.warnings import format_warnings

__all__ = [
    "apply_definition_defaults",
    "definition_causes",
    "definition_update_causes",
    "format_warnings",
    "stored_version_causes",
]
