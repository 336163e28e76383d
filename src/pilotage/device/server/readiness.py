"""The readiness gate: nobody reads "no GPUs" while the providers are still counting them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.errors import ServiceUnavailable, StatusDetails

_RETRY_SECONDS = 1


class ReadinessGate:
    """Closed until there is a GPU, the inventory is said to be complete, or `seconds` have passed; then open for good.

    Providers always pass: they are the ones who open it.
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
        """Begin to count the seconds."""
        if self._seconds <= 0:
            self.open()
        elif not self.is_open:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self.open)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def open(self) -> None:
        """Let everybody in. May be said again."""
        if self.is_open:
            return
        self._opened.set()
        self.stop()
        for listener in self._listeners:
            listener()

    def on_open(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the gate opens; at once where it is open."""
        self._listeners.append(listener)
        if self.is_open:
            listener()

    async def wait(self) -> None:
        """Wait until the gate is open."""
        await self._opened.wait()

    def check(self) -> None:
        """Raises ServiceUnavailable, with when to come back, while the gate is closed."""
        if not self.is_open:
            raise ServiceUnavailable(
                "the server does not know its GPUs yet: no provider has told of one, or that there are none; try again",
                details=StatusDetails(retry_after_seconds=_RETRY_SECONDS),
            )
