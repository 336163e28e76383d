from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.paths import is_condition_true, items, part, value_at, with_keys

ODD: list[Any] = [None, {}, [], "text", {"status": None}, {"status": []}, {"status": {"conditions": "text"}}]


@pytest.mark.parametrize("document", ODD)
def test_a_path_into_something_else_has_no_value(document: Any) -> None:
    assert value_at(document, ("status", "conditions", "x")) is None
    assert part(document, "status", "conditions") == {}
    assert items(document, "status", "conditions") == []


def test_values_are_found_at_their_paths() -> None:
    document = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Idle", "status": "False"}]}}
    assert part(document, "status") == document["status"]
    assert items(document, "status", "conditions") == document["status"]["conditions"]
    assert value_at(document, ()) is document
    assert is_condition_true(document, "Ready")
    assert not is_condition_true(document, "Idle")


def test_a_path_of_msgspec_gets_the_keys_whose_value_was_refused() -> None:
    document = {"data": {"a": "text", "n": 3}, "list": [{"x": {"y": "text"}}, {"x": {"z": 1.5}}]}
    assert with_keys(".data[...]", document, "Expected `str`, got `int`") == ".data.n"
    assert with_keys(".list[1].x[...]", document, "Expected `str`, got `float`") == ".list[1].x.z"
    for unknown in ("Expected `str`, got `bool`", "Object missing required field `a`"):
        assert with_keys(".data[...]", document, unknown) == ".data[...]"
