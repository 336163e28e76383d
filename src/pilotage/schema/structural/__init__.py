"""What an API server does with a document by its structural schema: prune, default, validate."""

from pilotage.schema.structural.default import DefaultsTooLargeError
from pilotage.schema.structural.schema import StructuralSchema

__all__ = ["DefaultsTooLargeError", "StructuralSchema"]
