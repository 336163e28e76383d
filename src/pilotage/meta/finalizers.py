"""Finalizers: keys on an object that keep it until a controller has cleaned up after it."""

from __future__ import annotations

from pilotage.meta.owners import HasMetadata


def add_finalizer(object_: HasMetadata, finalizer: str) -> bool:
    """Add a finalizer; False if the object has it already."""
    if contains_finalizer(object_, finalizer):
        return False
    object_.metadata.finalizers.append(finalizer)
    return True


def remove_finalizer(object_: HasMetadata, finalizer: str) -> bool:
    """Remove a finalizer, all occurrences of it; False if the object does not have it."""
    metadata = object_.metadata
    if finalizer not in metadata.finalizers:
        return False
    metadata.finalizers = [other for other in metadata.finalizers if other != finalizer]
    return True


def contains_finalizer(object_: HasMetadata, finalizer: str) -> bool:
    """Whether the object has the finalizer."""
    return finalizer in object_.metadata.finalizers
