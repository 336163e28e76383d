"""The examples of RFC 6902's appendix, and what kube-apiserver accepts beyond it: document, operations, result."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import MalformedPatch, PatchDoesNotApply, PatchError, PatchTooLarge
from pilotage.meta.documents import equal
from pilotage.meta.patches import json_diff, json_patch
from tests.meta.patches.values import VALUES


def op(name: str, path: str, **members: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **members}


def add(path: str, value: Any) -> dict[str, Any]:
    return op("add", path, value=value)


def move(source: str, path: str) -> dict[str, Any]:
    return op("move", path, **{"from": source})


def duplicate(source: str, path: str) -> dict[str, Any]:
    return op("copy", path, **{"from": source})


def check(path: str, value: Any) -> dict[str, Any]:
    return op("test", path, value=value)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"foo": "bar"}, [add("/baz", "qux")], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [add("/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [op("replace", "/baz", value="boo")], {"baz": "boo", "foo": "bar"}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [move("/foo/waldo", "/qux/thud")],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [move("/foo/1", "/foo/3")],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [check("/baz", "qux"), check("/foo/1", 2)],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        ({"foo": "bar"}, [add("/child", {"grandchild": {}})], {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": "bar"}, [op("add", "/baz", value="qux", xyz=123)], {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, [check("/~01", 10)], {"/": 9, "~1": 10}),
        ({"foo": ["bar"]}, [add("/foo/-", ["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
        # beyond the appendix
        ({"a": [1, 2]}, [op("remove", "/a/-1"), add("/a/-1", 3)], {"a": [1, 3]}),
        ({"a": [1, 2]}, [op("replace", "/a/-2", value=0), check("/a/-1", 2)], {"a": [0, 2]}),
        ({"a": {}}, [check("/a/b", None), add("/a/b", 1)], {"a": {"b": 1}}),
        ({"a": 1}, [op("replace", "/b", value=2)], {"a": 1, "b": 2}),
        ({"a": 1}, [duplicate("/b", "/c")], {"a": 1, "c": None}),
        ({"a": 1}, [op("add", "/b")], {"a": 1, "b": None}),
        ({"a": {}}, [op("test", "/a/b")], {"a": {}}),
        ({"a": [1, 2]}, [op("remove", "/a/01")], {"a": [1]}),
        ({"a": [1, 2]}, [op("remove", "/a/+1")], {"a": [1]}),
        ({"a": 1}, [op("remove", "x/a")], {}),
        ({"a~2": 1, "a~": 2}, [op("remove", "/a~2"), op("remove", "/a~")], {}),
        ({"a": 1}, [op("replace", "", value=None)], None),
        ({"a": 1}, [add("/a", None)], {"a": None}),
        ({"a": 1}, [move("/a", "/a")], {"a": 1}),
        ({"a": [1, 2]}, [add("/a/2", 3)], {"a": [1, 2, 3]}),
        ({"": 1, "a/b": 2}, [op("remove", "/"), op("remove", "/a~1b")], {}),
        ({"-": 1, "01": 2}, [op("remove", "/-"), op("remove", "/01")], {}),
        ({"a": {"b": 1}}, [duplicate("/a", "/a/c")], {"a": {"b": 1, "c": {"b": 1}}}),
        ({"a": {"b": 1}}, [duplicate("/a", "/c"), op("replace", "/c/b", value=2)], {"a": {"b": 1}, "c": {"b": 2}}),
        (
            {"a": [1, {"x": 1.0}]},
            [check("/a", [1, {"x": 1.0}]), check("", {"a": [1, {"x": 1.0}]})],
            {"a": [1, {"x": 1.0}]},
        ),
        ({"a": [1, 2, 3]}, [move("/a/0", "/a/-")], {"a": [2, 3, 1]}),
        ([1, 2], [op("remove", "/0")], [2]),
        ({}, [], {}),
    ],
)
def test_operations_do_what_kubernetes_does(document: Any, patch: list[Any], result: Any) -> None:
    before, operations = copy.deepcopy(document), copy.deepcopy(patch)
    assert json_patch.apply(document, patch) == result
    assert document == before
    assert patch == operations


@pytest.mark.parametrize(
    ("document", "patch", "index", "path"),
    [
        ({"foo": "bar"}, [add("/baz/bat", "qux")], 0, "/baz"),
        ({"baz": "qux"}, [check("/baz", "bar")], 0, "/baz"),
        ({"/": 9, "~1": 10}, [check("/~01", "10")], 0, "/~01"),
        ({"a": 1}, [check("/a", 1), op("remove", "/b")], 1, "/b"),
        ({"a": 1}, [op("replace", "/b/c", value=1)], 0, "/b"),
        ({"a": 1}, [check("/a", 1.0)], 0, "/a"),
        ({"a": {"b": 1}}, [move("/a", "/a/b")], 0, "/a"),
        ({"a": 1}, [add("/a/b", 1)], 0, "/a/b"),
        ({"a": True}, [check("/a", 1)], 0, "/a"),
        ({"a": None}, [check("/a", False)], 0, "/a"),
        ({"a": [1]}, [check("/a", [1, 2])], 0, "/a"),
        ({"a": {"b": 1}}, [check("/a", {"c": 1})], 0, "/a"),
        ({}, [check("/a/b", None)], 0, "/a"),
        ({"a": [1]}, [add("/a/2", 1)], 0, "/a/2"),
        ({"a": [1]}, [op("remove", "/a/1")], 0, "/a/1"),
        ({"a": [1]}, [op("remove", "/a/-")], 0, "/a/-"),
        ({"a": [1]}, [op("replace", "/a/-", value=1)], 0, "/a/-"),
        ({"a": [1]}, [op("remove", "/a/-2")], 0, "/a/-2"),
        ({"a": [1, 2]}, [op("remove", "/a/1e0")], 0, "/a/1e0"),
        ({"a": [1, 2]}, [op("remove", "/a/\u0661")], 0, "/a/\u0661"),
        ({"a": [1]}, [op("remove", "/a/" + "9" * 5000)], 0, "/a/" + "9" * 5000),
        ({"a": 1}, [move("/b", "/c")], 0, "/b"),
        ({"a": 1}, [move("/b", "/b")], 0, "/b"),
        ({"a": 1}, [duplicate("/b/c", "/c")], 0, "/b"),
    ],
)
def test_what_does_not_fit_the_document_is_refused_with_its_place(
    document: Any, patch: list[Any], index: int, path: str
) -> None:
    before = copy.deepcopy(document)
    with pytest.raises(PatchDoesNotApply, match=f"^operation {index}: ") as caught:
        json_patch.apply(document, patch)
    assert (caught.value.operation, caught.value.path) == (index, path)
    assert len(str(caught.value)) < 400
    assert document == before


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({}, "list of operations"),
        ("x", "list of operations"),
        ([1], "operation 0: an operation is an object"),
        ([{}], "op must be one of add, remove, replace, move, copy, test"),
        ([op("spin", "/a")], "not 'spin'"),
        ([{"op": ["add"], "path": ""}], "op must be one of"),
        ([{"op": "remove"}], "path must be a string"),
        ([{"op": "remove", "path": 1}], "path must be a string"),
        ([op("move", "/a")], "from must be a string"),
        ([op("remove", "a")], "has no slash"),
        ([op("remove", "")], "remove needs a path within the document"),
        ([add("", {})], "add needs a path within the document"),
        ([move("", "/a")], "move needs a path within the document"),
    ],
)
def test_what_is_no_patch_is_refused(patch: Any, words: str) -> None:
    with pytest.raises(MalformedPatch) as caught:
        json_patch.apply({"a": {"b": 1}}, patch)
    assert words in str(caught.value)


def test_a_malformed_operation_is_found_before_any_is_applied() -> None:
    with pytest.raises(MalformedPatch, match="operation 1"):
        json_patch.apply({}, [op("remove", "/missing"), op("spin", "")])


def test_operations_and_copies_are_bounded() -> None:
    assert json_patch.apply({}, [add("/a", 1)] * json_patch.MAX_OPERATIONS) == {"a": 1}
    with pytest.raises(PatchTooLarge, match="10000 operations"):
        json_patch.apply({}, [add("/a", 1)] * (json_patch.MAX_OPERATIONS + 1))
    doubling = [op("copy", "/a/-", **{"from": "/a"})] * 40
    with pytest.raises(PatchTooLarge, match="copies more than"):
        json_patch.apply({"a": ["x" * 1000]}, doubling)


def test_a_pointer_of_megabytes_costs_no_more_than_reading_it() -> None:
    with pytest.raises(PatchDoesNotApply) as caught:
        json_patch.apply({"a": [0]}, [op("remove", "/a" + "/0" * 1_000_000)])
    assert len(str(caught.value)) < 400


def test_a_document_that_grows_too_deep_is_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(PatchTooLarge, match="too deeply"):
        json_patch.apply({}, [add("/a", deep)])
    with pytest.raises(PatchTooLarge, match="too deeply"):
        json_patch.apply(
            {}, [add("/a", {}), *[move("/a", "/b"), add("/a", {}), move("/b", "/a/a")] * 2000, duplicate("/a", "/c")]
        )


def test_values_of_the_patch_are_not_shared_with_the_result() -> None:
    value: dict[str, Any] = {"x": []}
    result = json_patch.apply({}, [add("/a", value), add("/a/x/-", 1), add("/b", value)])
    assert result == {"a": {"x": [1]}, "b": {"x": []}}
    assert value == {"x": []}


@given(VALUES, VALUES)
def test_applying_a_diff_gives_what_it_was_made_for(before: Any, after: Any) -> None:
    patch = json_diff(before, after)
    assert equal(json_patch.apply(before, patch), after)
    assert json_diff(before, before) == []


@given(
    st.dictionaries(st.sampled_from(["a", "b/c", "~", ""]), VALUES, max_size=3),
    VALUES,
    st.sampled_from(["a", "b/c", "~", ""]),
)
def test_remove_undoes_add_and_moving_back_undoes_move(document: dict[str, Any], value: Any, key: str) -> None:
    path = json_patch.pointer_text((key,))
    assert json_patch.pointer(path) == (key,)
    added = json_patch.apply(document, [add(path, value)])
    absent = {name: item for name, item in document.items() if name != key}
    assert json_patch.apply(added, [op("remove", path)]) == absent
    assert json_patch.apply(added, [move(path, "/elsewhere"), move("/elsewhere", path)]) == added
    assert json_patch.apply(document, [add("/list", [1, 2]), add("/list/1", value), op("remove", "/list/1")])[
        "list"
    ] == [1, 2]


@given(
    VALUES,
    st.lists(
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "move", "copy", "test", "replace"]),
                "path": st.text("/a0-~1", max_size=5),
                "from": st.text("/a0", max_size=4),
                "value": VALUES,
            }
        ),
        max_size=4,
    ),
)
def test_no_patch_changes_its_inputs_or_fails_in_another_way(document: Any, patch: list[Any]) -> None:
    before, operations = copy.deepcopy(document), copy.deepcopy(patch)
    with contextlib.suppress(PatchError):
        json_patch.apply(document, patch)
    assert equal(document, before)
    assert equal(patch, operations)
