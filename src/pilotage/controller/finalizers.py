"""The finalizer registry: what is cleaned up before an object is removed, by the name of the finalizer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pilotage.errors import InvalidDefinition, PilotageError
from pilotage.meta.finalizers import add_finalizer, contains_finalizer, remove_finalizer
from pilotage.meta.owners import HasMetadata

T = TypeVar("T", bound=HasMetadata)

Finalizer = Callable[[T], Awaitable[Any]]
"""Cleans up after an object. Returns whether it changed the status of the object."""


@dataclass(frozen=True, slots=True)
class Finalized:
    """What `finalize` changed in the object in memory; the caller writes it."""

    updated: bool = False
    """The finalizers changed: `client.update`."""
    status_updated: bool = False
    """A finalizer changed the status: `client.update_status`."""


class FinalizationFailed(PilotageError):
    """Some finalizers failed, and stay: `errors` by key. `result` is what the others changed: write that first."""

    def __init__(self, name: str, errors: Mapping[str, Exception], result: Finalized) -> None:
        self.errors = dict(errors)
        self.result = result
        reasons = "; ".join(f"{key}: {type(error).__name__}: {error}" for key, error in errors.items())
        super().__init__(f"{name} cannot be removed yet: {reasons}")


class Finalizers(Generic[T]):
    """Cleans up after objects.

    finalizers = Finalizers[Database]()
    finalizers.register("demo.pilotage.dev/bucket", delete_bucket)
    ...
    result = await finalizers.finalize(database)
    if result.updated:
        await client.update(database)
    """

    def __init__(self) -> None:
        self._finalizers: dict[str, Finalizer[T]] = {}

    def register(self, key: str, finalizer: Finalizer[T]) -> None:
        """Add a finalizer. InvalidDefinition if the key is taken."""
        if key in self._finalizers:
            raise InvalidDefinition(f"a finalizer with the key {key!r} is registered already; choose another key")
        self._finalizers[key] = finalizer

    async def finalize(self, obj: T) -> Finalized:
        """Add all finalizers to an object; for one that is being deleted, run those it has and remove them.

        If one fails, the others still run, then FinalizationFailed is raised with all errors.
        """
        if obj.metadata.deletion_timestamp is None:
            return Finalized(updated=sum(add_finalizer(obj, key) for key in self._finalizers) > 0)
        updated = status_updated = False
        errors: dict[str, Exception] = {}
        for key, finalizer in self._finalizers.items():
            if not contains_finalizer(obj, key):
                continue
            try:
                status_updated = bool(await finalizer(obj)) or status_updated
            except Exception as error:
                errors[key] = error
            else:
                updated = remove_finalizer(obj, key) or updated
        result = Finalized(updated, status_updated)
        if errors:
            raise FinalizationFailed(obj.metadata.name, errors, result) from next(iter(errors.values()))
        return result
