"""The finalizer registry: what is to be cleaned up before an object may go, by the name of the finalizer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pilotage.errors import InvalidDefinition, PilotageError
from pilotage.meta.finalizers import HasMetadata, add_finalizer, contains_finalizer, remove_finalizer

T = TypeVar("T", bound=HasMetadata)

Finalizer = Callable[[T], Awaitable[Any]]
"""Cleans up after an object. What it returns counts as yes where it is true: the status was changed on the way."""


@dataclass(frozen=True, slots=True)
class Finalized:
    """What `finalize` did to the object in memory; the caller writes it."""

    updated: bool = False
    """The finalizers changed: `client.update`."""
    status_updated: bool = False
    """A finalizer changed the status: `client.update_status`."""


class FinalizationFailed(PilotageError):
    """Some finalizers failed, and stay; `errors` says why, by key; `result` what the others did: write that first."""

    def __init__(self, name: str, errors: Mapping[str, Exception], result: Finalized) -> None:
        self.errors = dict(errors)
        self.result = result
        reasons = "; ".join(f"{key}: {type(error).__name__}: {error}" for key, error in errors.items())
        super().__init__(f"{name} cannot go yet: {reasons}")


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
        """Put all finalizers on a living object; of one that is being deleted, run those it has, and take them off.

        One that fails does not keep the others from running. Then FinalizationFailed is raised, with all errors.
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
