"""Steps that the defaults of many kinds share."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document


def default_empty(document: Document, key: str, value: Any) -> None:
    """Set a field that is absent or empty, in place."""
    if not document.get(key):
        document[key] = value


def default_field_reference(reference: Document) -> None:
    """A reference to a field of the pod is one to its first version."""
    default_empty(reference, "apiVersion", "v1")


def default_template_metadata(metadata: Document) -> None:
    """Drop empty managed fields, which reset the managed fields of an object, but mean nothing in a template, in
    place."""
    if not metadata.get("managedFields", True):
        del metadata["managedFields"]
