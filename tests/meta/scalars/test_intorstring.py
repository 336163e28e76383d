from __future__ import annotations

import pytest

from pilotage.errors import BadRequest
from pilotage.meta.scalars.intorstring import scaled_value


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("50%", 10, 5, 5), ("0%", 7, 0, 0), ("150%", 3, 5, 4)],
)
def test_a_percentage_is_a_part_of_the_total_and_a_number_stays(
    value: int | str, total: int, up: int, down: int
) -> None:
    assert scaled_value(value, total, round_up=True) == up
    assert scaled_value(value, total, round_up=False) == down


@pytest.mark.parametrize("value", ["5", "a%", "2.5%", "%", ""])
def test_another_text_is_rejected_with_what_is_expected(value: str) -> None:
    with pytest.raises(BadRequest, match="is neither a number nor a percentage such as '25%'"):
        scaled_value(value, 10, round_up=True)


def test_a_value_that_is_missing_is_rejected_with_what_is_expected() -> None:
    with pytest.raises(TypeError, match="a number or a percentage such as '25%' is needed, not NoneType"):
        scaled_value(None, 10, round_up=True)  # type: ignore[arg-type]
