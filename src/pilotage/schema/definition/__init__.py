"""Defaults and validates CustomResourceDefinitions as an API server does, with its messages."""

from pilotage.schema.definition.validate import (
    apply_definition_defaults,
    definition_causes,
    definition_update_causes,
    stored_version_causes,
)

__all__ = ["apply_definition_defaults", "definition_causes", "definition_update_causes", "stored_version_causes"]
