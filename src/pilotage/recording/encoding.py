"""Records of a history as entries of a recording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pilotage.errors import ApiError
from pilotage.history.records import CallNote, EventNote, ListNote, LogNote, ReadNote, RetryNote, TextNote
from pilotage.history.runs import Run
from pilotage.recording.batch import Batch
from pilotage.recording.concealment import Concealer
from pilotage.recording.entries import (
    AnswerEntry,
    BegunEntry,
    CallEntry,
    EventRecord,
    Failure,
    ListEntry,
    LogEntry,
    Paged,
    ReadEntry,
    RetryRecord,
    TextRecord,
)
from pilotage.rest import APIRequest, DeleteOptions, ListOptions, Page, WriteOptions
from pilotage.rest.request import Form
from pilotage.telemetry.stack import place_text

_REQUEST = msgspec.json.Encoder()


class Parameters(msgspec.Struct, omit_defaults=True, frozen=True):
    """The options of a request, as a content."""

    options: ListOptions = ListOptions()
    write: WriteOptions = WriteOptions()
    delete: DeleteOptions = DeleteOptions()
    parameters: dict[str, str] = {}
    form: Form = Form.OBJECT


def begun(concealer: Concealer, run: Run, seed: int, batch: Batch) -> BegunEntry:
    """A reconcile that begins, with its causes."""
    controller, request = run.controller, run.request
    kind = type(request)
    return BegunEntry(
        run=run.number,
        controller=controller.name,
        kind=controller.kind,
        request=_fields_of(request),
        request_type=f"{kind.__module__}:{kind.__qualname__}",
        began=run.began,
        priority=run.priority,
        notes=_notes(concealer, run.notes, batch),
        seed=seed,
    )


def read(concealer: Concealer, run: Run, number: int, note: ReadNote, batch: Batch) -> ReadEntry:
    data, is_hidden = concealer.object(note.data, note.kind) if note.data else (note.data, False)
    return ReadEntry(
        run=run.number,
        step=number,
        kind=note.kind,
        namespace=note.namespace,
        name=note.name,
        content=batch.content(data),
        is_live=note.is_live,
        is_hidden=is_hidden,
    )


def listed(concealer: Concealer, run: Run, number: int, note: ListNote, batch: Batch) -> ListEntry:
    items = [concealer.object(bytes(item), note.kind) for item in note.items or ()]
    return ListEntry(
        run=run.number,
        step=number,
        kind=note.kind,
        namespace=note.namespace,
        selector=note.selector,
        count=note.count,
        version=note.version,
        is_live=note.is_live,
        items=[batch.content(data) for data, _ in items],
        is_hidden=any(hidden for _, hidden in items),
    )


def call(concealer: Concealer, run: Run, number: int, note: CallNote, batch: Batch) -> CallEntry:
    request = note.request
    body, is_hidden = concealer.body(request, request.body)
    return CallEntry(
        run=run.number,
        step=number,
        verb=request.verb.value,
        resource=request.resource,
        namespace=request.namespace,
        name=request.name,
        subresource=request.subresource,
        parameters=_parameters(request, batch),
        body=batch.content(body) if request.body else 0,
        content_type=request.content_type,
        began=note.began,
        is_hidden=is_hidden,
        place=place_text(note.place) if isinstance(note.place, tuple) else note.place or "",
    )


def answer(
    concealer: Concealer, run: Run, number: int, note: CallNote, error: BaseException | None, batch: Batch
) -> AnswerEntry:
    """What a request returned."""
    found, body, page, is_hidden = note.answer, 0, None, False
    if error is None and isinstance(found, Page):
        items = [concealer.body(note.request, bytes(item)) for item in found.items]
        is_hidden = any(hidden for _, hidden in items)
        contents = [batch.content(data) for data, _ in items]
        page = Paged(contents, found.resource_version, found.continue_token, found.remaining_item_count)
    elif error is None and isinstance(found, bytes | memoryview):
        data, is_hidden = concealer.body(note.request, bytes(found))
        body = batch.content(data)
    return AnswerEntry(
        run=run.number,
        step=number,
        ended=note.ended,
        body=body,
        page=page,
        failure=_failure(error) if error is not None else None,
        is_hidden=is_hidden,
    )


def log(run: Run, note: LogNote, batch: Batch) -> LogEntry:
    return LogEntry(run.number, note.at, note.level, note.text)


def _fields_of(request: Any) -> bytes:
    try:
        return _REQUEST.encode(request)
    except (TypeError, ValueError):  # a request of the user's, with fields that JSON does not have
        return _REQUEST.encode({"name": request.name, "namespace": request.namespace})


def _notes(concealer: Concealer, notes: Iterable[tuple[float, object]], batch: Batch) -> list[tuple[float, int]]:
    return [(at, batch.value(made)) for at, note in notes if (made := _note(concealer, note, batch)) is not None]


def _note(concealer: Concealer, note: object, batch: Batch) -> EventRecord | RetryRecord | TextRecord | None:
    if isinstance(note, EventNote):
        kind = note.origin.kind
        old, new = (concealer.object(data, kind)[0] if data else None for data in (note.old_data, note.new_data))
        return EventRecord(
            source=note.origin.source,
            kind=kind,
            type=note.type,
            namespace=note.namespace,
            name=note.name,
            old=batch.content(old),
            new=batch.content(new),
            is_in_initial_list=note.is_in_initial_list,
            is_unchanged=note.is_unchanged,
        )
    if isinstance(note, RetryNote):
        return RetryRecord(note.number, note.result, note.error, _notes(concealer, note.causes, batch))
    return TextRecord(note.text) if isinstance(note, TextNote) else None


def _parameters(request: APIRequest, batch: Batch) -> int:
    made = Parameters(request.options, request.write, request.delete, dict(request.parameters), request.form)
    return batch.value(made) if made != _NO_PARAMETERS else 0


def _failure(error: BaseException) -> Failure:
    kind = type(error)
    status = msgspec.json.encode(error.status.document()) if isinstance(error, ApiError) else b""
    return Failure(f"{kind.__module__}:{kind.__qualname__}", str(error), status)


_NO_PARAMETERS = Parameters()
