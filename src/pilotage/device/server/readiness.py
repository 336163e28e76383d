"""The readiness gate: clients cannot read until the providers have registered GPUs, so an empty list means no GPUs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.errors import ServiceUnavailable, StatusDetails

_RETRY_SECONDS = 1


class ReadinessGate:
    """Closed until there is a GPU, a provider reports a complete inventory, or `seconds` have passed; then open for
    good.

    Providers are not blocked: they open it.
    """

    def __init__(self, seconds: float = 30.0) -> None:
        self._seconds = seconds
        self._opened = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        return self._opened.is_set()

    def start(self) -> None:
        """Start the timer."""
        if self._seconds <= 0:
            self.open()
        elif not self.is_open:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self.open)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def open(self) -> None:
        """Open the gate. May be called again."""
        if self.is_open:
            return
        self._opened.set()
        self.stop()
        for listener in self._listeners:
            listener()

    def on_open(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the gate opens; immediately if it is open."""
        self._listeners.append(listener)
        if self.is_open:
            listener()

    async def wait(self) -> None:
        """Wait until the gate is open."""
        await self._opened.wait()

    def check(self) -> None:
        """Raises ServiceUnavailable with a retry delay while the gate is closed."""
        if not self.is_open:
            raise ServiceUnavailable(
                "the server is not ready: no provider has registered a GPU or completed its inventory; retry",
                details=StatusDetails(retry_after_seconds=_RETRY_SECONDS),
            )
