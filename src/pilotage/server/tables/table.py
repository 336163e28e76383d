"""Tables: rows of cells for people, in answers to get, list, watch and the writes that return an object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from pilotage.errors import BadRequest
from pilotage.meta.documents import Document
from pilotage.meta.scalars.times import Clock
from pilotage.meta.values import Value
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Bytes, Page, Response, WatchEvent
from pilotage.server import records
from pilotage.server.tables import cells, custom
from pilotage.server.tables.cells import Cell, Printer
from pilotage.types import builtin

if TYPE_CHECKING:
    from pilotage.server.kinds import Rows
    from pilotage.server.resources import ResourceInfo

Get = Callable[[APIRequest], Awaitable[Response]]
List = Callable[[APIRequest], Awaitable[Page]]

_INCLUDED = ("", "Metadata", "Object", "None")
_encode = msgspec.json.Encoder().encode
_NO_TIME = "0001-01-01T00:00:00Z"
"""Of the empty object in a bookmark."""


def name_and_creation(document: Document, now: datetime) -> list[Cell]:
    """The cells of a kind without cells of its own."""
    return [cells.name(document), document["metadata"].get("creationTimestamp", _NO_TIME)]


class TableWriter(Value, frozen=True, dict=True):
    """Writes objects of one resource as Tables."""

    info: ResourceInfo
    include: str
    """The part of the object in each row: its `Metadata` (or empty), the whole `Object`, `None`."""
    version: str = "v1"
    """The version of the Table, and of the metadata in its rows."""

    def check(self) -> None:
        """Raises BadRequest if rows cannot contain the requested form."""
        if self.include not in _INCLUDED:
            problem = (
                f"includeObject: Invalid value: \"{self.include[:50]}\": must be 'Metadata', 'Object', 'None', or empty"
            )
            raise BadRequest(f"Unable to convert to Table as requested: {problem}")

    def collection(self, page: Page, now: datetime) -> bytes:
        """The Table of a list. Raises BadRequest."""
        self.check()
        table = self._table(page.list_metadata(), self._columns, self._sorted(page.items), now)
        if not page.items and any(column["name"] == "Created At" for column in self._columns):
            return table.replace(b'"rows":[]', b'"rows":null')  # as Go's default for kinds without columns of their own
        return table

    def _sorted(self, items: Sequence[Bytes]) -> Sequence[Bytes]:
        """The objects in the order of their rows."""
        order = self._rows.order if self._rows is not None else None
        return items if order is None else sorted(items, key=lambda item: order(records.decode(bytes(item))))

    def single(self, data: Bytes, now: datetime) -> bytes:
        """The Table of one object. A Status is returned unchanged. Raises BadRequest."""
        document = records.decode(bytes(data))
        if document.get("kind") == "Status":
            return bytes(data)
        self.check()
        writer = _ScaleWriter(self.info, self.include, self.version) if document.get("kind") == "Scale" else self
        return writer._table(_version(document), writer._columns, (data,), now)

    def event(self, event: WatchEvent, now: datetime, *, first: bool) -> WatchEvent:
        """The event of a watch with a Table of one row; only the first one has column definitions."""
        if event.type == "ERROR":
            return event
        document = records.decode(bytes(event.object))
        columns = self._columns if first else None
        return WatchEvent(event.type, self._table(_version(document), columns, (event.object,), now))

    async def answer(self, request: APIRequest, get: Get, list_: List, clock: Clock) -> Response:
        """The answer to a get or a list in the form of a Table, from one with whole objects. Raises BadRequest."""
        whole = msgspec.structs.replace(request, form=Form.OBJECT)
        if request.verb is Verb.LIST:
            page = await list_(whole)
            return Response(self.collection(page, clock()), warnings=page.warnings)
        response = await get(whole)
        return Response(self.single(response.body, clock()), response.code, response.warnings)

    def _table(self, metadata: Document, columns: object, items: Iterable[Bytes], now: datetime) -> bytes:
        rows = b",".join(self._row(bytes(item), now) for item in items)
        api_version = f"meta.k8s.io/{self.version}"
        head = _encode({"kind": "Table", "apiVersion": api_version, "metadata": metadata, "columnDefinitions": columns})
        return b'%b,"rows":[%b]}' % (head[:-1], rows)

    def _row(self, data: bytes, now: datetime) -> bytes:
        document = records.decode(data)
        if self.info.stored is not self.info and not self.info.custom and "name" in document["metadata"]:
            document = self.info.stored.strategy.convert(document)  # a bookmark is empty in each version
        shown = _encode(self._printer(document, now))
        if self._rows is not None and (conditions := self._rows.conditions(document)):
            shown += b',"conditions":%b' % _encode(conditions)
        match self.include:
            case "Object":
                return b'{"cells":%b,"object":%b}' % (shown, data)
            case "None":
                return b'{"cells":%b,"object":null}' % shown
        metadata = records.metadata_only(data, self.version, self.info.rules.hidden_annotations)
        return b'{"cells":%b,"object":%b}' % (shown, metadata)

    @cached_property
    def _rows(self) -> Rows | None:
        return self.info.load_rows()

    @cached_property
    def _printer(self) -> Printer:
        if self.info.custom:
            return custom.printer(self.info.printer_columns)
        return name_and_creation if self._rows is None else self._rows.cells

    @cached_property
    def _columns(self) -> list[dict[str, Any]]:
        if self.info.custom:
            return custom.columns(self.info.printer_columns, builtin.column_description)
        return [
            custom.column(each.name, each.type, each.format, each.description, each.priority)
            for each in builtin.columns(self.info.gvr)
        ]


_CUSTOM_SCALE_COLUMNS = {"Desired": "Number of desired replicas", "Available": "Number of actual replicas"}
_SCALE_COLUMNS = {
    "Desired": "replicas is the desired number of instances for the scaled object.",
    "Available": "replicas is the actual number of observed instances of the scaled object.",
}
"""What the columns of a Scale mean that no other Table has."""


class _ScaleWriter(TableWriter, frozen=True, dict=True):
    """Writes the Scale of an object as a Table."""

    @cached_property
    def _printer(self) -> Printer:
        from pilotage.server.tables.scale import CUSTOM_SCALE, SCALE

        return CUSTOM_SCALE if self.info.custom else SCALE

    @cached_property
    def _columns(self) -> list[dict[str, Any]]:
        declared = self.info.custom  # they have columns as a definition declares them
        described = _CUSTOM_SCALE_COLUMNS if declared else _SCALE_COLUMNS
        columns = (
            ("Name", "string", "name" if declared else ""),
            ("Desired", "integer", ""),
            ("Available", "integer", ""),
            ("Age", "date" if declared else "string", ""),
        )
        return [custom.column(*each, builtin.column_description(each[0]) or described[each[0]]) for each in columns]


def _version(document: Document) -> Document:
    version = document["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}
