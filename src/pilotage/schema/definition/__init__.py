"""What an API server does with a CustomResourceDefinition itself: default and validate it."""

from pilotage.schema.definition.validate import (
    apply_definition_defaults,
    definition_causes,
    definition_update_causes,
)

__all__ = ["apply_definition_defaults", "definition_causes", "definition_update_causes"]
