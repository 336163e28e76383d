"""Makes stories from records: decodes objects, compares them, and finds the writes whose events are causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec

from pilotage.errors import DecodeError
from pilotage.history import chains
from pilotage.history.differences import Change, differences
from pilotage.history.fieldmanagers import writer_of
from pilotage.history.history import History
from pilotage.history.records import (
    CallNote,
    DroppedNote,
    EventNote,
    ListNote,
    LogNote,
    Note,
    ReadNote,
    RetryNote,
    Step,
)
from pilotage.history.runs import Run
from pilotage.history.secrets import Hider
from pilotage.history.stories import IDENTITY, NO_KIND, Cause, LogLine, Read, Reconcile, Write
from pilotage.meta import objects
from pilotage.meta.kinds import GroupKind, GroupVersion, GroupVersionKind
from pilotage.meta.objects import Header
from pilotage.rest import APIRequest, PatchType, Verb
from pilotage.rest.request import READS
from pilotage.telemetry.stack import place_text

_MOST_BODY = 200
"""Characters of a body that are shown."""
_EARLIER = 20_000
"""Reconciles that are searched for the state of an object before a write."""
_CLOCK_SLACK = 0.001
_DECODER = msgspec.json.Decoder(dict[str, Any])
_NO_OBJECT = Header()
_WHOLE = ("", "status")
"""Subresources whose answer is the whole object."""


class StoryBuilder:
    """Makes the stories of one history. `earlier` is how many reconciles are searched for the state before a write."""

    def __init__(self, history: History, earlier: int = _EARLIER) -> None:
        self._history = history
        self._earlier = earlier
        self._hider = Hider(history.options.secret_fields, history.hash_key)

    def reconcile(self, run: Run) -> Reconcile:
        """The story of one reconcile, as far as it has come."""
        controller, request, history = run.controller, run.request, self._history
        causes = {id(note): (at, note) for at, note in run.causes() if not _is_early(run, at, note)}
        attempt = {id(note) for _, note in run.notes}
        first = min((at for at, _ in run.notes), default=run.began)
        return Reconcile(
            number=run.number,
            controller=controller.name,
            kind=controller.kind or NO_KIND,
            namespace=request.namespace,
            name=request.name,
            began=history.time_of(run.began),
            waited=round(max(0.0, run.began - first), 6),
            seconds=round((run.ended if run.ended is not None else run.began) - run.began, 6),
            priority=run.priority,
            in_a_row=run.depth,
            causes=tuple(self._cause(at, note, is_repeated=id(note) not in attempt) for at, note in causes.values()),
            steps=tuple(self._steps(run)),
            skipped=run.skipped,
            result=run.result if run.ended is not None else "running",
            error=run.error or None,
            place=run.place,
        )

    def write(self, run: Run, call: CallNote) -> Write:
        """The story of one write."""
        request, data = call.request, _object_in(call)
        header = _header(data)
        before = b"{}" if request.verb is Verb.CREATE else self._before(run, call, header)
        changes: tuple[Change, ...] = ()
        if data is not None and before is not None and request.verb is not Verb.DELETE:
            changes = self._changes(before, data)
        set_by_server: tuple[Change, ...] = ()
        if request.verb is Verb.CREATE:
            changes, set_by_server = self._of_new(changes, request)
        return Write(
            verb=_verb_of(request),
            kind=self._kind(request, data),
            namespace=request.namespace or header.namespace,
            name=request.name or header.name,
            version=header.resource_version,
            subresource=request.subresource,
            changes=(*changes, *set_by_server),
            set_by_server=len(set_by_server),
            body=self._body(request) if before is None else "",
            dry_run=request.write.dry_run or request.delete.dry_run,
            error=call.error,
            place=place_text(call.place) if isinstance(call.place, tuple) else call.place or "",
            at=self._history.time_of(call.began),
            seconds=round(max(0.0, call.ended - call.began), 6),
        )

    def event(self, at: float, note: EventNote) -> Cause:
        """The story of an event, at a moment of the loop."""
        return self._event(at, note)

    def cause(self, at: float, note: Note) -> Cause:
        """The story of one cause of a reconcile."""
        return self._cause(at, note, is_repeated=False)

    def target_of(self, call: CallNote) -> tuple[GroupKind, str, str]:
        """The kind, the namespace and the name of the object of a call. A create has the name in its body."""
        request, data = call.request, _object_in(call)
        name = request.name or _header(data).name or _header(request.body).name
        return self._kind(request, data).group_kind, request.namespace, name

    def _of_new(self, changes: Iterable[Change], request: APIRequest) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        """The fields of a new object that were sent, and those that the server has added."""
        sent = {change.path.replace("stringData.", "data.", 1) for change in self._changes(b"{}", request.body)}
        shown = [change for change in changes if not change.path.startswith(IDENTITY)]
        if not sent:  # not JSON
            return tuple(shown), ()
        own = tuple(change for change in shown if change.path in sent)
        return own, tuple(change for change in shown if change.path not in sent)

    def dropped(self, dropped: DroppedNote) -> Cause:
        """The story of an event that led to no request."""
        return msgspec.structs.replace(self._event(dropped.at, dropped.note), text=f"dropped by {dropped.dropped_by}")

    def document(self, data: bytes | memoryview) -> dict[str, Any]:
        """An object as it may be shown: without secret values."""
        document = _DECODER.decode(data)
        return self._hider.hide(_kind_in(document), document)

    def document_of(self, kind: GroupVersionKind, data: bytes | memoryview) -> dict[str, Any]:
        """An object of a kind as it may be shown, also where its bytes do not name the kind."""
        return self._hider.hide(kind, _DECODER.decode(data))

    def _cause(self, at: float, note: Note, *, is_repeated: bool) -> Cause:
        if isinstance(note, EventNote):
            return self._event(at, note, is_repeated=is_repeated)
        moment = self._history.time_of(at)
        if isinstance(note, RetryNote):
            kind = "retry" if note.error else "requeue"
            text = note.error or note.result
            return Cause(type=kind, at=moment, text=text, reconcile=note.number, is_repeated=is_repeated)
        return Cause(type="added", at=moment, text=note.text, is_repeated=is_repeated)

    def _event(self, at: float, note: EventNote, *, is_repeated: bool = False) -> Cause:
        old, new = note.old_data, note.new_data
        kind_of_event = note.type
        if note.is_unchanged:
            kind_of_event = "initial" if note.is_in_initial_list else "resync"
        event_key = chains.key_of(note)
        made = self._made_by(event_key, note.type)
        before, after = _decoded(old), _decoded(new)  # once: most of the time of a story is spent here
        manager = _manager(before, after) if kind_of_event in ("create", "update", "initial") else ""
        return Cause(
            type=kind_of_event,
            at=self._history.time_of(at),
            kind=note.origin.kind or _kind_of_data(new or old) or NO_KIND,
            namespace=note.namespace,
            name=note.name,
            version=str(event_key[1]) if event_key is not None else "",
            source=note.origin.source,
            manager=manager,
            changes=self._differences(before, after) if note.type == "update" else (),
            write=self.write(*made) if made is not None else None,
            reconcile=made[0].number if made is not None else 0,
            is_forgotten=new is None and old is None and note.type != "generic",
            is_repeated=is_repeated,
        )

    def made_by(self, note: EventNote) -> tuple[Run, CallNote] | None:
        """The write of this program that an event shows, and its reconcile."""
        return self._made_by(chains.key_of(note), note.type)

    def _made_by(self, key: tuple[str, int] | None, event: str) -> tuple[Run, CallNote] | None:
        if key is None:
            return None
        writes = self._history.ring.writes
        made = writes.get(key)
        return writes.get((key[0], 0)) if made is None and event == "delete" else made

    def _steps(self, run: Run) -> Iterator[Read | Write | LogLine]:
        for step in run.steps:
            if isinstance(step, ReadNote):
                version = _header(step.data).resource_version
                yield Read(
                    kind=step.kind,
                    namespace=step.namespace,
                    name=step.name,
                    version=version,
                    is_live=step.is_live,
                    found=step.data is not None,
                )
            elif isinstance(step, ListNote):
                yield Read(
                    verb="list",
                    kind=step.kind,
                    namespace=step.namespace,
                    version=step.version,
                    is_live=step.is_live,
                    count=step.count,
                    selector=step.selector,
                )
            elif isinstance(step, LogNote):
                yield LogLine(at=self._history.time_of(step.at), level=step.level, text=step.text)
            elif step.request.verb in READS:
                yield self._live_read(step)
            else:
                yield self.write(run, step)

    def _live_read(self, call: CallNote) -> Read:
        request, data = call.request, _object_in(call)
        header = _header(data)
        return Read(
            kind=self._kind(request, data),
            namespace=request.namespace,
            name=request.name,
            version=header.resource_version,
            is_live=True,
            found=data is not None,
            error=call.error if data is None and "not found" not in call.error else "",
        )

    def _kind(self, request: APIRequest, data: bytes | memoryview | None) -> GroupVersionKind:
        """The kind of the objects of a request; where nothing names it, the resource."""
        resource = request.resource
        known = self._history.kind_of(resource)
        if known is not None:
            return known
        found = _kind_of_data(data if not request.subresource else None)
        if found is not None and found.kind != "Status" and found.group == resource.group:
            return found
        return GroupVersionKind(resource.group, resource.version, resource.resource)

    def _before(self, run: Run, call: CallNote, header: Header) -> bytes | memoryview | None:
        """The object before a write: what the reconcile had read or written last, else what is in the ring."""
        name = call.request.name or header.name
        own = run.steps[: run.steps.index(call)]
        states = (*_states(reversed(own)), *_events(note for _, note in reversed([*run.causes()])))
        recent = zip(range(self._earlier), reversed(self._history.ring.entries), strict=False)
        earlier = _events(note for _, entry in recent for _, note in entry.notes)
        for found, is_before in ((states, True), (earlier, False)):
            for namespace, of, data in found:
                if (of, namespace) != (name, call.request.namespace):
                    continue
                if _precedes(data, header) or (is_before and _is_same(data, header)):
                    return data
        return None

    def _changes(self, old: bytes | memoryview, new: bytes | memoryview) -> tuple[Change, ...]:
        return self._differences(_decoded(old), _decoded(new))

    def _differences(self, old: dict[str, Any] | None, new: dict[str, Any] | None) -> tuple[Change, ...]:
        """The changes of a document, which is hidden where it is secret."""
        if old is None or new is None:
            return ()
        try:
            return tuple(differences(*(self._hider.hide(_kind_in(each), each) for each in (old, new))))
        except RecursionError:
            return ()

    def _body(self, request: APIRequest) -> str:
        """What was sent, without secret values."""
        try:
            document = self.document(request.body)
        except (msgspec.DecodeError, RecursionError, TypeError, AttributeError):
            return ""  # a JSON patch, or YAML
        if request.resource.resource == "secrets":
            self._hider.hide(None, document)
        text = msgspec.json.encode(document).decode()
        return text if len(text) <= _MOST_BODY else f"{text[:_MOST_BODY]}…"


class Reconciles(Sequence[Reconcile]):
    """Reconciles, the oldest first. Each is made when it is read."""

    def __init__(self, builder: StoryBuilder, runs: Sequence[Run]) -> None:
        self._builder = builder
        self._runs = runs

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> Reconcile: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Reconcile]: ...
    def __getitem__(self, index: int | slice) -> Reconcile | Sequence[Reconcile]:
        if isinstance(index, slice):
            return Reconciles(self._builder, self._runs[index])
        return self._builder.reconcile(self._runs[index])

    def __repr__(self) -> str:
        return f"<{len(self)} reconciles>"


def _decoded(data: bytes | memoryview | None) -> dict[str, Any] | None:
    """A document, with its secrets; None where there is none."""
    try:
        return _DECODER.decode(data) if data else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _manager(old: dict[str, Any] | None, new: dict[str, Any] | None) -> str:
    """The field manager of the client that made a change; empty where it is not known."""
    writer = writer_of(old, new) if new is not None else None
    return writer.name if writer is not None else ""


def _verb_of(request: APIRequest) -> str:
    is_apply = request.verb is Verb.PATCH and request.content_type == PatchType.APPLY.value
    return "apply" if is_apply else request.verb.value


def _object_in(call: CallNote) -> bytes | memoryview | None:
    """The object in the answer of a call, if it is the whole object."""
    if isinstance(call.answer, bytes | memoryview) and call.request.subresource in _WHOLE:
        return call.answer
    return None


def _header(data: bytes | memoryview | None) -> Header:
    try:
        return objects.header(data) if data else _NO_OBJECT
    except (DecodeError, RecursionError):
        return _NO_OBJECT


def _is_early(run: Run, at: float, note: Note) -> bool:
    """Whether a note is not why the reconcile began: it asked for a later one, and something else came before."""
    if not isinstance(note, RetryNote) or note.error or len(run.notes) < 2:
        return False
    after = note.result.removeprefix("requeue_after=")
    return after != note.result and at + float(after) > run.began + _CLOCK_SLACK


def _precedes(data: bytes | memoryview, header: Header) -> bool:
    """Whether an object is in an earlier state than the one with this header."""
    found = _header(data)
    if not header.uid:
        return True
    versions = found.resource_version, header.resource_version
    return found.uid == header.uid and all(map(str.isdecimal, versions)) and int(versions[0]) < int(versions[1])


def _is_same(data: bytes | memoryview, header: Header) -> bool:
    """Whether an object is in the state of this header: a write that left it so has changed nothing."""
    found = _header(data)
    return (found.uid, found.resource_version) == (header.uid, header.resource_version)


def _states(steps: Iterable[Step]) -> Iterator[tuple[str, str, bytes | memoryview]]:
    """The objects that steps have read or written, as namespace, name and bytes."""
    for step in steps:
        if isinstance(step, ReadNote) and step.data is not None:
            yield step.namespace, step.name, step.data
        elif isinstance(step, CallNote) and (data := _object_in(step)) is not None:
            yield step.request.namespace, step.request.name or _header(data).name, data


def _events(entries: Iterable[object]) -> Iterator[tuple[str, str, bytes | memoryview]]:
    """The objects of events, the same way."""
    for entry in entries:
        if isinstance(entry, EventNote):
            for data in (entry.new_data, entry.old_data):
                if data:
                    yield entry.namespace, entry.name, data


def _kind_of_data(data: bytes | memoryview | None) -> GroupVersionKind | None:
    """The kind that an object names; None where it names none, as an item of a list does."""
    try:
        found = objects.envelope(data) if data else None
    except (DecodeError, RecursionError):
        return None
    return _named_kind(found.api_version, found.kind) if found is not None else None


def _kind_in(document: Mapping[str, Any]) -> GroupVersionKind | None:
    return _named_kind(str(document.get("apiVersion", "")), str(document.get("kind", "")))


def _named_kind(api_version: str, kind: str) -> GroupVersionKind | None:
    if not api_version or not kind:
        return None
    try:
        return GroupVersionKind(*GroupVersion.parse(api_version), kind)
    except ValueError:
        return None
