"""Ready-made transforms."""

from __future__ import annotations

from pilotage.meta.unstructured import Unstructured


def strip_managed_fields(obj: Unstructured) -> Unstructured:
    """Remove `metadata.managedFields`, which few controllers read and which may be half of an object.

    An object that was read from such a cache and is written with `update` is sent without them; the API server still
    keeps them.
    """
    obj.remove_nested("metadata", "managedFields")
    return obj
