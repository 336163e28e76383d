"""Paths of fields as definitions have them: the `fieldPath` of a rule, and selectable fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import MapKey, Steps

_PATH_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'?|[.\[\]]|[^.\[\]]+")
"""A delimiter of a `fieldPath`, a text in quotes, or what is between delimiters."""


def field_steps(path: str, node: Node) -> Steps:
    """Parse a `fieldPath` (`.spec.x`, `.labels['a.b']`). Raises ValueError if the schema has no such field."""
    steps: list[str | int] = []
    tokens = iter(_PATH_TOKEN.findall(path))
    for sign in tokens:
        if sign not in (".", "["):
            raise ValueError(f"expected [ or . but got: {sign}")
        name = _path_token(tokens)
        if sign == "[":
            if len(name) < 2 or not name.startswith("'") or not name.endswith("'"):
                raise ValueError(f"expected single quoted string but got {name}")
            name = re.sub(r"\\(.)", r"\1", name[1:-1])
        child = node.properties.get(name)
        if child is None and (node.properties or node.additional is None):
            raise ValueError("does not refer to a valid field")
        if sign == "[" and (closing := _path_token(tokens)) != "]":
            raise ValueError(f"expected ] but got {closing}")
        steps.append(name if child is not None else MapKey(name))
        node = child or node.additional or node
    return tuple(steps)


def _path_token(tokens: Iterator[str]) -> str:
    token = next(tokens, "")
    if not token:
        raise ValueError("unexpected end of JSON path")
    return token
