"""The rules of custom resources."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.rest.request import PatchType
from pilotage.server.strategies.metadata import is_qualified
from pilotage.server.strategies.rules import Rules
from pilotage.server.strategies.scaling import validate_scale
from pilotage.server.strategies.strategy import KindStrategy, Strategy, copy_field

_PATH = " including a path (/)"


class CustomResourceStrategy(Strategy):
    """What all custom resources do beside their schemas."""

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        result = dict(old)
        copy_field(result, document, "status")
        if result.get("status", {}) is None:
            del result["status"]  # it has an owner, and no value
        return result

    def validate(self, document: Document) -> Iterable[Cause]:
        return validate_scale(document, self.rules.scale, status=False) if self.rules.scale is not None else ()

    def validate_status_update(self, document: Document, old: Document) -> Iterable[Cause]:
        return validate_scale(document, self.rules.scale, status=True) if self.rules.scale is not None else ()

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        """Finalizers without a domain are valid, but may collide."""
        finalizers = document["metadata"].get("finalizers")
        if not finalizers:
            return []
        known = old["metadata"].get("finalizers", ()) if old is not None else ()
        return [
            f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name{_PATH if "." in name else ""}'
            " to avoid accidental conflicts with other finalizer writers"
            for name in finalizers[:MAX_CAUSES]
            if name not in known and not is_qualified(name)
        ]


CUSTOM = KindStrategy(
    Rules(
        generation=True,
        unconditional_update=False,
        patch_types=tuple(kind for kind in PatchType if kind is not PatchType.STRATEGIC),
        qualified_finalizers=False,
    ),
    CustomResourceStrategy,
)
"""A custom resource without rules of its own."""
