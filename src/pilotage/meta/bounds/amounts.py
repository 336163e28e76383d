"""Durations and counts that callers give: one type and one check, so that an error comes where they are given."""

from __future__ import annotations

from datetime import timedelta

from pilotage.errors import InvalidDefinition

TYPE_CHECKING = False  # a command that prints a table loads this, and no typing
if TYPE_CHECKING:
    from typing import Any

Seconds = float | timedelta
"""A duration: a number of seconds or a timedelta, which a `Duration` is, too."""

_INFINITE = float("inf")


def seconds(given: Seconds, name: str, *, zero: bool = True, infinite: bool = False, negative: bool = False) -> float:
    """A duration in seconds. Raises InvalidDefinition, with the name and the value, for anything else.

    `zero`, `infinite` and `negative` are whether these are allowed.
    """
    amount = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        least = -_INFINITE if negative else 0.0
        if least <= amount <= _INFINITE and (zero or amount) and (infinite or abs(amount) != _INFINITE):
            return amount
    bounds = "" if negative else ", 0 or more" if zero else ", more than 0"
    endless = ", or math.inf" if infinite else ""
    raise InvalidDefinition(f"{name}={given!r}: must be seconds or a timedelta{bounds}{endless}")


def optional_seconds(given: Seconds | None, name: str) -> float | None:
    """The same for a duration that may be None."""
    return None if given is None else seconds(given, name)


def whole_seconds(given: Seconds, name: str, *, least: int = 0, most: int | None = None) -> int:
    """The same for a duration that Kubernetes has as an integer."""
    amount = seconds(given, name)
    if amount == int(amount) and least <= amount and (most is None or amount <= most):
        return int(amount)
    bounds = f", {least} or more" if most is None else f" from {least} to {most}"
    raise InvalidDefinition(f"{name}={given!r}: must be whole seconds{bounds}")


def optional_whole_seconds(given: Seconds | None, name: str) -> int | None:
    """The same for one that may be None."""
    return None if given is None else whole_seconds(given, name)


def store_seconds(options: Any, *names: str) -> None:
    """Check the durations of a frozen msgspec Struct, and store them as seconds. Called in its `__post_init__`."""
    from msgspec.structs import force_setattr

    for name in names:
        given = getattr(options, name)
        checked = seconds(given, name)
        if checked is not given:
            force_setattr(options, name, checked)


def count(given: int, name: str, *, least: int = 0, most: int | None = None) -> int:
    """A whole number from `least` to `most`. Raises InvalidDefinition, as `seconds` does."""
    if isinstance(given, int) and not isinstance(given, bool) and given >= least and (most is None or given <= most):
        return given
    bounds = f", {least} or more" if most is None else f" from {least} to {most}"
    raise InvalidDefinition(f"{name}={given!r}: must be a whole number{bounds}")
