"""Finalizers: keys on an object that keep it until a controller has cleaned up after it."""

from __future__ import annotations

from pilotage.meta.owners import HasMetadata


def add_finalizer(object_: HasMetadata, finalizer: str) -> bool:
    """Put a finalizer on; False if it was there."""
    if contains_finalizer(object_, finalizer):
        return False
    object_.metadata.finalizers.append(finalizer)
    return True


def remove_finalizer(object_: HasMetadata, finalizer: str) -> bool:
    """Take a finalizer off, as often as it is there; False if it was not."""
    metadata = object_.metadata
    if finalizer not in metadata.finalizers:
        return False
    metadata.finalizers = [other for other in metadata.finalizers if other != finalizer]
    return True


def contains_finalizer(object_: HasMetadata, finalizer: str) -> bool:
    """Whether the finalizer is on."""
    return finalizer in object_.metadata.finalizers
