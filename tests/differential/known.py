"""Differences that have a row in `docs/differences.md`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..server.differential import differing

MESSAGES = r"\.body\.(message|details\.causes\[\d+\]\.message)"


@dataclass(frozen=True)
class Known:
    """A difference at some place of the answers."""

    row: str
    """The first cell of the row."""
    place: str
    real: str
    ours: str = ""

    def covers(self, place: str, real: Any, ours: Any) -> bool:
        return bool(
            re.fullmatch(self.place, place) and re.search(self.real, str(real)) and re.search(self.ours, str(ours))
        )


KNOWN = (
    Known(
        "messages for a body, a number or a time that cannot be parsed",
        r"\.body\.message",
        r"json: |cannot (unmarshal|parse|convert|be handled as)|failed to create typed patch|illegal base64|strconv",
    ),
    Known("objects and lists in messages", MESSAGES, r"Invalid value: (\{|\[|map\[|\"?<the whole|v\d|core\.|&)"),
    Known("objects and lists in messages", MESSAGES, r"immutable[^@]*\n@@ "),
)

Found = tuple[str, Any, Any]


def unknown(real: Any, ours: Any) -> list[Found]:
    """The differences of two answers that no row explains."""
    return [found for found in differing(real, ours) if not any(known.covers(*found) for known in KNOWN)]
