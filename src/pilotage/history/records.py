"""What is recorded while reconciles run: references to bytes that exist already.

Nothing is decoded, compared or formatted here: that is done by `stories`, for the reconciles that a caller asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.values import Value
from pilotage.rest import APIRequest
from pilotage.rest.response import Bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pilotage.history.history import Journal, Listener

OVERHEAD = 300
"""The bytes that a record itself takes, about."""
MOST_STEPS = 10_000
"""The steps of one reconcile that are recorded; further ones are counted."""
MOST_CAUSES = 10_000
"""The causes of one reconcile that are recorded, those of the attempts before it included."""


class Named(Protocol):
    """A request: the name of what is reconciled."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


class EventData(Protocol):
    """What a history keeps of an event."""

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


class ForgottenEvent(msgspec.Struct, gc=False):
    """An event whose objects were dropped from the history."""

    type: str
    namespace: str
    name: str
    old_data: bytes | None = None
    new_data: bytes | None = None
    is_in_initial_list: bool = False
    is_unchanged: bool = False


class EventNote(msgspec.Struct, gc=False, eq=False):
    """An event that put a request on the queue, or that a predicate dropped."""

    origin: Origin
    event: EventData
    size: int
    dropped_by: str = ""
    """The predicate that dropped it, or the handler that mapped it to no request."""
    at: float = 0.0
    """The loop's time; 0 where the queue has it."""

    def forget(self) -> None:
        """Drop the objects."""
        event = self.event
        self.event = ForgottenEvent(event.type, event.namespace, event.name)


class RetryNote(msgspec.Struct, gc=False, eq=False):
    """A reconcile that put its own request on the queue again, with the causes of that reconcile."""

    number: int
    """The number of that reconcile."""
    result: str
    """What it returned, such as `requeue_after=30`; `error` where it has failed."""
    error: str = ""
    causes: list[tuple[float, object]] = []
    """The causes of a reconcile that has failed, which are those of the next attempt too."""

    @property
    def trigger(self) -> str:
        """The reason in a few words, for logs and traces."""
        return f"retry after {self.error.partition(':')[0]}" if self.error else self.result


class TextNote(msgspec.Struct, gc=False, eq=False):
    """Another reason why a request is on the queue."""

    text: str


Note = EventNote | RetryNote | TextNote


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


class CallNote(msgspec.Struct, eq=False):
    """A request to the API server, and its answer: a write, or a live read. Its fences may lead back to the history, so
    the cyclic collector must see it."""

    request: APIRequest
    began: float
    ended: float = 0.0
    answer: Any = None
    """The bytes of the answer; of a list the page where a listener asks for it, else the number of objects and the
    version. None where there is none."""
    error: str = ""
    written: list[tuple[str, int]] = []
    """The uids and versions that the write left; version 0 where it deleted an object."""


class LogNote(msgspec.Struct, gc=False, eq=False):
    """A log line."""

    at: float
    level: str
    text: str


Step = ReadNote | ListNote | CallNote | LogNote


class Run(msgspec.Struct, eq=False):
    """One reconcile, while it runs and afterwards."""

    journal: Journal
    number: int
    request: Named
    notes: list[tuple[float, object]]
    """Why the request was on the queue: pairs of a time of the loop and a note."""
    began: float
    priority: int = 0
    ended: float | None = None
    result: str = ""
    error: str = ""
    place: str = ""
    """The line of the program that raised the error."""
    steps: list[Step] = msgspec.field(default_factory=list)
    skipped: int = 0
    """Steps that were not recorded: there were too many, or they were too large."""
    size: int = OVERHEAD
    """What the history counts for it: its steps only once it has ended."""
    grown: int = 0
    """The size of its steps."""
    depth: int = 0
    """How many reconciles in a row, each caused by a write of the one before, led to this one."""
    last_write: Any = None
    """Its last write, as the tracker of writes has it."""
    room: int = 0
    """The size above which no step is recorded."""
    listeners: tuple[Listener, ...] = ()
    keeps_lists: bool = False
    """Whether the objects of lists are recorded."""

    def add(self, step: Step, size: int) -> None:
        """Record a step, whose objects have this size."""
        steps = self.steps
        if len(steps) >= MOST_STEPS or self.grown + size > self.room:
            self.skipped += 1
            return
        steps.append(step)
        self.grown += size + OVERHEAD
        if self.listeners:
            for listener in self.listeners:
                listener.step(self, step)

    def causes(self) -> Iterator[tuple[float, object]]:
        """The notes, those of the reconciles before it that this one repeats first."""
        for at, note in self.notes:
            if isinstance(note, RetryNote):
                yield from note.causes
            yield at, note

    def unanswered(self) -> list[tuple[float, object]]:
        """The causes of the next attempt, after an error."""
        (_, first), *others = self.notes or [(0.0, None)]
        if isinstance(first, RetryNote) and first.error and not others:
            return first.causes
        causes = [(at, note) for at, note in self.causes() if not (isinstance(note, RetryNote) and note.error)]
        return causes[-MOST_CAUSES:]


CURRENT: ContextVar[Run | None] = ContextVar("pilotage_run", default=None)
"""The reconcile that the current task belongs to."""
