"""How commands that run until they are stopped react to signals: one rule for all of them.

The first SIGINT or SIGTERM asks for an orderly end, the second for an immediate one. A signal that was ignored when the
process started stays ignored (SIGINT in the background of a script, everything that `nohup` or a supervisor ignores).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.manager.signals import handled


class Stop:
    """What the signals have asked for so far."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._hurried = False
        self._task = asyncio.current_task()

    @classmethod
    @contextmanager
    def on_signals(cls) -> Iterator[Stop]:
        """Handle signals for the length of the block. The second one cancels it, and the block then ends quietly."""
        stop = cls()
        with handled(stop._received):
            try:
                yield stop
            except asyncio.CancelledError:
                if not stop._hurried:
                    raise

    def _received(self, number: signal.Signals) -> None:
        if self.asked.is_set() and self._task is not None:
            self._hurried = True
            self._task.cancel()
        self.asked.set()
