"""What is recorded while reconciles run: references to bytes that exist already.

Nothing is decoded, compared or formatted here: that is done by `stories`, for the reconciles that a caller asks for.

The cyclic collector of Python does not see these records (`gc=False`): there are many, and they live long, so that it
would take longer to visit them than to make them. So a record must not lead back to the history, the manager or a
controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.values import Value
from pilotage.rest import APIRequest
from pilotage.rest.response import Bytes
from pilotage.telemetry.stack import Place

if TYPE_CHECKING:
    pass

OVERHEAD = 300
"""The bytes that a record itself takes, about."""


class Named(Protocol):
    """A request: the name of what is reconciled."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


class EventContent(Protocol):
    """What a history keeps of an event. That of a controller has the objects too."""

    @property
    def type(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def old_data(self) -> bytes | None: ...
    @property
    def new_data(self) -> bytes | None: ...
    @property
    def is_in_initial_list(self) -> bool: ...
    @property
    def is_unchanged(self) -> bool: ...


class Origin(Value, frozen=True):
    """Where events come from: one source of a controller."""

    source: str
    kind: GroupVersionKind | None = None


class EventNote(msgspec.Struct, gc=False, eq=False):
    """An event that put a request on the queue, or that a predicate dropped: its bytes, without what was decoded of
    them."""

    origin: Origin
    type: str
    namespace: str
    name: str
    old_data: bytes | None = None
    new_data: bytes | None = None
    is_in_initial_list: bool = False
    is_unchanged: bool = False

    @property
    def size(self) -> int:
        """Of its objects, about."""
        return OVERHEAD + len(self.old_data or b"") + len(self.new_data or b"")


class DroppedNote(msgspec.Struct, gc=False, eq=False):
    """An event that put no request on the queue."""

    note: EventNote
    dropped_by: str
    """What dropped it: `predicate generation_changed`, or `handler owners, which returned no request`."""
    at: float
    """The loop's time."""


class RetryNote(msgspec.Struct, gc=False, eq=False):
    """A reconcile that put its own request on the queue again, with the causes of that reconcile."""

    number: int
    """The number of that reconcile."""
    result: str
    """What it returned, such as `requeue_after=30`; `error` where it has failed."""
    error: str = ""
    causes: Sequence[Cause] = ()
    """The causes of a reconcile that has failed, which are those of the next attempt too."""

    @property
    def trigger(self) -> str:
        """The reason in a few words, for logs and traces."""
        return f"retry after {self.error.partition(':')[0]}" if self.error else self.result

    @property
    def size(self) -> int:
        """Of the objects of its causes, about."""
        return OVERHEAD + sum(note.size for _, note in self.causes)


class TextNote(msgspec.Struct, gc=False, eq=False):
    """Another reason why a request is on the queue."""

    text: str
    size: ClassVar[int] = OVERHEAD


Note = EventNote | RetryNote | TextNote
Cause = tuple[float, Note]
"""A note, and the time of the loop at which it was put on the queue."""


class ReadNote(msgspec.Struct, gc=False, eq=False):
    """One object that was read. `data` is None where it was not found."""

    kind: GroupVersionKind
    namespace: str
    name: str
    data: bytes | None
    is_live: bool = False


class ListNote(msgspec.Struct, gc=False, eq=False):
    """A list of objects: how many, and at which version."""

    kind: GroupVersionKind
    namespace: str
    selector: str
    count: int
    version: str
    is_live: bool = False
    items: Sequence[Bytes] | None = None
    """The objects, where a listener asks for them: references to them would keep whole lists in memory."""


class CallNote(msgspec.Struct, gc=False, eq=False):
    """A request to the API server, and its answer: a write, or a live read."""

    request: APIRequest
    """Without its fences, which lead back to the manager."""
    began: float
    ended: float = 0.0
    answer: Any = None
    """The bytes of the answer; of a list the page where a listener asks for it, else the number of objects and the
    version. None where there is none."""
    error: str = ""
    written: tuple[tuple[str, int], ...] = ()
    """The uids and versions that the write left; version 0 where it deleted an object."""
    place: Place | str | None = None
    """The line of the program that sent it; its text in a recording. None for reads, and where it is not known."""


EVENT = "EVENT"
"""The level of an Event that a reconcile recorded, for people who look at the object."""


class LogNote(msgspec.Struct, gc=False, eq=False):
    """A log line, or an Event that was recorded."""

    at: float
    level: str
    text: str


Step = ReadNote | ListNote | CallNote | LogNote
