"""What is recorded while reconciles run: references to bytes that exist already.

Nothing is decoded, compared or formatted here: that is done by `stories`, for the reconciles that a caller asks for.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.values import Value
from pilotage.rest import APIRequest
from pilotage.rest.response import Bytes
from pilotage.telemetry.logs import SOURCE
from pilotage.telemetry.stack import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pilotage.history.history import Journal, Listener
    from pilotage.history.tapes import Tape

OVERHEAD = 300
"""The bytes that a record itself takes, about."""
MOST_STEPS = 10_000
"""The steps of one reconcile that are recorded; further ones are counted."""
_MEASURED = 256
"""After so many further steps, the size of a reconcile that still runs is checked."""
MOST_CAUSES = 10_000
"""The causes of one reconcile that are recorded, including the causes of the attempts before it."""


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


class DroppedNote(msgspec.Struct, gc=False, eq=False):
    """An event that put no request on the queue."""

    journal: Journal
    note: EventNote
    dropped_by: str
    """What dropped it: `predicate generation_changed`, or `handler owners, which returned no request`."""
    at: float
    """The loop's time."""
    size: int


class RetryNote(msgspec.Struct, gc=False, eq=False):
    """A reconcile that put its own request on the queue again, with the causes of that reconcile."""

    number: int
    """The number of that reconcile."""
    result: str
    """What it returned, such as `requeue_after=30`; `error` where it has failed."""
    error: str = ""
    causes: list[Cause] = []
    """The causes of a reconcile that has failed, which are the causes of the next attempt, too."""

    @property
    def trigger(self) -> str:
        """The reason in a few words, for logs and traces."""
        return f"retry after {self.error.partition(':')[0]}" if self.error else self.result


class TextNote(msgspec.Struct, gc=False, eq=False):
    """Another reason why a request is on the queue."""

    text: str


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
    written: list[tuple[str, int]] | None = None
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


class Run(msgspec.Struct, eq=False):
    """One reconcile, while it runs and afterwards."""

    journal: Journal
    number: int
    request: Named
    notes: Sequence[Cause]
    """Why the request was on the queue."""
    began: float
    priority: int = 0
    room: int = 0
    """The number of steps that are recorded; 0 when it has ended."""
    listeners: tuple[Listener, ...] = ()
    ended: float | None = None
    id: str = ""
    """A random id, which is made when it is first logged: most reconciles log nothing."""
    result: str = ""
    error: str = ""
    place: str = ""
    """The line of the program that raised the error."""
    steps: list[Step] = []
    skipped: int = 0
    """Steps that were not recorded: there were too many, or they were too large."""
    size: int = 0
    """What the history counts for it: 0 until it has ended."""
    depth: int = 0
    """How many reconciles in a row, each caused by a write of the one before, led to this one; known once it writes."""
    last_write: Any = None
    """Its last write, as the tracker of writes has it."""
    tape: Tape | None = None
    """Where a recording has the times, random numbers and other values that the reconcile reads."""

    def add(self, step: Step) -> None:
        """Record a step."""
        steps = self.steps
        if len(steps) >= self.room:
            self.skipped += 1
            return
        steps.append(step)
        if not len(steps) % _MEASURED and size_of(self) > self.journal.most_of_run:
            self.room = len(steps)
        if self.listeners:
            for listener in self.listeners:
                listener.step(self, step)

    def log_fields(self) -> Mapping[str, object]:
        """The fields of its log lines."""
        if not self.id:
            self.id = str(uuid.uuid4())
        request = self.request
        names = {"namespace": request.namespace, "name": request.name, "reconcileID": self.id}
        return {**self.journal.log_fields, **names}

    @property
    def keeps_lists(self) -> bool:
        """Whether the objects of lists are recorded."""
        return any(listener.keeps_lists for listener in self.listeners)

    def causes(self) -> Iterator[Cause]:
        """The notes; first the notes of the reconciles before it that this one repeats."""
        for at, note in self.notes:
            if isinstance(note, RetryNote):
                yield from note.causes
            yield at, note

    def retry(self) -> RetryNote:
        """The note of the next attempt, after an error. It has the causes of this one."""
        first = self.notes[0][1] if len(self.notes) == 1 else None
        if isinstance(first, RetryNote) and first.error:
            return RetryNote(self.number, "error", self.error, first.causes)
        causes = [(at, note) for at, note in self.causes() if not (isinstance(note, RetryNote) and note.error)]
        room, kept = self.journal.most_of_run, 0
        for _, note in reversed(causes[-MOST_CAUSES:]):
            room -= size_of_note(note)
            if room < 0:
                break
            kept += 1
        return RetryNote(self.number, "error", self.error, causes[len(causes) - kept :])


def size_of(run: Run) -> int:
    """The size of the objects in a reconcile, about. The object of an event that was read again counts once."""
    size, newest = OVERHEAD, None
    for _, note in run.notes:
        if type(note) is EventNote:
            event = note.event
            newest, old = event.new_data, event.old_data
            size += OVERHEAD + (len(newest) if newest else 0) + (len(old) if old else 0)
        else:
            size += size_of_note(note)
    for step in run.steps:
        if type(step) is ReadNote:
            data = step.data
            size += OVERHEAD + (len(data) if data and data is not newest else 0)
        else:
            size += _size_of_step(step)
    return size


def size_of_note(note: Note) -> int:
    """The size of the objects in a note, about."""
    if isinstance(note, EventNote):
        return OVERHEAD + len(note.event.new_data or b"") + len(note.event.old_data or b"")
    return OVERHEAD + (sum(size_of_note(each) for _, each in note.causes) if isinstance(note, RetryNote) else 0)


def _size_of_step(step: Step) -> int:
    if isinstance(step, CallNote):
        answer = len(step.answer) if isinstance(step.answer, bytes | memoryview) else 0
        return OVERHEAD + len(step.request.body) + answer
    return OVERHEAD + (len(step.text) if isinstance(step, LogNote) else 0)


CURRENT: ContextVar[Run | None] = SOURCE
"""The reconcile that the current task belongs to. Log lines have its fields."""
