"""Messages that are not objects in JSON: quantities, times, numbers or texts, raw JSON, lists with a name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.documents import Document
from pilotage.meta.protobuf import wire
from pilotage.meta.protobuf.messages import Message, Resolve, Row
from pilotage.meta.scalars import times
from pilotage.meta.text import jsontext

_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_SCHEMA = f"{_EXTENSIONS}.JSONSchemaProps"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


class Special:
    """A message, and its value in JSON."""

    wire = wire.LENGTH

    def __init__(
        self,
        message: Message,
        decode: Callable[[Document], Any],
        encode: Callable[[Any], Document | None],
        empty: Any = None,
    ) -> None:
        self._message = message
        self._decode = decode
        self._encode = encode
        self._empty = empty

    def read(self, data: bytes, at: int, end: int, depth: int) -> Any:
        return self._decode(self._message.read(data, at, end, depth))

    def write(self, value: Any) -> bytes:
        document = self._encode(value)
        return b"\x00" if document is None else self._message.write(document)

    def zero(self) -> bytes:
        return self.write(self._empty)


def special(name: str, rows: list[Row], resolve: Resolve) -> Special | None:
    """The type of a message that is not an object in JSON; None of any other."""
    if rows == [(1, "", "r", "string")]:
        return Special(Message(name, [(1, "items", "r", "string")], resolve), _items, lambda value: {"items": value})
    found = _KNOWN.get(name)
    if found is None:
        return None
    rows, decode, encode, empty = found
    return Special(Message(name, rows, resolve), decode, encode, empty)


def _items(document: Document) -> Any:
    return document.get("items", [])


def _quantity(document: Document) -> str:
    return document.get("string") or "0"


def _from_quantity(value: Any) -> Document:
    return {"string": str(value)}


def _time(document: Document) -> str | None:
    moment = _moment(document)
    return None if moment is None else times.format(moment)


def _micro_time(document: Document) -> str | None:
    moment = _moment(document)
    if moment is None:
        return None
    return times.MicroTime.of(moment.replace(microsecond=document.get("nanos", 0) // 1000 % 1_000_000)).format()


def _moment(document: Document) -> datetime | None:
    if not document:
        return None
    try:
        return _EPOCH + timedelta(seconds=document.get("seconds", 0))
    except OverflowError:
        raise DecodeError(f"the time {document.get('seconds')} is not in the years 1 to 9999") from None


def _from_time(value: Any) -> Document | None:
    if value is None:
        return None
    return {"seconds": (times.parse(value) - _EPOCH) // _SECOND}


def _from_micro_time(value: Any) -> Document | None:
    if value is None:
        return None
    moment = times.parse(value)
    return {"seconds": (moment - _EPOCH) // _SECOND, "nanos": moment.microsecond * 1000}


def _int_or_string(document: Document) -> int | str:
    found: int | str = document.get("strVal", "") if document.get("type") else document.get("intVal", 0)
    return found


def _from_int_or_string(value: Any) -> Document:
    return {"type": 1, "strVal": value} if isinstance(value, str) else {"type": 0, "intVal": value}


def _json(document: Document) -> Any:
    raw = document.get("raw")
    return None if not raw else jsontext.read(raw)


def _from_json(value: Any) -> Document | None:
    return None if value is None else {"raw": jsontext.write(value)}


def _from_any_json(value: Any) -> Document:
    return {"raw": jsontext.write(value)}


def _schema_or_array(document: Document) -> Any:
    return document.get("schemas") or document.get("schema")


def _from_schema_or_array(value: Any) -> Document:
    return {"schemas": value} if isinstance(value, list) else {"schema": value}


def _schema_or_bool(document: Document) -> Any:
    return document["schema"] if "schema" in document else document.get("allows", False)


def _from_schema_or_bool(value: Any) -> Document:
    return {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}


_RAW: list[Row] = [(1, "raw", "p", "raw")]
_STAMP: list[Row] = [(1, "seconds", "", "int64"), (2, "nanos", "", "int32")]
_KNOWN: dict[str, tuple[list[Row], Callable[[Document], Any], Callable[[Any], Document | None], Any]] = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": (
        [(1, "string", "", "string")],
        _quantity,
        _from_quantity,
        "0",
    ),
    f"{_META}.Time": (_STAMP, _time, _from_time, None),
    f"{_META}.MicroTime": (_STAMP, _micro_time, _from_micro_time, None),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": (
        [(1, "type", "", "int64"), (2, "intVal", "", "int32"), (3, "strVal", "", "string")],
        _int_or_string,
        _from_int_or_string,
        0,
    ),
    "k8s.io.apimachinery.pkg.runtime.RawExtension": (_RAW, _json, _from_json, None),
    f"{_META}.FieldsV1": (_RAW, _json, _from_json, None),
    f"{_EXTENSIONS}.JSON": (_RAW, _json, _from_any_json, None),
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": (
        [(1, "schema", "p", _SCHEMA), (2, "schemas", "r", _SCHEMA)],
        _schema_or_array,
        _from_schema_or_array,
        None,
    ),
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": (
        [(1, "allows", "", "bool"), (2, "schema", "p", _SCHEMA)],
        _schema_or_bool,
        _from_schema_or_bool,
        False,
    ),
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": (
        [(1, "schema", "p", _SCHEMA), (2, "schemas", "r", "string")],
        _schema_or_array,
        _from_schema_or_array,
        None,
    ),
}
