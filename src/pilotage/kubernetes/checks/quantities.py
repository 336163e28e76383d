"""Quantities in objects. The decode step has rejected invalid ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.scalars.quantity import Quantity

_LARGEST = 2**63 - 1


def quantity(value: Any) -> Quantity:
    """The quantity of a value; zero if it is absent or not a quantity."""
    try:
        return Quantity(value)
    except (TypeError, ValueError):
        return Quantity(0)


def validate_positive_quantity(value: Any, path: str) -> Iterator[Cause]:
    if quantity(value) <= Quantity(0):
        yield invalid(path, value, "must be greater than zero")


def validate_quantity_not_negative(value: Any, path: str) -> Iterator[Cause]:
    if quantity(value) < Quantity(0):
        yield invalid(path, value, "must be greater than or equal to 0")


def is_fractional(value: Any) -> bool:
    """Whether the amount has thousandths. As in Kubernetes, amounts have a limit, thousandths are truncated to 64
    bits."""
    thousandths = min(quantity(value).milli_value(), _LARGEST * 1000)
    return bool(((thousandths + 2**63) % 2**64 - 2**63) % 1000)
