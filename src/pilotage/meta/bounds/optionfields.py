"""Fields of options that are durations and counts, with their bounds. They are checked when the options are made.

@dataclass(frozen=True, slots=True)
class PollOptions:
    interval: SecondsField = seconds_field(10.0, zero=False)
    tries: int = count_field(3, least=1)

    def __post_init__(self) -> None:
        check_fields(self)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from pilotage.meta.bounds.amounts import count, seconds, whole_seconds

if TYPE_CHECKING:
    from pilotage.meta.bounds.amounts import Seconds

CHECK = "check"
"""The key of a field's check in its metadata."""


class SecondsField:
    """The type of a field that is given as `Seconds`, and is a number of seconds when it is read."""

    if TYPE_CHECKING:  # type checkers take a field's two types from a descriptor; the fields themselves are plain

        def __get__(self, instance: object, owner: Any = None) -> float: ...
        def __set__(self, instance: object, value: Seconds) -> None: ...


class OptionalSecondsField:
    """The same for a duration that may be None."""

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: Any = None) -> float | None: ...
        def __set__(self, instance: object, value: Seconds | None) -> None: ...


class WholeSecondsField:
    """The same for a duration that Kubernetes has as an integer."""

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: Any = None) -> int: ...
        def __set__(self, instance: object, value: Seconds) -> None: ...


def seconds_field(
    default: Any = MISSING,
    *,
    optional: bool = False,
    zero: bool = True,
    infinite: bool = False,
    negative: bool = False,
) -> Any:
    """A duration with the bounds of `seconds`. With `optional`, or None as its default, it may be None."""
    return _field(default, partial(seconds, zero=zero, infinite=infinite, negative=negative), optional)


def whole_seconds_field(default: int, *, least: int = 0, most: int | None = None) -> Any:
    """A duration with the bounds of `whole_seconds`."""
    return _field(default, partial(whole_seconds, least=least, most=most), optional=False)


def count_field(default: Any = MISSING, *, optional: bool = False, least: int = 0, most: int | None = None) -> Any:
    """A count with the bounds of `count`. With `optional`, or None as its default, it may be None."""
    return _field(default, partial(count, least=least, most=most), optional)


def check_fields(options: Any) -> None:
    """Check the durations and counts of a dataclass, and store durations as seconds. Called as its `__post_init__`."""
    for each in fields(options):
        check = each.metadata.get(CHECK)
        if check is not None:
            given = getattr(options, each.name)
            checked = check(given, each.name)
            if checked is not given:
                object.__setattr__(options, each.name, checked)  # the class is frozen


def _field(default: Any, check: Callable[[Any, str], Any], optional: bool) -> Any:
    if optional or default is None:
        return field(default=default, metadata={CHECK: partial(_unless_none, check)})
    return field(default=default, metadata={CHECK: check})


def _unless_none(check: Callable[[Any, str], Any], given: Any, name: str) -> Any:
    return None if given is None else check(given, name)
