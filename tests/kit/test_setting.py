from __future__ import annotations

import pytest

from pilotage.kit.console.errors import CommandError
from pilotage.kit.setting import settings

SCHEMA = {"type": "object", "properties": {"ratio": {"type": "number"}, "size": {"type": "integer"}}}


@pytest.mark.parametrize(("text", "value"), [("0.5", 0.5), ("1e5", 1e5), ("3", 3), ("-2", -2)])
def test_a_number_is_set_as_it_is_written(text: str, value: float) -> None:
    assert settings([f"ratio={text}"], SCHEMA) == [(("ratio",), value)]


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e400", "much", ""])
def test_what_json_has_no_number_for_is_refused_and_does_not_delete_the_field(text: str) -> None:
    with pytest.raises(CommandError, match=f"--set ratio={text}: must be a number"):
        settings([f"ratio={text}"], SCHEMA)
    with pytest.raises(CommandError, match=f"--set size={text}: must be a whole number"):
        settings([f"size={text}"], SCHEMA)
