"""Answers as they are sent: objects, lists and events of a watch, converted and written in the negotiated format."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from pilotage.meta.causes import internal_error
from pilotage.meta.documents import Document
from pilotage.meta.patches import merge
from pilotage.meta.scalars.times import Clock
from pilotage.rest.negotiation import JSON, PROTOBUF, YAML, ResponseFormat
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Bytes, Page, WatchEvent
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.server.tables.table import TableWriter

_PARTIAL = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/'
_COPIED = 64
"""How much less time a byte takes that is copied than one that is converted."""
_decode = msgspec.json.Decoder().decode


def write(data: bytes, media: str, *, pretty: bool = False) -> bytes:
    """A JSON document in a media type."""
    if media == PROTOBUF:
        return encoded(_decode(data))
    if media == YAML:
        from pilotage.meta.text import yamltext  # imported on use: few answers are YAML

        return yamltext.write_as_kubernetes(_decode(data))
    return msgspec.json.format(data, indent=2) if pretty else data + b"\n"


def encoded(document: Document) -> bytes:
    """A document as protobuf."""
    from pilotage.types import protobuf  # the tables of messages

    try:
        return protobuf.encode(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        name = document.get("metadata", {}).get("name", "")
        message = f"cannot encode {document.get('kind')} {name!r} as protobuf: {error}; ask for JSON, or fix the object"
        raise internal_error(message) from error


class Renderer:
    """Writes what the registry answers to one request."""

    def __init__(self, asked: ResponseFormat, info: ResourceInfo, request: APIRequest, clock: Clock) -> None:
        self._asked = asked
        self._copies = asked.media == JSON and not asked.pretty
        self._info = info
        self._request = request
        self._clock = clock
        self._table = (
            TableWriter(info, request.options.include_object, asked.version) if asked.form is Form.TABLE else None
        )
        if self._table is not None and request.verb is Verb.WATCH:
            self._table.check()  # before the stream begins; of others, an error of the request itself comes first
        self._events = 0

    @property
    def media(self) -> str:
        """The media type of what is written."""
        return self._asked.media

    def effort(self, *data: Bytes) -> int:
        """The size of data for `offload`."""
        size = sum(map(len, data))
        return size // _COPIED if self._copies and self._asked.form is Form.OBJECT else size

    def in_json(self) -> Renderer:
        """A renderer that writes the same in JSON."""
        return Renderer(replace(self._asked, media=JSON, pretty=False), self._info, self._request, self._clock)

    def object(self, data: bytes) -> bytes:
        """The body with one object, or with a Status."""
        if self._table is not None:
            data = self._table.single(data, self._clock())
        elif self._asked.form is Form.METADATA:
            data = self._metadata(data)
        return self._written(data)

    def page(self, page: Page) -> bytes:
        """The body with a list."""
        if self._table is not None:
            return self._written(self._table.collection(page, self._clock()))
        metadata = page.list_metadata()
        if self._asked.form is Form.METADATA:
            kind, api_version = "PartialObjectMetadataList", f"meta.k8s.io/{self._asked.version}"
        else:
            kind, api_version = page.list_kind or "List", str(self._request.resource.group_version)
            if self._info.custom:
                metadata.setdefault("continue", "")  # an untyped list always has it
        head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
        items = [part for item in page.items for part in (b",", self._item(bytes(item)))]
        if self._asked.form is Form.METADATA and not items:
            return self._written(head[:-1], b',"items":null}')  # as Go writes a slice that nothing was appended to
        return self._written(head[:-1], b',"items":[', *items[1:], b"]}")

    @property
    def has_events(self) -> bool:
        """Whether events can have the requested form: no event is a list, and a watch that requests a list ends with
        the first event."""
        return self._asked.kind != "PartialObjectMetadataList"

    def event(self, event: WatchEvent) -> bytes:
        """One event of a watch: a line, or a frame."""
        if self._table is not None:
            event = self._table.event(event, self._clock(), first=not self._events)
        elif self._asked.form is Form.METADATA and event.type != "ERROR":
            event = WatchEvent(event.type, self._metadata(bytes(event.object)))
        elif event.type == "BOOKMARK" and not self._info.custom:
            event = WatchEvent("BOOKMARK", self._typed_bookmark(event.object))
        self._events += 1
        if self._asked.media == PROTOBUF:
            from pilotage.meta.protobuf import envelope

            return envelope.frame(event.type, encoded(_decode(event.object)))
        return b'{"type":"%b","object":%b}\n' % (event.type.encode(), bytes(event.object))

    def _typed_bookmark(self, data: Bytes) -> bytes:
        """A bookmark of a typed kind is an empty object of it: it has the fields that Go never omits."""
        from pilotage.types import protobuf  # the tables of messages

        document = _decode(data)
        merged = document | protobuf.zero(self._info.gvk) | {"metadata": document["metadata"]}
        return msgspec.json.encode(merge.apply(merged, self._info.rules.bookmark))

    def _item(self, data: bytes) -> bytes:
        if self._asked.form is Form.METADATA:
            return self._metadata(data)
        head = self._info.head
        if not self._info.custom and data.startswith(head):
            return b"{" + data[len(head) :]  # the items of a typed list are of one kind, which the list names
        return data

    def _metadata(self, data: Bytes) -> bytes:
        data = bytes(data)
        if not data.startswith(_PARTIAL):
            if _decode(data).get("kind") == "Status":
                return data
            data = records.metadata_only(data, hidden=self._info.rules.hidden_annotations)
        return data if self._asked.version == "v1" else data.replace(_PARTIAL + b"v1", _PARTIAL + b"v1beta1", 1)

    def _written(self, *parts: bytes) -> bytes:
        if self._copies:
            return b"".join((*parts, b"\n"))  # a list is large: it is copied only once
        return write(b"".join(parts), self._asked.media, pretty=self._asked.pretty)
