"""Lists: the same check for each of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Concatenate, ParamSpec

from pilotage.errors import Cause

P = ParamSpec("P")


def validate_each(
    items: Iterable[Any] | None,
    path: str,
    check: Callable[Concatenate[Any, str, P], Iterable[Cause]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Iterator[Cause]:
    """What a check finds in the items of a list at `path`. An absent list has none."""
    for index, item in enumerate(items or ()):
        yield from check(item, f"{path}[{index}]", *args, **kwargs)
