"""The tasks of a manager's supervisor: the watchdog of its loop, health probes, and the renewal of its lease.

They run on a second thread, because the program's loop can be blocked by user code. Then a kubelet must not restart a
program that is only busy, and a leader that is only busy must not lose its lease; a leader that hangs must lose it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager

from pilotage.http.health import HealthHandler
from pilotage.http.messages import Handler, HTTPRequest
from pilotage.manager.options import ManagerOptions
from pilotage.manager.supervision.liveness import SupervisedHealth
from pilotage.manager.supervision.supervisor import Supervisor, has_threads
from pilotage.manager.supervision.watchdog import Block, Watchdog
from pilotage.manager.work import WorkTracker
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")


def supervise(
    options: ManagerOptions,
    work: WorkTracker,
    exits: AsyncExitStack,
    *,
    is_active: Callable[[], bool],
    on_blocked: Callable[[Block], None],
) -> Supervision | None:
    """Start the supervisor of a manager, which stops at its exit; None on a loop without threads, as tests have.

    Blocks of the loop are reported while the program `is_active`; `on_blocked` is called in the supervisor's thread.
    """
    if not has_threads(asyncio.get_running_loop()):
        return None
    watchdog = Watchdog(options.blocked_loop_threshold, is_active=is_active, on_blocked=on_blocked)
    supervision = Supervision(options, work, watchdog)
    supervision.supervisor.start()
    exits.callback(supervision.supervisor.stop)
    supervision.supervisor.spawn(watchdog.run())
    return supervision


class Supervision:
    """The supervisor of one manager. Created on the program's loop."""

    def __init__(self, options: ManagerOptions, work: WorkTracker, watchdog: Watchdog) -> None:
        self.supervisor = Supervisor()
        self._threshold = options.blocked_loop_threshold
        self._deadline = options.blocked_loop_deadline
        self._work = work
        self._watchdog = watchdog

    def obstacle(self) -> str:
        """Why a leader must not renew its lease: a leader that hangs must not prevent other replicas from leading."""
        seconds = self._watchdog.blocked_seconds
        if seconds < self._deadline:
            return ""
        by = f" by {self._watchdog.last}" if self._watchdog.last is not None else ""
        return (
            f"the event loop has been blocked for {seconds:.1f} s{by}, "
            f"and blocked_loop_deadline is {self._deadline:g} s"
        )

    def liveness(self, handler: HealthHandler) -> Handler:
        """The liveness handler, on the supervisor's loop: fails after a block of `blocked_loop_deadline` seconds."""
        return self._supervised(handler, lambda seconds: seconds < self._deadline)

    def readiness(self, handler: HealthHandler) -> Handler:
        """The readiness handler, on the supervisor's loop: fails while the loop is blocked."""
        return self._supervised(handler, lambda _: False)

    def probe(self, handlers: Mapping[str, tuple[str, Handler]]) -> Callable[[str], bool]:
        """A function that any thread may call: whether the handler of a name, with its path, answers with success."""

        def passes(name: str) -> bool:
            async def answer() -> bool:
                path, handler = handlers[name]
                return (await handler(HTTPRequest("GET", path))).status == 200

            return bool(self.supervisor.run_threadsafe(answer()))

        return passes

    @contextmanager
    def ending_after(self, seconds: float | None) -> Iterator[None]:
        """For a block with a timeout: no work is accepted after it, even while the loop is blocked, and a late end of
        the block is logged with its reason."""
        if seconds is None:
            yield
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        take_back = self.supervisor.call_later(seconds, self._work.stop_accepting)
        try:
            yield
        finally:
            take_back()
        late = loop.time() - deadline
        if late >= self._threshold:
            why = str(self._watchdog.last) if self._watchdog.last is not None else "unknown; the machine may be busy"
            log.warning("Timeout was noticed late, the event loop was blocked", seconds=round(late, 1), by=why)

    def _supervised(self, handler: HealthHandler, holds: Callable[[float], bool]) -> Handler:
        return SupervisedHealth(handler, lambda: self._watchdog.blocked_seconds, holds)
