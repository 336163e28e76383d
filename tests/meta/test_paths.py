from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.paths import is_condition_true, items, part, value_at

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
