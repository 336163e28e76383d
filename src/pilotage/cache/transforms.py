"""Ready-made transforms."""

from __future__ import annotations

from pilotage.meta.unstructured import Unstructured


def strip_managed_fields(obj: Unstructured) -> Unstructured:
    """Forget `metadata.managedFields`, which few controllers read and which may be half of an object.

    An object that was read from such a cache and is written with `update` is written without them, and the API server
    keeps them all the same.
    """
    obj.remove_nested("metadata", "managedFields")
    return obj
