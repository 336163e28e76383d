"""Lists: a check for each item, and duplicate items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from typing import Any, Concatenate, ParamSpec, TypeVar

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, too_many

P = ParamSpec("P")
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def each(
    items: Iterable[Any] | None,
    path: str,
    check: Callable[Concatenate[Any, str, P], Iterable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Iterator[T]:
    """What a check finds, causes or warnings, in the items of a list at `path`. An absent list has no causes."""
    for index, item in enumerate(items or ()):
        yield from check(item, f"{path}[{index}]", *args, **kwargs)


def at_most(items: Sized, path: str, most: int) -> Iterator[Cause]:
    """A list of at most `most` items."""
    if len(items) > most:
        yield too_many(path, len(items), most)


def few(
    items: Sequence[Any],
    path: str,
    most: int,
    check: Callable[Concatenate[Any, str, P], Iterable[Cause]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Iterator[Cause]:
    """What a check finds in the items of a list of at most `most` items; the items of a longer one are not checked."""
    if len(items) > most:
        yield too_many(path, len(items), most)
    else:
        yield from each(items, path, check, *args, **kwargs)


def distinct(
    items: Iterable[Any],
    path: str,
    check: Callable[Concatenate[Any, str, P], Iterable[Cause]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Iterator[Cause]:
    """What a check finds in the items of a list, each of which occurs once."""
    seen: set[Any] = set()
    for index, item in enumerate(items):
        yield from check(item, f"{path}[{index}]", *args, **kwargs)
        yield from unique(item, f"{path}[{index}]", seen)


def wildcard(items: Sequence[str], path: str, what: str) -> Iterator[Cause]:
    """A list that has no items besides `*`, if it has that; `what` the items are."""
    if len(items) > 1 and "*" in items:
        yield invalid(path, items, f"if '*' is present, must not specify other {what}", whole=True)


def unique(value: H, path: str, seen: set[H]) -> Iterator[Cause]:
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
