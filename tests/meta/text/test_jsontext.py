from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import DecodeError
from pilotage.meta.text import jsontext
from pilotage.meta.text.limits import DocumentLimits

DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(DOCUMENTS)
def test_read_undoes_write(document: object) -> None:
    assert jsontext.read(jsontext.write(document)) == document


@given(DOCUMENTS)
def test_documents_are_read_as_any_other_parser_reads_them(document: object) -> None:
    assert jsontext.read(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the document is empty"),
        (b" \n", "the document is empty"),
        (b"[NaN]", r"not JSON: invalid character \(byte 1\)"),
        (b"Infinity", "not JSON"),
        (b"-Infinity", "not JSON"),
        (b"1e999", "not JSON: number out of range"),
        (b'"\\ud800"', "surrogate"),
        (b'"\\udc00\\ud800"', "not JSON|surrogate"),
        (b'{"a":"\xff"}', "not UTF-8: byte 6 is wrong"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"{} {}", "trailing characters"),
        (b'{"a":1,}', "trailing comma"),
        (b"{'a':1}", "not JSON"),
        (b"[01]", "not JSON"),
        (b"{1:2}", "object keys must be strings"),
        (b'"a\nb"', "not JSON"),
        (b'{"a":[{"b":9223372036854775808}]}', r"\.a\[0\]\.b does not fit into 64 bits"),
        (b"-9223372036854775809", "the number does not fit into 64 bits"),
        (b"1" * 5000, "not JSON|64 bits"),
        (b"[" * 65 + b"]" * 65, "deeper than 64 levels"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64 levels"),
        (b"[" * 1_000_000, "deeper than 64 levels"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, "deeper than 64 levels"),
        (b'["]",' * 65 + b"1" + b',"["]' * 65, "deeper than 64 levels"),
    ],
)
def test_hostile_text_is_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        jsontext.read(data)


def test_what_is_just_within_the_limits_is_read() -> None:
    deep = b"[" * 64 + b"]" * 64
    assert jsontext.read(deep) is not None
    assert jsontext.read(b"[" + b"[],{}," * 5000 + b"1]")[-1] == 1
    assert jsontext.read(b"[9223372036854775807,-9223372036854775808]") == [2**63 - 1, -(2**63)]
    assert jsontext.read(b'{"digits":"99999999999999999999"}') == {"digits": "9" * 20}
    size = DocumentLimits(size=10)
    assert jsontext.read(b'"12345678"', limits=size) == "12345678"
    with pytest.raises(DecodeError, match="has 11 bytes; at most 10 are read"):
        jsontext.read(b'"123456789"', limits=size)


def test_the_usual_limit_is_three_megabytes() -> None:
    text = b'"' + b"a" * (3 * 1024 * 1024 - 2) + b'"'
    assert len(jsontext.read(text)) == len(text) - 2
    with pytest.raises(DecodeError, match="at most 3145728"):
        jsontext.read(text + b" ")


def test_other_holders_of_bytes_are_read_too() -> None:
    assert jsontext.read(bytearray(b"{}")) == jsontext.read(memoryview(b"{}")) == jsontext.read("{}") == {}
    with pytest.raises(DecodeError, match="not UTF-8"):
        jsontext.read('"\ud800"')


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('{"a":1}', []),
        ('{"a":1,"a":2,"a":3}', ["a"]),
        ('{"spec":{"y":1,"x":1,"y":2}}', ["spec.y"]),
        ('{"metadata":{"labels":{"a":"1","a":"2"}}}', ["metadata.labels.a"]),
        ('{"l":[{"x":1},{"x":1,"x":2}]}', ["l[1].x"]),
        ('{"a":{"b":1,"b":2},"a":{"c":1,"c":2}}', ["a.b", "a", "a.c"]),
        ('{"a":1,"\\u0061":2}', ["a"]),
        ("[1,1]", []),
        ('"x"', []),
    ],
)
def test_keys_that_are_there_twice_are_found(text: str, paths: list[str]) -> None:
    assert jsontext.duplicate_fields(text.encode()) == paths


def test_a_hundred_keys_that_are_there_twice_are_named() -> None:
    pairs = ",".join(f'"{index}":1,"{index}":2' for index in range(1000))
    assert jsontext.duplicate_fields(f"{{{pairs}}}") == [str(index) for index in range(100)]


def test_a_key_of_a_megabyte_is_not_copied_for_each_value_below_it() -> None:
    key = "k" * 1_000_000
    with pytest.raises(DecodeError) as caught:
        jsontext.read(f'{{"{key}":[{"0," * 500_000}9223372036854775808]}}')
    assert caught.value.path.endswith("k[500000]")
    pairs = ",".join(f'"{index}":1,"{index}":2' for index in range(50_000))
    assert sum(map(len, jsontext.duplicate_fields(f'{{"{key}":{{{pairs}}}}}'))) < 100_000


def test_fields_are_named_in_the_order_in_which_a_decoder_meets_them() -> None:
    text = '{"z":1,"a":{"k":1,"x":2,"k":3},"l":[{"q":1},{"q":1,"q":2}],"y":1,"z":2}'
    unknown, duplicate = ["y", "a.x", "gone"], ["z", "a.k", "l[1].q"]
    assert jsontext.by_appearance(text, unknown, duplicate) == ["a.x", "a.k", "l[1].q", "y", "z", "gone"]


def test_only_what_leads_to_a_wanted_field_is_visited() -> None:
    key = "k" * 1_000_000
    text = f'{{"{key}":[{"0," * 500_000}0],"b":1,"a":1,"a":2}}'
    assert jsontext.by_appearance(text, ["b"], ["a"]) == ["b", "a"]


def test_a_value_that_is_too_deep_to_be_looked_through_for_duplicates_is_an_error() -> None:
    with pytest.raises(DecodeError, match="nested deeper than 64 levels"):
        jsontext.duplicate_fields(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"a":1}')


def test_a_stream_has_one_object_after_the_other() -> None:
    assert jsontext.read_stream(b'{"a": 1}{"b": 2}\n\n{"c": "\\ud83d\\ude00"}\n') == [
        {"a": 1},
        {"b": 2},
        {"c": "\U0001f600"},
    ]
    assert jsontext.read_stream(b"") == []


@pytest.mark.parametrize("text", [b"a: 1", b"{a: 1}", b'{"a": 1}\n---\n{"b": 2}', b'{"a": 1} # a', b'[{"a": 1}]'])
def test_what_may_be_yaml_is_not_a_stream(text: bytes) -> None:
    assert jsontext.read_stream(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1}{"b": ', r"not JSON: Expecting value \(line 1, column 15\)"),
        (b'{"a": 1}{"b": 2} 5', r"not JSON: an object must begin here \(line 1, column 18\)"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' is duplicated"),
        (b'{"a": 1}' + b'{"a":' * 100_000, "nested deeper than 64 levels"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested deeper than 64 levels"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": "\\ud83d"}', "surrogate"),
        (b'{"a": ' + b"1" * 5000 + b"}", "out of range"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": 1}{"a": "' + b"x" * 4_000_000 + b'"}', "at most 3145728 are read"),
    ],
)
def test_a_stream_is_as_strict_as_a_document(text: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        jsontext.read_stream(text)


def test_the_values_of_a_stream_are_limited_and_those_in_strings_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "MAX_FILE_VALUES", 4)
    assert jsontext.read_stream(b'{"a": ",,,,,,", "b": 1}') == [{"a": ",,,,,,", "b": 1}]
    with pytest.raises(DecodeError, match="the file has more than 4 values"):
        jsontext.read_stream(b'{"a": [1, 2, 3, 4, 5]}')
