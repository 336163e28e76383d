"""Scalars that may be of more than one type."""

from __future__ import annotations

import re
from typing import TypeAlias

from pilotage.errors import BadRequest

IntOrString: TypeAlias = int | str
"""A number, or a text such as a port's name or a percentage."""

_PERCENTAGE = re.compile(r"([+-]?[0-9]+)%")


def scaled_value(value: IntOrString, total: int, *, round_up: bool) -> int:
    """What a number or a percentage (`maxUnavailable: 25%`) means for a total: the number, or that part of the total.

    A part is rounded up with `round_up`, else down. Raises BadRequest for a text that is not a percentage.
    """
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        message = f"a number or a percentage such as '25%' is needed, not {type(value).__name__}"
        raise TypeError(f"{message}: where a field may be empty, give its default")
    found = _PERCENTAGE.fullmatch(value)
    if found is None:
        raise BadRequest(f"{value!r} is neither a number nor a percentage such as '25%'")
    part = int(found[1]) * total
    return -(-part // 100) if round_up else part // 100
