"""HTTP answers of an API server, parsed: errors, lists, watch lines, warnings. Objects are not decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

import msgspec

from pilotage.errors import ApiError, DecodeError, Status, StatusDetails, from_status
from pilotage.meta.redaction import reason_of
from pilotage.rest import Page, WatchEvent
from pilotage.rest.response import Bytes, WatchEventType

_EXCERPT = 300
_LONGEST_SECONDS = 9  # digits


class _ListMeta(msgspec.Struct, rename={"continue_token": "continue", "resource_version": "resourceVersion"}):
    resource_version: str = ""
    continue_token: str = ""
    remaining: int | None = msgspec.field(default=None, name="remainingItemCount")


class _List(msgspec.Struct):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _Line(msgspec.Struct):
    type: WatchEventType
    object: msgspec.Raw


T = TypeVar("T")

_NO_LIST = "the server's answer is not a list"
_LIST = msgspec.json.Decoder(_List)
_LINE = msgspec.json.Decoder(_Line)


def page(body: bytes, warnings: tuple[str, ...] = ()) -> Page:
    """A list with its items as slices of `body`, which they keep alive."""
    found = _decoded(_LIST, body, _NO_LIST)
    if not found.kind:  # an empty document is not an empty list: every object would seem to be deleted
        raise _unreadable(_NO_LIST, "it has no kind", body)
    return Page(
        items=_Slices(found.items or []),
        resource_version=found.metadata.resource_version,
        continue_token=found.metadata.continue_token,
        remaining_item_count=found.metadata.remaining,
        warnings=warnings,
        list_kind=found.kind,
        list_api_version=found.api_version,
    )


class _Slices(Sequence[Bytes]):
    """The items of a list. The view of an item is made when it is read: 10,000 of them take 2 MB."""

    def __init__(self, items: list[msgspec.Raw]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Bytes]: ...
    def __getitem__(self, index: int | slice) -> Bytes | Sequence[Bytes]:
        found = self._items[index]
        return _Slices(found) if isinstance(found, list) else memoryview(found)

    def __iter__(self) -> Iterator[Bytes]:
        return map(memoryview, self._items)


def watch_event(line: bytes) -> WatchEvent:
    """A line of a watch, with its object as a slice."""
    found = _decoded(_LINE, line, "a line of the watch cannot be read")
    return WatchEvent(found.type, memoryview(found.object))


def error(code: int, body: bytes, *, asked: str, retry_after: str = "") -> ApiError:
    """The error for an answer of 400 and above: from its Status, or from its code if it has no Status.

    `asked` describes the request, for answers that do not come from an API server.
    """
    seconds = _retry_after_seconds(retry_after)
    document = _status_document(body)
    if document is None:
        message = f"the server answered {code} to {asked}" + (f": {text}" if (text := excerpt(body)) else "")
        details = StatusDetails(retry_after_seconds=seconds) if seconds else None
        return from_status(Status(code, "", message, details))
    document.setdefault("code", code)
    details = document.get("details")
    if seconds:
        document["details"] = {"retryAfterSeconds": seconds} | (details if isinstance(details, dict) else {})
    return from_status(Status.from_document(document))


def warnings(headers: Iterable[str]) -> tuple[str, ...]:
    """The texts of `Warning` headers (`299 - "text"`); other forms are returned as they are."""
    return tuple(_warning(value) for value in headers)


def _decoded(decoder: msgspec.json.Decoder[T], body: bytes, what: str) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = reason_of(error)
    raise _unreadable(what, reason, body)  # outside of the handler, because the error may hold the whole body


def _unreadable(what: str, reason: str, body: bytes) -> DecodeError:
    """The error for an answer with 200. JSON, which may be a Secret, is not shown; a page of a proxy is."""
    is_json = body.lstrip()[:1] in (b"{", b"[", b'"', b"")
    return DecodeError(f"{what}: {reason}" + (f" ({len(body):,} bytes)" if is_json else f": {excerpt(body)}"))


def excerpt(body: bytes) -> str:
    """The beginning of some bytes, for a message: one line, printable, not long."""
    text = body[:_EXCERPT].decode(errors="replace")
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line + "…" if len(body) > _EXCERPT else line


def _retry_after_seconds(header: str) -> int:
    if len(header) <= _LONGEST_SECONDS and header.isdecimal():
        return int(header)
    return 1 if header else 0  # a date, which is rare, or not a number: wait for a moment


def _status_document(body: bytes) -> dict[str, Any] | None:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("kind") == "Status" else None


def _warning(value: str) -> str:
    _, quote, rest = value.partition('"')
    if not quote:
        return value
    text, escaped = [], False
    for character in rest:
        if not escaped and character == '"':
            break
        escaped = not escaped and character == "\\"
        if not escaped:
            text.append(character)
    return "".join(text)
