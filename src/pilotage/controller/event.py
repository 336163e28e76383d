"""Events: something happened to an object. One type for all four: create, update, delete and generic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, cast

from pilotage.cache.event import ChangeType
from pilotage.errors import DecodeError
from pilotage.history.records import EventContent
from pilotage.meta.models import ObjectMeta
from pilotage.meta.objects import Header, origin_of
from pilotage.meta.typevars import T, T_co
from pilotage.meta.unstructured import Unstructured

EventType = ChangeType | Literal["generic"]


class EventData(EventContent, Protocol[T_co]):
    """An event with its objects: the `InformerEvent` of a cache, or objects that the program has."""

    @property
    def type(self) -> EventType: ...
    @property
    def old(self) -> T_co | None: ...
    @property
    def new(self) -> T_co | None: ...
    @property
    def old_header(self) -> Header | None: ...
    @property
    def new_header(self) -> Header | None: ...
    @property
    def unknown_final_state(self) -> bool: ...


class Event(Generic[T_co]):
    """Something happened to an object. The object is decoded on access; its header is cheap, and its name is known.

    Predicates and handlers receive it. Changing its objects does not change the cache. `Event[Pod]` is an event about a
    Pod; `Event` alone is one about any object.
    """

    __slots__ = ("_change", "type")

    def __init__(self, change: EventData[T_co]) -> None:
        self.type: EventType = change.type
        """What happened: "create", "update", "delete" or "generic"."""
        self._change = change

    @classmethod
    def create(cls, obj: T, *, is_in_initial_list: bool = False) -> Event[T]:
        """An object was created; or, with `is_in_initial_list`, it existed before it was watched."""
        return Event(_Objects("create", new=obj, is_in_initial_list=is_in_initial_list))

    @classmethod
    def update(cls, old: T, new: T) -> Event[T]:
        """An object was changed, or the cache was replayed."""
        return Event(_Objects("update", old=old, new=new))

    @classmethod
    def delete(cls, obj: T, *, unknown_final_state: bool = False) -> Event[T]:
        """An object was deleted; `obj` is its last state, or with `unknown_final_state` the last known one."""
        return Event(_Objects("delete", old=obj, unknown_final_state=unknown_final_state))

    @classmethod
    def generic(cls, obj: T) -> Event[T]:
        """Another event about an object: a timer, a message from another system."""
        return Event(_Objects("generic", new=obj))

    @property
    def object(self) -> T_co:
        """The object as it is now; of a deleted one, its last state. None where the event has no object."""
        change = self._change
        return cast(T_co, change.new if change.new is not None else change.old)

    @property
    def old(self) -> T_co | None:
        """The object as it was before an update or a delete; None for other events."""
        return self._change.old

    @property
    def new_data(self) -> bytes | None:
        """The object as it is now in its JSON form, not decoded; None for a delete."""
        return self._change.new_data

    @property
    def name(self) -> str:
        """The name of `object`; empty where the event has no object."""
        return self._change.name

    @property
    def namespace(self) -> str:
        """Its namespace; empty for a cluster-scoped kind."""
        return self._change.namespace

    @property
    def header(self) -> Header | None:
        """Name, labels and the like of `object`."""
        found = self._change.new_header
        return found if found is not None else self._change.old_header

    @property
    def new_header(self) -> Header | None:
        """Of the object as it is now; None for a delete."""
        return self._change.new_header

    @property
    def old_header(self) -> Header | None:
        """Of `old`."""
        return self._change.old_header

    @property
    def is_in_initial_list(self) -> bool:
        """Whether the object existed before it was watched, and was not just created."""
        return self._change.is_in_initial_list

    @property
    def unknown_final_state(self) -> bool:
        """Whether the deletion itself was not observed: `object` is older than the deletion."""
        return self._change.unknown_final_state

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing changed: an object of the initial list, a replay, or two objects with the same version."""
        return self._change.is_unchanged

    def __repr__(self) -> str:
        try:
            name = "/".join(part for part in (self.namespace, self.name) if part) or "nothing"
        except DecodeError as error:
            return f"<Event {self.type}: {error}>"
        return f"<Event {self.type} {name}>"


@dataclass(frozen=True, slots=True)
class _Objects:
    """A change made from objects instead of bytes."""

    type: EventType
    old: Any = None
    new: Any = None
    is_in_initial_list: bool = False
    unknown_final_state: bool = False

    @property
    def old_header(self) -> Header | None:
        return _header(self.old)

    @property
    def new_header(self) -> Header | None:
        return _header(self.new)

    @property
    def old_data(self) -> bytes | None:
        """The bytes that `old` was read from, where it was read."""
        return origin_of(self.old)

    @property
    def new_data(self) -> bytes | None:
        return origin_of(self.new)

    @property
    def header(self) -> Header | None:
        return self.new_header or self.old_header

    @property
    def name(self) -> str:
        return self.header.name if self.header is not None else ""

    @property
    def namespace(self) -> str:
        return self.header.namespace if self.header is not None else ""

    @property
    def is_unchanged(self) -> bool:
        if self.type != "update":
            return self.is_in_initial_list
        old, new = self.old_header, self.new_header
        return old is not None and new is not None and old.resource_version == new.resource_version


def _header(obj: Any) -> Header | None:
    if obj is None:
        return None
    if isinstance(obj, Unstructured):
        return obj.header
    metadata = getattr(obj, "metadata", None)
    if not isinstance(metadata, ObjectMeta):
        raise DecodeError(f"an event is about an object with metadata, and {type(obj).__name__} has no metadata")
    return Header(**{name: getattr(metadata, name) for name in Header.__struct_fields__})
