"""A request: the name of the object to reconcile, and nothing else, so that its events are deduplicated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import msgspec

from pilotage.meta.bounds.amounts import Seconds, store_seconds
from pilotage.meta.owners import HasMetadata
from pilotage.meta.typevars import T_co, TypeVar

O = TypeVar("O", bound=HasMetadata)  # noqa: E741


class Request(msgspec.Struct, Generic[T_co], frozen=True, gc=False):
    """Names the object to reconcile. A value: compared by its fields, and hashable.

    A controller may have requests of its own with more fields: `class Sync(Request, frozen=True): cluster: str = ""`.

    `Request[Database]` is for type checkers: a reconciler that takes it is refused for any other kind. `Request` alone
    is accepted for every kind.
    """

    name: str
    """The name of the object."""
    namespace: str = ""
    """Its namespace; empty for a cluster-scoped kind."""

    @classmethod
    def of(cls, obj: O) -> Request[O]:
        """The request for an object."""
        return Request(obj.metadata.name, obj.metadata.namespace)

    @property
    def namespaced_name(self) -> Request[T_co]:
        """The name and the namespace alone, without the other fields that a request of your own has."""
        return Request(self.name, self.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Enqueue(msgspec.Struct, frozen=True, gc=False):
    """A request that a handler returns with a delay or a priority of its own, instead of the request alone."""

    request: Request
    """What to reconcile."""
    after: float = 0.0
    """How long until it is put on the queue: seconds, or a timedelta. It is not debounced."""
    priority: int | None = None
    """Requests with a higher one are first; None: the priority of the event, 0 or the low priority of unchanged
    objects."""

    if TYPE_CHECKING:  # accepts more types than it stores

        def __init__(self, request: Request, after: Seconds = 0.0, priority: int | None = None) -> None: ...

    def __post_init__(self) -> None:
        store_seconds(self, "after")


Q = TypeVar("Q", bound=Request, default=Any)
Q_co = TypeVar("Q_co", bound=Request, covariant=True, default=Any)
"""The requests of a controller."""

Q_contra = TypeVar("Q_contra", bound=Request, contravariant=True, default=Any)
"""The same, for parameters."""
