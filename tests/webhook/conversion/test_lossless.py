"""What a conversion loses is kept in an annotation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.webhook.conversion.lossless import (
    MAX_SAVED_BYTES,
    PREFIX,
    TooLargeToSave,
    restored,
    with_saved,
    without_saved,
)

values = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)


def document(version: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": f"g/{version}", "kind": "K", "metadata": {"name": "n"}, **content}


def forward(found: dict[str, Any]) -> dict[str, Any]:
    """To v1, which has `a` only."""
    return document("v1", **{key: value for key, value in found.items() if key == "a"})


def back(found: dict[str, Any]) -> dict[str, Any]:
    return document("v2", **{key: value for key, value in found.items() if key == "a"})


@given(values, values)
def test_without_a_change_the_saved_value_is_restored(base: Any, saved: Any) -> None:
    assert restored(base, base, saved) == saved


@given(values, values)
def test_where_nothing_was_lost_a_change_stays(base: Any, new: Any) -> None:
    assert restored(base, new, base) == new


def test_a_changed_field_keeps_its_new_value_and_the_others_are_restored() -> None:
    base, saved = {"a": 1, "b": {"c": 1}}, {"a": 1, "b": {"c": 1, "d": 2}, "e": 3}
    assert restored(base, {"a": 9, "b": {"c": 8}}, saved) == {"a": 9, "b": {"c": 8, "d": 2}, "e": 3}


def test_a_removed_field_stays_removed() -> None:
    assert restored({"a": 1, "b": 2}, {"b": 2}, {"a": 1, "b": 2, "c": 3}) == {"b": 2, "c": 3}


def test_items_of_a_list_of_the_same_length_are_restored_one_by_one() -> None:
    base, saved = [{"a": 1}, {"a": 2}], [{"a": 1, "b": 1}, {"a": 2, "b": 2}]
    assert restored(base, [{"a": 1}, {"a": 9}], saved) == [{"a": 1, "b": 1}, {"a": 9, "b": 2}]
    assert restored(base, [{"a": 5}], saved) == [{"a": 5}]


def test_an_annotation_that_was_changed_by_hand_is_ignored() -> None:
    found = document("v1", a=1)
    found["metadata"]["annotations"] = {f"{PREFIX}v2": "not JSON", "other": "kept"}
    converted = with_saved(found, back, forward)
    assert converted == document("v2", a=1)


def test_other_annotations_stay() -> None:
    found = document("v1", a=1)
    found["metadata"]["annotations"] = {f"{PREFIX}v2": "{}", "other": "kept"}
    assert without_saved(found)["metadata"]["annotations"] == {"other": "kept"}


def test_a_loss_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(TooLargeToSave, match="K n cannot be converted from g/v2 to g/v1 without a loss"):
        with_saved(document("v2", a=1, b="x" * MAX_SAVED_BYTES), forward, back)


@pytest.mark.parametrize("text", ['{"a": 5}', "{}", '{"spec": 5}'])
def test_an_annotation_that_the_functions_cannot_convert_is_ignored(text: str) -> None:
    def strict(found: dict[str, Any]) -> dict[str, Any]:
        return document("v1", a=found["a"]["b"])

    found = document("v1", a={"b": 1})
    found["metadata"]["annotations"] = {f"{PREFIX}v2": text}
    assert with_saved(found, back, strict)["a"] == {"b": 1}
