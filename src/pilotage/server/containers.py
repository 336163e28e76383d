"""What answers for the containers of Pods: something beside the server may have their logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

from pilotage.meta.documents import Document
from pilotage.meta.values import Value


class LogOptions(Value, frozen=True):
    """Which lines of a log are asked for: the fields of PodLogOptions."""

    container: str
    follow: bool = False
    """Whether lines that are written later are sent, too."""
    previous: bool = False
    """Whether it is the log of the run before the last restart."""
    timestamps: bool = False
    tail_lines: int | None = None
    """How many of the last lines there are at most."""
    since: datetime | None = None


class ContainerRuntime(Protocol):
    """Has the logs of containers."""

    no_connections: str
    """Why there are no connections to its containers."""

    def log(self, pod: Document, options: LogOptions) -> tuple[bytes, AsyncIterator[bytes] | None]:
        """The log of a container so far, and with `follow` what is written later. Raises BadRequest."""


class Containers:
    """The runtime of the containers of Pods; none: there are no containers."""

    def __init__(self) -> None:
        self.runtime: ContainerRuntime | None = None

    @contextmanager
    def run_by(self, runtime: ContainerRuntime) -> Iterator[None]:
        """Let a runtime answer inside the block."""
        before, self.runtime = self.runtime, runtime
        try:
            yield
        finally:
            self.runtime = before
