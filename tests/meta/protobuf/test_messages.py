from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import DecodeError
from pilotage.meta.protobuf.messages import Message, Row
from pilotage.meta.protobuf.special import special
from pilotage.meta.protobuf.values import ProtobufType

TABLES: dict[str, list[Row]] = {
    "Thing": [
        (1, "text", "o", "string"),
        (2, "name", "", "string"),
        (3, "pointer", "po", "string"),
        (4, "count", "o", "int32"),
        (5, "numbers", "ro", "int64"),
        (6, "labels", "mo", "string"),
        (7, "status", "o", "Status"),
        (8, "part", "po", "Status"),
        (9, "", "", "Source"),
        (10, "things", "ro", "Thing"),
        (11, "time", "o", "k8s.io.apimachinery.pkg.apis.meta.v1.Time"),
        (12, "port", "o", "k8s.io.apimachinery.pkg.util.intstr.IntOrString"),
        (13, "data", "o", "bytes"),
        (14, "share", "po", "double"),
        (15, "flag", "po", "bool"),
        (16, "sizes", "mo", "k8s.io.apimachinery.pkg.api.resource.Quantity"),
    ],
    "Status": [(1, "ready", "", "bool")],
    "Source": [(1, "path", "po", "string")],
}


def resolve(name: str) -> ProtobufType:
    rows = TABLES.get(name, [])
    return special(name, rows, resolve) or Message(name, rows, resolve)


THING = Message("Thing", TABLES["Thing"], resolve)


def read(data: bytes) -> Any:
    return THING.read(data, 0, len(data), 0)


def written(**document: Any) -> Any:
    return read(THING.content(document))


EMPTY = {"name": "", "status": {"ready": False}, "port": 0}
"""What Go's JSON never leaves out."""


def test_what_json_leaves_out_when_empty_is_left_out_of_the_document() -> None:
    assert written() == EMPTY
    assert written(text="", count=0, numbers=[], labels={}, data="", time=None) == EMPTY


def test_a_pointer_to_an_empty_value_stays() -> None:
    assert written(pointer="", share=0, flag=False, part={"ready": False}) == {
        **EMPTY,
        "pointer": "",
        "share": 0,
        "flag": False,
        "part": {"ready": False},
    }


@pytest.mark.parametrize(
    "document",
    [
        {"text": "a", "count": -1, "numbers": [0, -5, 2**62], "labels": {"b": "", "a": "é"}},
        {"path": "/x", "things": [EMPTY | {"text": "in"}, EMPTY]},
        {"time": "2024-05-06T07:08:09Z", "port": "http", "data": "AP8="},
        {"time": "1969-12-31T23:59:59Z", "port": -1, "share": 0.25, "sizes": {"cpu": "100m"}},
    ],
)
def test_a_document_is_read_as_it_was_written(document: dict[str, Any]) -> None:
    assert written(**document) == EMPTY | document


def test_fields_are_written_in_the_order_of_their_numbers_and_maps_in_that_of_their_keys() -> None:
    data = THING.content({"labels": {"b": "2", "a": "1"}, "text": "x"})
    assert data.startswith(b"\x0a\x01x\x12\x00")
    assert data.index(b"\x0a\x01a") < data.index(b"\x0a\x01b")


def test_numbers_of_a_list_may_come_packed() -> None:
    assert read(b"\x2a\x03\x01\x96\x01") == {"numbers": [1, 150]}


def test_of_a_field_that_comes_again_the_last_counts_and_messages_are_merged() -> None:
    assert read(b"\x0a\x01a\x0a\x01b") == {"text": "b"}
    assert read(b"\x0a\x01a\x0a\x00") == {}
    assert read(b"\x42\x02\x08\x01\x42\x00") == {"part": {"ready": True}}


def test_unknown_fields_are_passed_over() -> None:
    assert read(b"\xfa\x7f\x01a\x0a\x01b\xf8\x7f\x05") == {"text": "b"}


def test_an_entry_of_a_map_without_key_or_value_has_empty_ones() -> None:
    assert read(b"\x32\x00\x82\x01\x03\x0a\x01c") == {"labels": {"": ""}, "sizes": {"c": "0"}}


def test_bytes_that_are_not_utf8_become_replacement_characters_one_each() -> None:
    assert read(b"\x0a\x05a\xff\xed\xa0b") == {"text": "a\ufffd\ufffd\ufffdb"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x08\x01", "wrong wireType = 0 for field text"),
        (b"\x22\x01\x01", "wrong wireType = 2 for field count"),
        (b"\x12\x05abc", "unexpected EOF"),
        (b"\x12", "unexpected EOF"),
        (b"\x80", "unexpected EOF"),
        (b"\x00\x01", "illegal tag 0"),
        (b"\x5a\x0a\x08" + b"\xff" * 8 + b"\x7f", "not in the years 1 to 9999"),
    ],
)
def test_what_is_no_message_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        read(data)


def test_messages_within_messages_are_bounded() -> None:
    data = b""
    for _ in range(1000):
        data = b"\x52" + len(data).to_bytes(1, "big") + data if len(data) < 120 else b"\x52" + _length(data) + data
    with pytest.raises(DecodeError, match="deeper than 64 levels"):
        read(data)


def _length(data: bytes) -> bytes:
    return bytes((len(data) & 0x7F | 0x80, len(data) >> 7 & 0x7F | 0x80, len(data) >> 14))


@pytest.mark.parametrize(
    "document",
    [{"text": 1}, {"count": "1"}, {"count": 1.5}, {"flag": 1}, {"data": "%"}, {"time": "yesterday"}, {"part": "x"}],
)
def test_a_document_of_wrong_types_cannot_be_written(document: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        THING.content(document)
