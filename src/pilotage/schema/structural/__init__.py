"""Documents and their structural schemas: an API server prunes, defaults and validates each object by its schema."""

from pilotage.schema.structural.default import DefaultsTooLargeError
from pilotage.schema.structural.schema import StructuralSchema

__all__ = ["DefaultsTooLargeError", "StructuralSchema"]
