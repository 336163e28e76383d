"""Signal handling of commands that run until they are stopped.

The first SIGINT or SIGTERM starts a graceful shutdown, the second stops at once. A signal that was ignored when the
process started stays ignored (SIGINT in the background of a script, any signal that `nohup` or a supervisor ignores).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.manager.signals import handled


class Stop:
    """The state of a shutdown: not requested, requested, or immediate."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._immediate = False
        self._task = asyncio.current_task()

    @classmethod
    @contextmanager
    def on_signals(cls) -> Iterator[Stop]:
        """Handle signals inside the block. The second signal cancels it; the block then ends without an exception."""
        stop = cls()
        with handled(stop._on_signal):
            try:
                yield stop
            except asyncio.CancelledError:
                if not stop._immediate:
                    raise

    def _on_signal(self, number: signal.Signals) -> None:
        if self.requested.is_set() and self._task is not None:
            self._immediate = True
            self._task.cancel()
        self.requested.set()
