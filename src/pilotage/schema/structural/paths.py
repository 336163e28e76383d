"""Paths in a document: linked pairs while a document is checked, written out only for a problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.errors import Cause

Path = tuple[Any, Any] | None
"""The parent's path and a step: a property's name, a `MapKey` or an index. None is the root."""
Steps = tuple[str | int, ...]

MAXIMUM_REPORTED = 1000
"""How many problems, or dropped fields, of one document are reported. A hostile one of 3 MiB has a million."""
MAXIMUM_SEARCH = 2e9
"""Nanoseconds of pattern searches in one document, by `search_cost`. Usual patterns take 1 % of it for each MiB."""
_LONGEST_STEP = 320
"""How many characters of a key a path shows. The key of a label has 317 at most."""


class MapKey(str):
    """A key under `additionalProperties`: `labels[app]` in most messages, `labels.app` in messages about the schema."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong, before ratcheting: an update may keep a problem in a part that it does not change.

    `spine` is the number of steps that ratcheting compares with the old object. It does not compare inside allOf,
    anyOf, oneOf and not.
    """

    steps: Steps
    cause: Cause
    spine: int
    ratchets: bool = True


class TooManyProblemsError(Exception):
    """The limit of reported problems is reached, and validation stops."""


class SearchBudget(msgspec.Struct):
    """The nanoseconds that are left for pattern searches in one document."""

    left: float = MAXIMUM_SEARCH


class Problems(list[Problem]):
    """A list of at most `most` problems: the append that fills it raises TooManyProblemsError."""

    __slots__ = ("_most", "search_budget")

    def __init__(self, most: float = MAXIMUM_REPORTED, search_budget: SearchBudget | None = None) -> None:
        self._most = most
        self.search_budget = search_budget or SearchBudget()

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) >= self._most:
            raise TooManyProblemsError

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
    """The path as text: `spec.ports[0].name`. Keys of maps are written like properties, or as `labels[app]`."""
    parts: list[str] = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif keys_in_brackets and isinstance(step, MapKey):
            parts.append(f"[{step[:_LONGEST_STEP]}]")
        else:  # as in Kubernetes, a key of a map at the root has a dot before it
            dot = "." if parts or isinstance(step, MapKey) else ""
            parts.append(f"{dot}{step[:_LONGEST_STEP]}")
    return "".join(parts)
