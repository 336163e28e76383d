"""The entries of a recording, as they are encoded: arrays whose first item is the type.

Bytes that several entries have in common (objects, options) are entries of their own, with a number. A half of the file
has all that its entries refer to.
"""

from __future__ import annotations

import msgspec

Kind = tuple[str, str, str]
"""Group, version and kind, or resource."""


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Something that is appended."""


class SessionEntry(Record, tag=1, frozen=True):
    """A program began to record. The first entry of each half, and of each start of a program."""

    id: str
    program: str
    """The target of `pilotage run`; empty if there is none."""
    version: str
    python: str
    pid: int
    moment: float
    """A time of the event loop."""
    at: str
    """The time of day then."""
    hash_key: bytes = b""
    """The key of hashes; empty where the file itself has hashes."""


class ContentEntry(Record, tag=2, frozen=True):
    """Bytes that later entries refer to by a number, which is not 0."""

    id: int
    data: bytes


class ServedEntry(Record, tag=3, frozen=True):
    """The kinds that the API server serves, as far as the program knows: a content of mappings."""

    content: int


class BegunEntry(Record, tag=4, frozen=True):
    """A reconcile began."""

    run: int
    controller: str
    kind: Kind | None
    request: bytes
    """The fields of the request, in JSON."""
    request_type: str
    began: float
    priority: int
    notes: list[tuple[float, int]]
    """Why: a time of the loop, and a content with a note."""
    seed: int
    """Of its random numbers."""


class ReadEntry(Record, tag=5, frozen=True):
    """It read an object from a cache. The content 0: the object was not found."""

    run: int
    step: int
    kind: Kind
    namespace: str
    name: str
    content: int
    is_live: bool
    is_hidden: bool
    """Whether the content has hashes in place of secret values."""


class ListEntry(Record, tag=6, frozen=True):
    """It read a list from a cache."""

    run: int
    step: int
    kind: Kind
    namespace: str
    selector: str
    count: int
    version: str
    is_live: bool
    items: list[int]
    is_hidden: bool


class CallEntry(Record, tag=7, frozen=True):
    """It sent a request."""

    run: int
    step: int
    verb: str
    resource: Kind
    namespace: str
    name: str
    subresource: str
    parameters: int
    """A content: the options of the request; 0: none."""
    body: int
    content_type: str
    began: float
    is_hidden: bool
    place: str = ""


class AnswerEntry(Record, tag=8, frozen=True):
    """A request was answered, or has failed."""

    run: int
    step: int
    ended: float
    body: int
    page: Paged | None
    failure: Failure | None
    is_hidden: bool


class Paged(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The answer to a list."""

    items: list[int]
    version: str
    continue_token: str
    remaining: int | None


class Failure(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An error. `status` is the Status document of an ApiError, in JSON."""

    kind: str
    message: str
    status: bytes = b""


class LogEntry(Record, tag=9, frozen=True):
    """It logged a line."""

    run: int
    at: float
    level: str
    text: str


class ValueEntry(Record, tag=10, frozen=True):
    """It read a time, random bytes, or the result of a recorded call."""

    run: int
    name: str
    data: bytes
    error: str = ""
    message: str = ""


class EndEntry(Record, tag=11, frozen=True):
    """It ended."""

    run: int
    ended: float
    result: str
    error: str
    place: str
    skipped: int
    written: list[tuple[int, str, int]]
    """What its writes left: the number of the step, the uid and the version."""


AnyEntry = (
    SessionEntry
    | ContentEntry
    | ServedEntry
    | BegunEntry
    | ReadEntry
    | ListEntry
    | CallEntry
    | AnswerEntry
    | LogEntry
    | ValueEntry
    | EndEntry
)


class EventRecord(msgspec.Struct, array_like=True, frozen=True, tag_field="record", tag=1, gc=False):
    """A note: an event put the request on the queue. The contents 0: there was no object."""

    source: str
    kind: Kind | None
    type: str
    namespace: str
    name: str
    old: int
    new: int
    is_in_initial_list: bool
    is_unchanged: bool


class RetryRecord(msgspec.Struct, array_like=True, frozen=True, tag_field="record", tag=2, gc=False):
    """A note: the reconcile of this number put it there again."""

    number: int
    result: str
    error: str
    causes: list[tuple[float, int]]


class TextRecord(msgspec.Struct, array_like=True, frozen=True, tag_field="record", tag=3, gc=False):
    """A note: another reason."""

    text: str


AnyRecord = EventRecord | RetryRecord | TextRecord

ENTRIES: msgspec.msgpack.Decoder[AnyEntry] = msgspec.msgpack.Decoder(AnyEntry)
RECORDS: msgspec.msgpack.Decoder[AnyRecord] = msgspec.msgpack.Decoder(AnyRecord)
ENCODER = msgspec.msgpack.Encoder()
