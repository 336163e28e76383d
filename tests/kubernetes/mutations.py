"""Random changes of documents, each of the right type."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pilotage.meta.documents import Document, copied

BASES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "server" / "recordings" / "bases.json").read_text())
TEXTS = ("", "x", "None", "10.0.0.1", "a" * 300, "\x00", "50%", "*", "1Gi", "..", "a/b/c", "ä", "TZ=UTC")
NUMBERS = (0, -1, 1, 2**31 - 1, -(2**31), 65536)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All paths below the metadata."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        if path or key not in ("metadata", "apiVersion", "kind"):
            yield (*path, key)
            yield from places(child, (*path, key))


def mutated(document: Document, chance: random.Random) -> Document:
    result: Document = copied(document)
    for _ in range(chance.randint(1, 4)):
        found = list(places(result))
        if not found:
            break
        *parents, last = chance.choice(found)
        holder = result
        for step in parents:
            holder = holder[step]
        value = holder[last]
        if chance.random() < 0.3:
            del holder[last]
        elif isinstance(value, bool):
            holder[last] = not value
        elif isinstance(value, str):
            holder[last] = chance.choice(TEXTS)
        elif isinstance(value, int):
            holder[last] = chance.choice(NUMBERS)
        elif isinstance(value, list):
            holder[last] = chance.choice([[], value * 2, value[::-1]])
        elif isinstance(value, dict):
            holder[last] = {}
    return result
