from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import DecodeError
from pilotage.meta.text import limits, yamltext
from pilotage.meta.text.limits import DocumentLimits

from ...counting import counted_lines

TRICKY = st.sampled_from(
    [
        *("", "yes", "Off", "y", "~", "null", "1", "0o7", "0x1f", "1e3", "1_0", ".5", ".inf", ".nan", "2026-01-02"),
        *("<<", "=", "- a", "a: b", "#x", "a #b", "'", '"', "{", "[", "*a", "&a", "!x", "%x", "|", ">", "?", "-", ":"),
        *("\n", "a\n", "a\nb", " a", "a ", "\na", "a\n\n", " a\nb", "a \nb", "a\tb\nc", "\t", "a\r\nb", "\u2028"),
        *("\x85", "\x00", "\x1b", "é", "😀", "---", "...", "a\n---\nb"),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | TRICKY
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | TRICKY, inner, max_size=4),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_read_undoes_write(document: Any) -> None:
    assert yamltext.read(yamltext.write(document)) == document


@given(st.lists(st.dictionaries(TRICKY, TRICKY, min_size=1), max_size=3))
def test_several_documents_are_read_as_they_were_written(documents: list[Any]) -> None:
    assert yamltext.read_all(yamltext.write_all(documents)) == documents


def test_yaml_is_written_for_people() -> None:
    document = {"kind": "ConfigMap", "data": {"b": "1", "a": "line\nline\n"}, "list": [{"x": 1, "y": [True]}], "no": {}}
    assert yamltext.write(document) == (
        "kind: ConfigMap\ndata:\n  b: '1'\n  a: |\n    line\n    line\nlist:\n- x: 1\n  'y':\n  - true\n'no': {}\n"
    )


@pytest.mark.parametrize(
    "document", [{"a": "one...\n"}, {"a": "...\n"}, {"a": "x\n...\n"}, "...\n", "a", {"a": "0X1F"}]
)
def test_dots_at_the_end_of_a_string_are_its_own(document: Any) -> None:
    text = yamltext.write(document)
    assert yamltext.read(text) == document
    assert not text.endswith("\n...\n")


def test_equal_parts_are_written_out() -> None:
    part = {"a": 1}
    assert yamltext.write({"x": part, "y2": part}) == "x:\n  a: 1\ny2:\n  a: 1\n"


def test_numbers_that_json_does_not_have_are_not_written() -> None:
    with pytest.raises(ValueError, match="JSON has no such number"):
        yamltext.write({"a": float("nan")})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("No", False),
        ("ON", True),
        ("n", False),
        ("true", True),
        ("tRue", "tRue"),
        ("~", None),
        ("", None),
        ("0777", 511),
        ("0o17", 15),
        ("08", 8),
        ("-0x1f", -31),
        ("0b11", 3),
        ("0X1F", 31),
        ("0O17", 15),
        ("0B11", 3),
        ("1_000", 1000),
        ("_1", "_1"),
        ("1e3", 1000),
        (".5", 0.5),
        ("1.5", 1.5),
        ("1e400", "1e400"),
        ("2001-01-01", "2001-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("190:20:30", "190:20:30"),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("! 5", "5"),
        ("|\n  x\n   y\n", "x\n y\n"),
    ],
)
def test_plain_words_mean_what_they_mean_to_kubectl(text: str, value: Any) -> None:
    assert yamltext.read(f"a: {text}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", r"the key 'a' is duplicated \(line 2, column 1\)"),
        ("1: a", "the key 1 is not a string: put it in quotes"),
        ("y: a", "the key True is not a string"),
        ("? [a]\n: b", "is not a string"),
        ("a: .nan", "not a number that JSON has"),
        ("a: -.inf", "not a number that JSON has"),
        ("a: 9223372036854775808", "does not fit into 64 bits"),
        ("a: &x 1", "anchors and aliases are not allowed here"),
        ("a: *x", "anchors and aliases are not allowed here"),
        ("a: !!python/object/apply:os.system [echo]", "has no meaning in JSON: remove it"),
        ("a: !!binary aGk=", "has no meaning in JSON: remove it"),
        ("!!set {a}", "has no meaning in JSON: remove it"),
        ("a: !!int x", "is not of the type int"),
        ("a: [", "not YAML: .*line 2"),
        ("a: b: c", "not YAML"),
        ("\tx: 1", "not YAML"),
        ("a: \x01", "not YAML"),
        ("a: 1\n---\nb: 2", "2 documents where one is expected"),
        ("[" * 65 + "]" * 65, "deeper than 64 levels"),
        ("- " * 65 + "a", "deeper than 64 levels"),
        ("? " * 65 + "a", "deeper than 64 levels"),
    ],
)
def test_what_json_cannot_say_is_refused(text: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        yamltext.read(text)


def test_bytes_are_utf_8() -> None:
    assert yamltext.read("a: é".encode()) == {"a": "é"}
    assert yamltext.read("\ufeffa: 1".encode()) == {"a": 1}
    with pytest.raises(DecodeError, match="not UTF-8"):
        yamltext.read(b"a: \xff")
    with pytest.raises(DecodeError, match="not UTF-8"):
        yamltext.read("a: \ud800")


def test_empty_documents_are_passed_over() -> None:
    assert yamltext.read("") is None
    assert yamltext.read("# nothing\n---\n") is None
    assert yamltext.read_all("---\na: 1\n---\n---\nb: 2\n---\n# end\n") == [{"a": 1}, {"b": 2}]


def test_aliases_are_values_of_their_own_where_they_are_allowed() -> None:
    document = yamltext.read("a: &x {k: [1]}\nb: *x\nc:\n  <<: *x\n  z: 1\n", aliases=True)
    assert document == {"a": {"k": [1]}, "b": {"k": [1]}, "c": {"k": [1], "z": 1}}
    assert document["a"]["k"] is not document["b"]["k"]
    nested = yamltext.read("a: &x [1]\nb: &z [*x, *x]\nc: *z\n", aliases=True)
    assert nested == {"a": [1], "b": [[1], [1]], "c": [[1], [1]]}


@pytest.mark.parametrize(
    ("text", "message"), [("a: *x", "no anchor"), ("a: &x [*x]", "no anchor"), ("<<: 5", "only mappings")]
)
def test_aliases_that_lead_nowhere_are_refused(text: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        yamltext.read(text, aliases=True)


LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
BOMBS = [
    LAUGHS,
    "a: &a [_]\n" + "b: *a\n" * 50_000,
    "[" * 100_000,
    "{" * 100_000,
    "- " * 100_000,
    "? " * 100_000,
    "{a: " * 100_000,
    "&a " * 1000,
    "!!str " * 1000,
]


@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_bombs_are_refused_at_once(bomb: str) -> None:
    with counted_lines() as lines, pytest.raises(DecodeError):
        yamltext.read(bomb)
    assert lines.count < 10_000


def test_aliases_are_counted_in_full() -> None:
    with pytest.raises(DecodeError, match="more than 20000 values"):
        yamltext.read(LAUGHS, aliases=True)


def test_size_is_limited() -> None:
    with pytest.raises(DecodeError, match="at most 5 are read"):
        yamltext.read("a: bcd", limits=DocumentLimits(size=5))


def test_the_limits_of_a_file_are_those_of_each_document_and_of_each_item_of_a_list() -> None:
    limits = DocumentLimits(size=30)
    assert yamltext.read_all("---\na: bcd\n" * 20, limits=limits) == [{"a": "bcd"}] * 20
    items = "items:\n" + "- {a: bcd}\n" * 20
    assert yamltext.read_all(f"{items}kind: List\n", limits=limits) == [{"items": [{"a": "bcd"}] * 20, "kind": "List"}]
    long = "x" * 40
    for text in (f"---\na: b\n---\na: {long}\n", f"{items}- {long}\n", f"a: {long}\n{items}", f"{items}a: {long}\n"):
        with pytest.raises(DecodeError, match=r"bytes; at most 30 are read \(line "):
            yamltext.read_all(text, limits=limits)
    values = f"[{'1,' * 60_000}]"
    assert len(yamltext.read_all(f"---\n{values}\n" * 2)) == 2
    assert len(yamltext.read_all(f"items:\n- {values}\n- {values}\n")[0]["items"]) == 2
    with pytest.raises(DecodeError, match="the document has more than 100000 values"):
        yamltext.read_all(f"a: {values}\nb: {values}\n")


def test_a_file_is_limited_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltext, "MAX_FILE_VALUES", 10)
    with pytest.raises(DecodeError, match="the file has more than 10 values"):
        yamltext.read_all("---\n[1, 2, 3, 4]\n" * 3)
    monkeypatch.setattr(limits, "MAX_FILE_SIZE", 10)
    with pytest.raises(DecodeError, match="the file has 11 bytes; at most 10 are read: split it"):
        yamltext.read_all("a: " + "b" * 8)


def test_a_file_is_read_in_time_that_grows_with_its_size() -> None:
    def work(count: int) -> int:
        with counted_lines() as lines:
            yamltext.read_all("---\nkind: A\nmetadata: {name: a}\n" * count)
        return lines.count

    assert work(400) < 4.4 * work(100)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("*", "'*'"),
        ("&a", "'&a'"),
        ("=", "="),
        ("<<", "<<"),
        ("", '""'),
        ("no", '"no"'),
        ("null\n", "|\n  null"),
        ("\nlead", "|2-\n\n  lead"),
        ("keep\n\n", "|+\n  keep\n"),
        ("blank \nend", '"blank \\nend"'),
    ],
)
def test_a_text_is_quoted_as_kube_apiserver_does_it(text: str, written: str) -> None:
    assert yamltext.write_as_kubernetes({"a": text}).decode() == f"a: {written}\n"
