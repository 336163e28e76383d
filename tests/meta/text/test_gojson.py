"""JSON as Go reads it. The expected messages were produced by Go's decoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilotage.errors import DecodeError
from pilotage.meta.text import gojson


@pytest.mark.parametrize(
    ("text", "document"),
    [
        (b'{"a":"a\xffb"}', {"a": "a\ufffdb"}),
        (b'{"a":"\\ud800x"}', {"a": "\ufffdx"}),
        (b'{"\\udc00":1}', {"\ufffd": 1}),
        (b'{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        (b"[9223372036854775808]", [9223372036854775808.0]),
        (b"[9223372036854775807]", [9223372036854775807]),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_what_go_accepts_is_read(text: bytes, document: Any) -> None:
    found = gojson.read(text)
    assert found == document
    assert repr(found) == repr(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a":1]', "invalid character ']' after object key:value pair"),
        (b"[1}", "invalid character '}' after array element"),
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"1e+", "invalid character ' ' in exponent of numeric literal"),
        (b'{"a":"\\x"}', "invalid character 'x' in string escape code"),
        (b'{"a":"\\u12g"}', "invalid character 'g' in \\u hexadecimal character escape"),
        (b'{"a":"\n"}', "invalid character '\\n' in string literal"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"k" 1}', "invalid character '1' after object key"),
        (b"[" * 9_000, "unexpected end of JSON input"),
    ],
)
def test_what_is_no_json_is_refused_in_the_words_of_go(text: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as raised:
        gojson.read(text)
    assert str(raised.value) == message


@pytest.mark.parametrize("text", [b"[" * 100 + b"]" * 100, b"[1e400]", b"[" + b"9" * 100_000 + b"]", b'["\xff",1e999]'])
def test_what_cannot_be_kept_is_refused(text: bytes) -> None:
    with pytest.raises(DecodeError):
        gojson.read(text)


@settings(max_examples=100)
@given(st.text('{}[]",:\\ \n0123456789.eE+-truefalsnlu', max_size=30))
def test_the_scanner_finds_an_error_just_where_there_is_one(text: str) -> None:
    try:
        json.loads(text)
        valid = True
    except ValueError:
        valid = False
    assert (gojson.syntax_error(text.encode()) == "") == valid


def test_a_text_is_quoted_as_go_does_it() -> None:
    assert gojson.quoted('u"n\\ü\u2028\n') == '"u\\"n\\\\ü\\u2028\\n"'
    assert gojson.quoted("spec.a") == '"spec.a"'
    assert gojson.quoted("\x01\x7f\a\U000e0001") == '"\\x01\\x7f\\a\\U000e0001"'


def test_the_scanner_stops_at_the_depth_that_go_allows() -> None:
    assert gojson.syntax_error(b"[" * 10_000 + b"]" * 10_000) == ""
    assert gojson.syntax_error(b"[" * 3_000_000) == "invalid character '[' exceeded max depth"


def test_an_object_that_is_there_twice_has_the_members_of_both() -> None:
    assert gojson.read_merged(b'{"a":{"k":1,"l":{"x":1}},"b":[1],"a":{"k":2,"l":{"y":2}},"b":[2]}') == {
        "a": {"k": 2, "l": {"x": 1, "y": 2}},
        "b": [2],
    }


def test_the_members_of_repeated_objects_are_in_the_order_of_the_text() -> None:
    found = gojson.read_merged(b'{"a":{"k":{"p":1}},"b":[{"k":{},"k":{"x":1}}],"a":{"k":1,"k":{"m":1}}}')
    assert json.dumps(found) == '{"a": {"k": {"m": 1}}, "b": [{"k": {"x": 1}}]}'


def test_an_object_that_is_there_very_often_is_read_in_linear_time() -> None:
    members = [f"k{number}" for number in range(60_000)]  # copying what was merged before takes minutes
    text = "{" + ",".join(f'"data":{{"{member}":""}}' for member in members) + "}"
    assert list(gojson.read_merged(text.encode())["data"]) == members


@pytest.mark.parametrize("depth", [64, 700, 5000])
def test_an_object_that_is_there_again_may_not_be_too_deep_either(depth: int) -> None:
    text = b'{"spec":' + b'{"a":' * depth + b"1" + b"}" * depth + b',"spec":{"b":1}}'
    with pytest.raises(DecodeError, match="nested deeper than 64 levels"):
        gojson.read_merged(text)
