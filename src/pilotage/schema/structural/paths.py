"""Places in a document, kept as cheap links while all is well and written out when something is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilotage.errors import Cause

Path = tuple[Any, Any] | None
"""The parent's path and a step: a property's name, a `MapKey` or an index. None is the root."""
Steps = tuple[str | int, ...]


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
        if isinstance(step, int) or (keys_in_brackets and isinstance(step, MapKey)):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)
