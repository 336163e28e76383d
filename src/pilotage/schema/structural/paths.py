"""Places in a document, kept as cheap links while all is well and written out when something is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pilotage.errors import Cause

Path = tuple[Any, Any] | None
"""The parent's path and a step: a property's name, a `MapKey` or an index. None is the root."""
Steps = tuple[str | int, ...]

MAXIMUM_TOLD = 1000
"""How many problems, or dropped fields, of one document are told. A hostile one of 3 MiB has a million."""
MAXIMUM_SEARCH = 2e9
"""Nanoseconds, as `search_cost` counts them. What usual patterns take is a hundredth of that for each mebibyte."""
_LONGEST_STEP = 320
"""Characters of a key that a place shows; a label's longest key has 317."""


class MapKey(str):
    """A key that no property names: `labels[app]` in most messages, `labels.app` in those of the schema."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong, before it is known whether an update may keep it.

    An update may keep what it did not change. `spine` is how many steps of the path can be compared with the old
    object: inside allOf, anyOf, oneOf and not nothing is.
    """

    steps: Steps
    cause: Cause
    spine: int
    ratchets: bool = True


class EnoughError(Exception):
    """So much is wrong that nobody looks further."""


class Searching:
    """The nanoseconds that are left for searching a document's texts for patterns."""

    def __init__(self) -> None:
        self.left = MAXIMUM_SEARCH


class Problems(list[Problem]):
    """What was found wrong. Past `most` it ends the search with EnoughError."""

    def __init__(self, most: float = MAXIMUM_TOLD, searching: Searching | None = None) -> None:
        super().__init__()
        self._most = most
        self.searching = searching or Searching()

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) >= self._most:
            raise EnoughError

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)


def steps_of(path: Path) -> Steps:
    steps: list[str | int] = []
    while path is not None:
        path, step = path
        steps.append(step)
    return tuple(reversed(steps))


def dotted(steps: Steps, *, keys_in_brackets: bool = False) -> str:
    """`spec.ports[0].name`; keys of maps as properties, or as `labels[app]`."""
    parts: list[str] = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif keys_in_brackets and isinstance(step, MapKey):
            parts.append(f"[{step[:_LONGEST_STEP]}]")
        else:
            parts.append(f".{step[:_LONGEST_STEP]}" if parts else step[:_LONGEST_STEP])
    return "".join(parts)
