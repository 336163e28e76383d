from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from pilotage.errors import PatchTooLarge
from pilotage.meta.documents import equal
from pilotage.meta.patches import merge, merge_diff
from tests.meta.patches.values import VALUES, WITHOUT_NULL


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [  # the table of RFC 7386's appendix
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_patches_have_the_results_of_the_standard(document: Any, patch: Any, result: Any) -> None:
    assert merge.apply(document, patch) == result


@given(VALUES, VALUES)
def test_neither_the_document_nor_the_patch_is_changed(document: Any, patch: Any) -> None:
    before, original = copy.deepcopy(document), copy.deepcopy(patch)
    merge.apply(document, patch)
    assert equal(document, before)
    assert equal(patch, original)


@given(VALUES, VALUES)
def test_a_patch_applied_twice_does_no_more_than_once(document: Any, patch: Any) -> None:
    once = merge.apply(document, patch)
    assert equal(merge.apply(once, patch), once)


@given(VALUES, WITHOUT_NULL)
def test_applying_a_diff_gives_what_it_was_made_for(before: Any, after: Any) -> None:
    assert equal(merge.apply(before, merge_diff(before, after)), after)


@given(WITHOUT_NULL)
def test_the_diff_of_the_same_object_is_empty(document: Any) -> None:
    if isinstance(document, dict):
        assert merge_diff(document, copy.deepcopy(document)) == {}


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 2]}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": True}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_a_diff_contains_only_what_changed(before: Any, after: Any, patch: Any) -> None:
    assert merge_diff(before, after) == patch


def test_a_diff_can_set_null_in_a_list_and_not_in_an_object() -> None:
    assert merge.apply({}, merge_diff({}, {"a": [None, [None]]})) == {"a": [None, [None]]}
    assert merge.apply({}, {"a": [{"b": None, "c": [{"d": None, "e": 1}]}]}) == {"a": [{"c": [{"e": 1}]}]}
    assert merge.apply({"a": 1}, merge_diff({"a": 1}, {"a": None})) == {}


def test_a_patch_that_is_too_deep_is_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(PatchTooLarge, match="too deeply"):
        merge.apply({}, deep)
