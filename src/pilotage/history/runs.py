"""Reconciles, while they run and afterwards."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec

from pilotage.history.records import OVERHEAD, CallNote, Cause, EventNote, LogNote, Named, ReadNote, RetryNote, Step
from pilotage.meta.kinds import GroupVersionKind
from pilotage.telemetry.logs import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pilotage.history.history import History, Listener
    from pilotage.history.tapes import Tape

STEPS = 250
"""After so many further steps, the size of a reconcile that still runs is checked."""
_OF_RUN = 4
"""One reconcile has this part of the size at most; so have the events of a controller that wait for one."""
MOST_STEPS = 10_000
"""The steps of one reconcile that are recorded; further ones are counted."""
MOST_CAUSES = 10_000
"""The causes of one reconcile that are recorded, those of the attempts before it included."""


class Meter:
    """Counts the bytes that a history has recorded."""

    __slots__ = ("position",)

    def __init__(self) -> None:
        self.position = 0


class ControllerRecord:
    """What the records of one controller share."""

    __slots__ = ("_history", "kind", "log_fields", "meter", "most_of_run", "name")

    def __init__(self, history: History, name: str, kind: GroupVersionKind | None) -> None:
        self._history = weakref.ref(history)
        self.name = name
        self.kind = kind
        """The kind that it reconciles, where it is known."""
        self.log_fields: dict[str, object] = {"controller": name}
        """The fields of every log line of this controller."""
        if kind is not None:
            self.log_fields |= {"controllerGroup": kind.group, "controllerKind": kind.kind}
        self.meter = history.meter
        self.most_of_run = history.options.max_bytes // _OF_RUN
        """The size of the objects in one reconcile, at most."""

    @property
    def history(self) -> History:
        found = self._history()
        if found is None:
            raise ReferenceError(f"the history of controller {self.name} is closed")
        return found


class Run(msgspec.Struct, gc=False, eq=False):
    """One reconcile, while it runs and afterwards."""

    controller: ControllerRecord
    number: int
    request: Named
    notes: Sequence[Cause]
    """Why the request was on the queue."""
    began: float
    priority: int = 0
    room: int = 0
    """Steps for which there is room; 0 when nothing is recorded any more."""
    listeners: tuple[Listener, ...] = ()
    position: int = 0
    """Where it began in the stream of what the history has recorded, in bytes."""
    ended: float | None = None
    id: str = ""
    """A random id, which is made when it is first logged: most reconciles log nothing."""
    result: str = ""
    error: str = ""
    place: str = ""
    """The line of the program that raised the error."""
    steps: Sequence[Step] = []
    skipped: int = 0
    """Steps that were not recorded: there were too many, or they were too large."""
    depth: int = 0
    """How many reconciles in a row, each caused by a write of the one before, led to this one; known once it writes."""
    last_write: Any = None
    """Its last write, as the tracker of writes has it."""
    tape: Tape | None = None
    """Where a recording has the times, random numbers and other values that the reconcile reads."""

    def read(self, kind: GroupVersionKind, namespace: str, name: str, data: bytes | None) -> None:
        """Record a read from a cache. The object of the last event counts once."""
        steps, notes, meter = self.steps, self.notes, self.controller.meter
        if len(steps) >= self.room and not self._makes_room():
            return
        step = ReadNote(kind, namespace, name, data)
        steps.append(step)  # type: ignore[attr-defined]  # a list as long as there is room
        if data is None or (notes and type(note := notes[-1][1]) is EventNote and note.new_data is data):
            meter.position += OVERHEAD
        else:
            meter.position += OVERHEAD + len(data)
        if self.listeners:
            self._notify(step)

    def add(self, step: Step, size: int = 0) -> None:
        """Record another step, whose objects have this size."""
        steps = self.steps
        if len(steps) >= self.room and not self._makes_room():
            return
        steps.append(step)  # type: ignore[attr-defined]  # a list as long as there is room
        self.controller.meter.position += OVERHEAD + size
        if self.listeners:
            self._notify(step)

    def _makes_room(self) -> bool:
        """Make room for further steps, if the reconcile still runs and is not too large; else count a skipped one."""
        steps = len(self.steps)
        if 0 < self.room == steps < MOST_STEPS and size_of(self) <= self.controller.most_of_run:
            self.room += STEPS
            return True
        self.skipped += 1
        return False

    def _notify(self, step: Step) -> None:
        for listener in self.listeners:
            listener.step(self, step)

    def answered(self, call: CallNote, body: bytes | memoryview) -> None:
        """Set the answer of a call."""
        call.answer = body
        self.controller.meter.position += len(body)

    def log_fields(self) -> Mapping[str, object]:
        """The fields of its log lines."""
        if not self.id:
            self.id = str(uuid.uuid4())
        request = self.request
        names = {"namespace": request.namespace, "name": request.name, "reconcileID": self.id}
        return {**self.controller.log_fields, **names}

    @property
    def keeps_lists(self) -> bool:
        """Whether the objects of lists are recorded."""
        return any(listener.keeps_lists for listener in self.listeners)

    def causes(self) -> Iterator[Cause]:
        """The notes, those of the reconciles before it that this one repeats first."""
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
        size, kept = OVERHEAD, 0
        for _, note in reversed(causes[-MOST_CAUSES:]):
            if size + note.size > self.controller.most_of_run:
                break
            size += note.size
            kept += 1
        return RetryNote(self.number, "error", self.error, tuple(causes[len(causes) - kept :]))


def size_of(run: Run) -> int:
    """The size of the objects in a reconcile, about."""
    return OVERHEAD + sum(note.size for _, note in run.notes) + sum(map(_size_of_step, run.steps))


def _size_of_step(step: Step) -> int:
    if isinstance(step, ReadNote):
        return OVERHEAD + len(step.data or b"")
    if isinstance(step, CallNote):
        answer = len(step.answer) if isinstance(step.answer, bytes | memoryview) else 0
        return OVERHEAD + len(step.request.body) + answer
    return OVERHEAD + (len(step.text) if isinstance(step, LogNote) else 0)


CURRENT: ContextVar[Run | None] = SOURCE
"""The reconcile that the current task belongs to. Log lines have its fields."""
