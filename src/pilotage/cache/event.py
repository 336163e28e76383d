"""The event of an informer: one change to one object, which is decoded on use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from pilotage.meta import objects
from pilotage.meta.objects import Header

T = TypeVar("T")
U = TypeVar("U")

ChangeType = Literal["create", "update", "delete"]


class InformerEvent(msgspec.Struct, Generic[T], eq=False, gc=False):
    """A change. `old` is set for updates and deletes, `new` for creates and updates.

    Objects and headers are decoded on first use, and are then shared by all listeners of this event; changing them
    changes nothing but the event.
    """

    type: ChangeType
    namespace: str
    name: str
    _read: Callable[[bytes], T]
    old_data: bytes | None = None
    """The bytes of `old`."""
    new_data: bytes | None = None
    """The bytes of `new`."""
    is_in_initial_list: bool = False
    """The object existed before the listener was added, or before the informer started."""
    unknown_final_state: bool = False
    """The delete was not observed: `old` is the last known state."""
    is_resync: bool = False
    """A replay: `old` and `new` are the same."""
    _new_header: Header | None = None
    _old_header: Header | None = None
    _new_object: T | None = None
    _old_object: T | None = None

    def __repr__(self) -> str:
        return f"<InformerEvent {self.type} {self.namespace}/{self.name}>"  # without bytes, which may be a Secret's

    @property
    def is_unchanged(self) -> bool:
        """Whether the object has not changed: it was there before, or it is a replay."""
        return self.is_in_initial_list or self.is_resync

    @property
    def new(self) -> T | None:
        """The new state; None for a delete."""
        if self._new_object is None and self.new_data is not None:
            self._new_object = self._read(self.new_data)
        return self._new_object

    @property
    def old(self) -> T | None:
        """The state before; None for a create."""
        if self._old_object is None and self.old_data is not None:
            self._old_object = self._read(self.old_data)
        return self._old_object

    @property
    def object(self) -> T:
        """The object of the event: its new state, or its last one if it was deleted."""
        found = self.new if self.new_data is not None else self.old
        assert found is not None  # an event has one of the two
        return found

    @property
    def new_header(self) -> Header | None:
        """The header of `new`."""
        if self._new_header is None and self.new_data is not None:
            self._new_header = objects.header(self.new_data)
        return self._new_header

    @property
    def old_header(self) -> Header | None:
        """The header of `old`."""
        if self._old_header is None and self.old_data is not None:
            self._old_header = objects.header(self.old_data)
        return self._old_header

    def before(self) -> InformerEvent[T]:
        """The create of the object in the state before this change, for a listener that does not know the object."""
        return InformerEvent(
            "create", self.namespace, self.name, self._read, None, self.old_data, is_in_initial_list=True
        )

    def read_as(self, read: Callable[[bytes], U]) -> InformerEvent[U]:
        """The same change, with its objects in another form."""
        return InformerEvent(
            self.type,
            self.namespace,
            self.name,
            read,
            self.old_data,
            self.new_data,
            self.is_in_initial_list,
            self.unknown_final_state,
            self.is_resync,
            self._new_header,
            self._old_header,
        )

    @property
    def header(self) -> Header:
        """The header of `object`."""
        found = self.new_header if self.new_data is not None else self.old_header
        assert found is not None  # an event has one of the two
        return found


@dataclass(frozen=True, slots=True)
class ResourceEventHandler(Generic[T]):
    """client-go's handler: functions for added, updated and deleted objects, called in order. They must not block.

    `on_delete` gets the last known state. An object that was deleted and created again between two watches is reported
    as an update whose objects have different uids.
    """

    on_add: Callable[[T], Any] | None = None
    on_update: Callable[[T, T], Any] | None = None
    on_delete: Callable[[T], Any] | None = None

    def __call__(self, event: InformerEvent[T]) -> None:
        """Call the function for the event's type."""
        if event.type == "create":
            if self.on_add is not None:
                self.on_add(event.object)
        elif event.type == "delete":
            if self.on_delete is not None:
                self.on_delete(event.object)
        elif self.on_update is not None:
            old, new = event.old, event.new
            assert old is not None  # an update has both
            assert new is not None
            self.on_update(old, new)
