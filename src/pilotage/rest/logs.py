"""The logs of containers: what is asked for, and what has them. No I/O."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol

from pilotage.meta.documents import Document
from pilotage.meta.values import Value


class LogOptions(Value, frozen=True):
    """Which lines of a log are asked for: the fields of PodLogOptions."""

    container: str
    """The name of the container."""
    follow: bool = False
    """Whether lines that are written later are sent, too."""
    previous: bool = False
    """Whether it is the log of the run before the last restart."""
    timestamps: bool = False
    """Whether each line begins with its time."""
    tail_lines: int | None = None
    """How many of the last lines there are at most."""
    since: datetime | None = None
    """The time before which lines are left out."""


class ContainerRuntime(Protocol):
    """Has the logs of containers."""

    no_connections: str
    """Why there are no connections to its containers."""

    def log(self, pod: Document, options: LogOptions) -> tuple[bytes, AsyncIterator[bytes] | None]:
        """The log of a container so far, and with `follow` what is written later. Raises BadRequest."""
