"""Entries of a recording as records of a history again. Entries that make no sense are left out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from pilotage.history.history import History
from pilotage.history.options import HistoryOptions
from pilotage.history.records import (
    CallNote,
    Cause,
    EventNote,
    ListNote,
    LogNote,
    Note,
    Origin,
    ReadNote,
    RetryNote,
    Step,
    TextNote,
)
from pilotage.history.runs import ControllerRecord, Run
from pilotage.history.tapes import Kept
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.values import Value
from pilotage.recording import entries as e
from pilotage.recording.encoding import Parameters
from pilotage.rest import APIRequest, Page, Verb

_MOST_BYTES = 2**62
"""Nothing is dropped of a history that is read."""
_MOST_SECONDS = 1e10
_PARAMETERS = msgspec.msgpack.Decoder(Parameters)
_MAPPINGS = msgspec.msgpack.Decoder(tuple[RESTMapping, ...])
_FIELDS = msgspec.json.Decoder(dict[str, Any])
_CONTENT = Mapping[int, bytes]


class RecordedRequest(Value, frozen=True):
    """The request of a reconcile."""

    name: str
    namespace: str = ""
    fields: dict[str, Any] = {}
    """Its fields, including the fields of the user's own class."""
    type: str = ""
    """Its class, as `module:name`."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(slots=True)
class RecordedRun:
    """A reconcile, and what it needs to be replayed."""

    run: Run
    seed: int
    """Of its random numbers."""
    steps: list[Step]
    """Those of the run, which are read one after the other."""
    values: dict[str, list[Kept]] = field(default_factory=lambda: defaultdict(list))
    """The times and other values that it read, by their names, in order."""
    failures: dict[int, e.Failure] = field(default_factory=dict)
    """The errors of its requests, by the number of the step."""
    calls: dict[int, CallNote] = field(default_factory=dict)
    """Its requests, by the number of the step."""
    answered: set[int] = field(default_factory=set)
    """The steps that were answered."""
    hidden: bool = False
    """Whether it read secret values that the recording does not have."""
    hidden_bodies: set[int] = field(default_factory=set)
    """The requests that it sent with such values."""


class Assembly:
    """What one start of a program has recorded, as far as it was read."""

    def __init__(self, session: e.SessionEntry, path: str) -> None:
        self.session = session
        self.runs: dict[int, RecordedRun] = {}
        self.served: tuple[RESTMapping, ...] = ()
        self.history = History(HistoryOptions(max_bytes=_MOST_BYTES), lambda: datetime.now(UTC))
        self.history.program = session.program
        self.history.anchor = session.moment, _time_of(session.at)
        if session.hash_key:
            self.history.hash_key = session.hash_key[:64]
        self.history.kind_of = self._kind_of
        self._kinds: dict[GroupVersionResource, GroupVersionKind] = {}
        self._controllers: dict[tuple[str, e.Kind | None], ControllerRecord] = {}
        self._notes: dict[bytes, Note] = {}
        self._add: dict[type, Callable[[Any, _CONTENT], None]] = {
            e.ServedEntry: self._add_served,
            e.BegunEntry: self._add_begun,
            e.ReadEntry: self._add_read,
            e.ListEntry: self._add_list,
            e.CallEntry: self._add_call,
            e.AnswerEntry: self._add_answer,
            e.LogEntry: self._add_log,
            e.ValueEntry: self._add_value,
            e.EndEntry: self._add_end,
        }

    @staticmethod
    def decoded(data: bytes | memoryview) -> e.AnyEntry | None:
        """An entry; None if it is not one."""
        try:
            return e.ENTRIES.decode(data)
        except (msgspec.MsgspecError, RecursionError):
            return None

    @staticmethod
    def session_in(entry: e.AnyEntry) -> e.SessionEntry | None:
        """The entry, if it begins a session that makes sense."""
        if isinstance(entry, e.SessionEntry) and _is_time(entry.moment):
            return entry
        return None

    def add(self, entry: e.AnyEntry, contents: dict[int, bytes]) -> None:
        """Add an entry. `contents` are the contents of its half of the file so far."""
        if isinstance(entry, e.ContentEntry):
            contents[entry.id] = entry.data
        elif (add := self._add.get(type(entry))) is not None:
            try:
                add(entry, contents)
            except (KeyError, ValueError, RecursionError):  # refers to what is not there
                return

    def _add_served(self, entry: e.ServedEntry, contents: _CONTENT) -> None:
        self.served = _MAPPINGS.decode(contents[entry.content])
        self._kinds = {mapping.resource: mapping.gvk for mapping in self.served}

    def _kind_of(self, resource: GroupVersionResource) -> GroupVersionKind | None:
        return self._kinds.get(resource)

    def _add_begun(self, entry: e.BegunEntry, contents: _CONTENT) -> None:
        fields = _FIELDS.decode(entry.request)
        request = RecordedRequest(
            str(fields["name"]), str(fields.get("namespace", "")), fields=fields, type=entry.request_type
        )
        notes = self._notes_of(entry.notes, contents)
        steps: list[Step] = []
        run = Run(self._controller(entry), entry.run, request, notes, _time(entry.began), entry.priority, steps=steps)
        self.runs[entry.run] = RecordedRun(run, entry.seed, steps)
        self.history.ring.entries.append(run)

    def _controller(self, entry: e.BegunEntry) -> ControllerRecord:
        key = entry.controller, entry.kind
        if key not in self._controllers:
            self._controllers[key] = self.history.journal(entry.controller, _kind(entry.kind)).controller
        return self._controllers[key]

    def _notes_of(self, notes: Sequence[tuple[float, int]], contents: _CONTENT) -> list[Cause]:
        return [(_time(at), self._note(contents[content], contents)) for at, content in notes]

    def _note(self, data: bytes, contents: _CONTENT) -> Note:
        """A note; the same one each time, as the history had it."""
        known = self._notes.get(data)
        if known is None:
            known = self._notes[data] = self._new_note(e.RECORDS.decode(data), contents)
        return known

    def _new_note(self, record: e.AnyRecord, contents: _CONTENT) -> Note:
        if isinstance(record, e.TextRecord):
            return TextNote(record.text)
        if isinstance(record, e.RetryRecord):
            return RetryNote(record.number, record.result, record.error, self._notes_of(record.causes, contents))
        old, new = (contents[content] if content else None for content in (record.old, record.new))
        return EventNote(
            Origin(record.source, _kind(record.kind)),
            record.type,
            record.namespace,
            record.name,
            old,
            new,
            record.is_in_initial_list,
            record.is_unchanged,
        )

    def _add_read(self, entry: e.ReadEntry, contents: _CONTENT) -> None:
        found = self.runs[entry.run]
        data = contents[entry.content] if entry.content else None
        kind = GroupVersionKind(*entry.kind)
        found.steps.append(ReadNote(kind, entry.namespace, entry.name, data, entry.is_live))
        found.hidden |= entry.is_hidden

    def _add_list(self, entry: e.ListEntry, contents: _CONTENT) -> None:
        found = self.runs[entry.run]
        items = [contents[item] for item in entry.items]
        kind = GroupVersionKind(*entry.kind)
        note = ListNote(kind, entry.namespace, entry.selector, entry.count, entry.version, entry.is_live, items)
        found.steps.append(note)
        found.hidden |= entry.is_hidden

    def _add_call(self, entry: e.CallEntry, contents: _CONTENT) -> None:
        found = self.runs[entry.run]
        more = _PARAMETERS.decode(contents[entry.parameters]) if entry.parameters else Parameters()
        request = APIRequest(
            Verb(entry.verb),
            GroupVersionResource(*entry.resource),
            entry.namespace,
            entry.name,
            entry.subresource,
            form=more.form,
            options=more.options,
            write=more.write,
            delete=more.delete,
            body=contents[entry.body] if entry.body else b"",
            content_type=entry.content_type,
            parameters=more.parameters,
        )
        began = _time(entry.began)
        call = found.calls[entry.step] = CallNote(request, began, began, place=entry.place or None)
        found.steps.append(call)
        if entry.is_hidden:
            found.hidden_bodies.add(entry.step)

    def _add_answer(self, entry: e.AnswerEntry, contents: _CONTENT) -> None:
        found = self.runs[entry.run]
        call = found.calls[entry.step]
        if entry.page is not None:
            items = [contents[item] for item in entry.page.items]
            page = entry.page
            call.answer = Page(items, page.version, page.continue_token, page.remaining)
        elif entry.body:
            call.answer = contents[entry.body]
        if entry.failure is not None:
            found.failures[entry.step] = entry.failure
            kind = entry.failure.kind.rpartition(":")[2]
            call.error = f"{kind}: {entry.failure.message}".removesuffix(": ")
        call.ended = _time(entry.ended)
        found.answered.add(entry.step)
        found.hidden |= entry.is_hidden

    def _add_log(self, entry: e.LogEntry, contents: _CONTENT) -> None:
        self.runs[entry.run].steps.append(LogNote(_time(entry.at), entry.level, entry.text))

    def _add_value(self, entry: e.ValueEntry, contents: _CONTENT) -> None:
        self.runs[entry.run].values[entry.name].append(Kept(entry.data, entry.error, entry.message))

    def _add_end(self, entry: e.EndEntry, contents: _CONTENT) -> None:
        found = self.runs[entry.run]
        run = found.run
        run.ended, run.result, run.error, run.place = _time(entry.ended), entry.result, entry.error, entry.place
        run.skipped = entry.skipped
        for step, uid, version in entry.written:
            call = found.calls[step]
            call.written = (*call.written, (uid, version))
            self.history.ring.writes[uid, version] = run, call


def _kind(kind: e.Kind | None) -> GroupVersionKind | None:
    return GroupVersionKind(*kind) if kind is not None else None


def _is_time(moment: float) -> bool:
    return math.isfinite(moment) and abs(moment) < _MOST_SECONDS


def _time(moment: float) -> float:
    """A time of the loop. ValueError if it cannot be one."""
    if not _is_time(moment):
        raise ValueError(moment)
    return moment


def _time_of(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return found if 1970 < found.year < 3000 else datetime(1970, 1, 1, tzinfo=UTC)
