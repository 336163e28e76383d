"""OpenAPI v2 as protobuf, which older clients of Kubernetes (kubectl before 1.29, Helm) request.

The message is defined by the gnostic project. A message is a sequence of fields: a number, then a varint, eight bytes,
or text and inner messages with their length.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.protobuf.wire import delimited, write_varint
from pilotage.meta.text import yamltext

MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_DOUBLES = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_BOOLEANS = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}
_NUMBERS = {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18}
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def encode(document: Document) -> bytes:
    """The message of a whole document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(_message(2, _named(path, _path(item))) for path, item in sorted(document["paths"].items()))
    definitions = b"".join(
        _message(1, _named(name, _schema(schema))) for name, schema in sorted(document["definitions"].items())
    )
    return _text(1, document["swagger"]) + _message(2, info) + _message(8, paths) + _message(9, definitions)


def _schema(schema: Document) -> bytes:
    return b"".join(_schema_fields(schema))


def _schema_fields(schema: Document) -> Iterator[bytes]:
    for key, value in schema.items():
        if key in _TEXTS:
            yield _text(_TEXTS[key], value)
        elif key in _DOUBLES:
            yield write_varint(_DOUBLES[key] << 3 | 1) + struct.pack("<d", value)
        elif key in _BOOLEANS:
            yield _varint_field(_BOOLEANS[key], int(value))
        elif key in _NUMBERS:
            yield _varint_field(_NUMBERS[key], value)
        elif key in _PARTS:
            yield _PARTS[key](value)
        elif key.startswith("x-"):
            yield _extension(31, key, value)


_PARTS: Mapping[str, Callable[[Any], bytes]] = {
    "default": lambda value: _message(5, _any(value)),
    "required": lambda value: b"".join(_text(19, name) for name in value),
    "enum": lambda value: b"".join(_message(20, _any(each)) for each in value),
    "additionalProperties": lambda value: _message(21, _additional(value)),
    "type": lambda value: _message(22, _text(1, value)),
    "items": lambda value: _message(23, _message(1, _schema(value))),
    "allOf": lambda value: b"".join(_message(24, _schema(each)) for each in value),
    "properties": lambda value: _message(
        25, b"".join(_message(1, _named(name, _schema(each))) for name, each in value.items())
    ),
}


def _additional(value: Any) -> bytes:
    return _varint_field(2, int(value)) if isinstance(value, bool) else _message(1, _schema(value))


def _path(item: Document) -> bytes:
    operations = (_message(number, _operation(item[name])) for name, number in _METHODS.items() if name in item)
    return b"".join(operations) + _parameters(9, item.get("parameters", ()))


def _operation(operation: Document) -> bytes:
    fields = [_text(1, tag) for tag in operation.get("tags", ())]
    fields.append(_text(5, operation["operationId"]))
    fields += [_text(6, media) for media in operation.get("produces", ())]
    fields += [_text(7, media) for media in operation.get("consumes", ())]
    fields.append(_parameters(8, operation.get("parameters", ())))
    answers = (_message(1, _named(code, _message(1, _response(each)))) for code, each in operation["responses"].items())
    fields.append(_message(9, b"".join(answers)))
    fields += [_extension(13, key, value) for key, value in operation.items() if key.startswith("x-")]
    return b"".join(fields)


def _response(response: Document) -> bytes:
    schema = response.get("schema")
    return _text(1, response["description"]) + (b"" if schema is None else _message(2, _message(1, _schema(schema))))


def _parameters(number: int, parameters: Iterable[Document]) -> bytes:
    return b"".join(_message(number, _message(1, _parameter(each))) for each in parameters)


def _parameter(parameter: Document) -> bytes:
    name, place = parameter["name"], parameter["in"]
    required = _varint_field(1, 1) if parameter.get("required") else b""
    if place == "body":
        body = _text(2, name) + _text(3, place) + _message(5, _schema(parameter["schema"]))
        return _message(1, body)
    common = required + _text(2, place) + _text(4, name)
    if place == "path":
        return _message(2, _message(4, common + _text(5, parameter["type"]) + _varint_field(19, 1)))
    return _message(2, _message(3, common + _text(6, parameter["type"]) + _varint_field(20, 1)))


def _extension(number: int, name: str, value: Any) -> bytes:
    return _message(number, _named(name, _any(value)))


def _any(value: Any) -> bytes:
    """A value of any type, as YAML."""
    return _text(2, yamltext.write(value))


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _message(2, value)


def _text(number: int, text: str) -> bytes:
    return _message(number, str(text).encode(errors="replace"))


def _message(number: int, content: bytes) -> bytes:
    return write_varint(number << 3 | 2) + delimited(content)


def _varint_field(number: int, value: int) -> bytes:
    return write_varint(number << 3) + write_varint(value)
