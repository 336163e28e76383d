"""Paths of fields, as changes have them and as people write them: `spec.containers[main].image`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

_SEGMENT = r"""\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]|\.?((?:[^.\[\\]|\\.)+)"""
_MOST = 100
"""Segments of a path that are compared."""


def segments(path: str) -> tuple[str, ...]:
    """The names, keys and indexes of a path. A name with a dot is quoted (`metadata.labels['a.b/c']`), or has
    backslashes (`metadata.labels.a\\.b/c`), as for kubectl."""
    text = path.strip().removeprefix("{").removesuffix("}")
    found = [next(filter(None, match.groups()), "") for match in re.finditer(_SEGMENT, text)]
    return tuple(re.sub(r"\\(.)", r"\1", each) for each in found[:_MOST])


def touches(changed: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a change of one path changes the field of another: it is the same, above it, or below it."""
    return all(one == other for one, other in zip(changed, wanted, strict=False))


def value_at(document: Any, path: Sequence[str]) -> Any:
    """The value at a path; UNSET where there is none."""
    for segment in path:
        if isinstance(document, Mapping):
            document = document.get(segment, UNSET)
        elif isinstance(document, list):
            document = _item(document, segment)
        else:
            return UNSET
    return document


def _item(items: Sequence[Any], segment: str) -> Any:
    """The item of a list with this index, or in which a field has this value."""
    if segment.isdecimal() and int(segment) < len(items):
        return items[int(segment)]
    keyed = (item for item in items if isinstance(item, Mapping) and segment in (item.get("name"), item.get("type")))
    return next(keyed, segment if segment in items else UNSET)
