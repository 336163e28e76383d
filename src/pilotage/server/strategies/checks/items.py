"""Lists: a check for each item, and duplicate items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sized
from typing import Any, Concatenate, ParamSpec, TypeVar

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, too_many

P = ParamSpec("P")
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def validate_each(
    items: Iterable[Any] | None,
    path: str,
    check: Callable[Concatenate[Any, str, P], Iterable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Iterator[T]:
    """What a check finds, causes or warnings, in the items of a list at `path`. An absent list has none."""
    for index, item in enumerate(items or ()):
        yield from check(item, f"{path}[{index}]", *args, **kwargs)


def validate_at_most(items: Sized, path: str, most: int) -> Iterator[Cause]:
    """A list of at most `most` items."""
    if len(items) > most:
        yield too_many(path, len(items), most)


def validate_unique(value: H, path: str, seen: set[H]) -> Iterator[Cause]:
    """A value that is not among those `seen`, which it is added to."""
    if value in seen:
        yield duplicate(path, value)
    seen.add(value)


def repeated(values: Iterable[H]) -> Iterator[tuple[int, H]]:
    """The values that occurred earlier in a list, each with its index."""
    seen: set[H] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)
