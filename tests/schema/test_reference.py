from __future__ import annotations

from typing import Any

from pilotage.schema.reference import reference


def page(schema: dict[str, Any]) -> list[str]:
    """The lines of a page about one field."""
    version = {"name": "v1", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"field": schema}}}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing"}, "versions": [version]}
    return reference([{"metadata": {"name": "things.example.com"}, "spec": spec}]).splitlines()


def test_a_text_with_bars_and_lines_stays_in_its_cell() -> None:
    (row,) = [line for line in page({"type": "string", "description": "a | b\nc\n\nd"}) if "`.field`" in line]
    assert row == "| `.field` | string |  |  |  | a \\| b c<br>d |"


def test_a_pattern_with_backticks_and_bars_is_still_code() -> None:
    (row,) = [line for line in page({"type": "string", "pattern": "^(`|x)$"}) if "`.field`" in line]
    assert row == "| `.field` | string |  |  | matches ``^(`\\|x)$`` |  |"


def test_limits_of_items_have_a_line_of_their_own_and_plain_items_have_none() -> None:
    lines = page({"type": "array", "items": {"type": "string", "maxLength": 3}})
    assert "| `.field[]` | string |  |  | length at most 3 |  |" in lines
    assert not [line for line in page({"type": "array", "items": {"type": "string"}}) if "[]" in line]
