"""Counts executed lines: work that is the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass(slots=True)
class Lines:
    """The number of lines of Python executed in the block so far."""

    count: int = 0


@contextmanager
def counted_lines() -> Iterator[Lines]:
    """Count the lines that this thread executes in the block. Slow: use it for thousands of lines, not millions."""
    lines = Lines()

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            lines.count += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield lines
    finally:
        sys.settrace(before)
