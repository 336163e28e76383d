"""Shutdown in three phases: accept no more work, wait for active work, then cancel the runnables.

The order matters. Work is refused first, so that waiting for it ends. Runnables are cancelled only after their work,
group by group, so that users of the caches end before the caches, and probes are answered until the end.
"""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pilotage.manager.groups import Groups
from pilotage.manager.runnables import STOP_ORDER, Group
from pilotage.manager.work import ActiveWork, WorkTracker
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")


@dataclass(frozen=True, slots=True)
class ShutdownCallbacks:
    """Called during a shutdown. They must return at once; what they raise is logged."""

    on_signal: Callable[[signal.Signals], None] | None = None
    """SIGTERM or SIGINT has arrived: the first begins the shutdown, the second ends its grace period. Called as a
    signal handler, in the main thread between two instructions, also while the event loop is blocked."""
    on_waiting: Callable[[Sequence[ActiveWork], float], None] | None = None
    """The shutdown waits for this work, for at most this many seconds (`math.inf`: no limit): called on the event loop
    when the wait begins, and then in each `shutdown_progress_interval`. Not called if no work is active."""
    on_stopped: Callable[[Sequence[str]], None] | None = None
    """All runnables have stopped, and these were cancelled in the middle of their work. What follows (the checkpoint,
    the lease, events, the storage) may take a while."""


@dataclass(frozen=True, slots=True)
class ShutdownProgress:
    """How often a shutdown reports what it waits for, and after how many seconds these lines are warnings."""

    seconds: float = 0.5
    warning_after: float = 10.0
    callbacks: ShutdownCallbacks = ShutdownCallbacks()


PROGRESS = ShutdownProgress()

UNWIND_SECONDS = 1.0
"""How long cancelled tasks have after the grace period: in asyncio a task ends only by its own code."""

_NAMED = 10  # active work that one log line names


class Grace:
    """One deadline for the whole shutdown. `force` moves it to now."""

    def __init__(self, seconds: float) -> None:
        """`seconds` from now; negative: without limit."""
        self._loop = asyncio.get_running_loop()
        self._deadline = math.inf if seconds < 0 else self._loop.time() + seconds
        self._forced: asyncio.Future[None] = self._loop.create_future()

    def force(self) -> None:
        """End the grace period now."""
        self._deadline = min(self._deadline, self._loop.time())
        if not self._forced.done():
            self._forced.set_result(None)

    @property
    def forced(self) -> bool:
        return self._forced.done()

    @property
    def left(self) -> float:
        return max(0.0, self._deadline - self._loop.time())

    @property
    def unwinding(self) -> float:
        """Seconds until cancelled tasks are no longer waited for."""
        return max(0.0, self._deadline + UNWIND_SECONDS - self._loop.time())

    async def wait(self, futures: Collection[asyncio.Future[Any]], timeout: float) -> bool:
        """Wait for all of them, at most for `timeout` or until `force`; returns whether all are done."""
        end = self._loop.time() + timeout
        pending = {future for future in futures if not future.done()}
        while pending and (left := end - self._loop.time()) > 0:
            forced = set() if self.forced else {self._forced}
            done, _ = await asyncio.wait(
                pending | forced,
                timeout=None if left == math.inf else left,
                return_when=asyncio.FIRST_COMPLETED,
            )
            pending -= done
            if forced & done:
                break
        return not pending


class Shutdown:
    """One shutdown of a manager. `run` ends within the grace period plus `UNWIND_SECONDS`, even if tasks do not end."""

    def __init__(self, groups: Groups, work: WorkTracker, grace: Grace, progress: ShutdownProgress = PROGRESS) -> None:
        self._groups = groups
        self._work = work
        self._grace = grace
        self._progress = progress
        self._began = asyncio.get_running_loop().time()
        self._cut: list[str] = []

    async def run(self) -> tuple[str, ...]:
        """Stop all runnables; returns the names of those that were cancelled in the middle of their work."""
        self._stop_accepting()
        await self._wait_for_work()
        log.info("Phase 3: Force stopping all controllers", seconds_left=_rounded(self._grace.left))
        await self._stop_groups()
        if self._cut:
            log.error("Shut down, but not gracefully, cancelled what was still running", cut=self._cut)
        else:
            log.info("All controllers shut down gracefully")
        notify(self._progress.callbacks.on_stopped, tuple(self._cut))
        return tuple(self._cut)

    def _stop_accepting(self) -> None:
        log.info("Phase 1: Stopping acceptance of new reconcile requests", active=_names(self._work.active()))
        self._work.stop_accepting()
        for entry in self._groups.running():
            try:
                entry.hooks.stop_accepting()
            except Exception:  # an error of one must not keep the others from stopping
                log.exception("Failed to stop accepting work", runnable=entry.name)

    async def _wait_for_work(self) -> None:
        active = self._work.active()
        log.info(
            "Phase 2: Waiting for active reconciliation to complete",
            active=_names(active),
            seconds_left=_rounded(self._grace.left),
        )
        self._notify_waiting(active)
        async with asyncio.TaskGroup() as tasks:
            idle = tasks.create_task(self._work.wait_idle(), name="shutdown: waiting for work")
            while not await self._grace.wait([idle], min(self._progress.seconds, self._grace.left)):
                if self._grace.left <= 0:
                    break
                active = self._work.active()
                self._log_waiting("Still waiting for active work", active=_names(active), count=len(active))
                self._notify_waiting(active)
            idle.cancel()
        if active := self._work.active():
            log.warning("Grace period is over, cancelling active work", active=_names(active), count=len(active))
            self._cut += [str(work) for work in active]
        else:
            log.info("All reconciliation work completed")

    def _notify_waiting(self, active: Sequence[ActiveWork]) -> None:
        if active:
            notify(self._progress.callbacks.on_waiting, active, self._grace.left)

    async def _stop_groups(self) -> None:
        """Cancel group by group until the deadline, then all others at once."""
        self._groups[Group.WARM_UP].cancel()  # these stop last
        for group in (self._groups[name] for name in STOP_ORDER):
            if self._grace.left <= 0:
                break
            group.cancel()
            await self._wait_for(group.tasks)
        self._groups.cancel()
        while not await self._grace.wait(self._groups.tasks, self._grace.unwinding):
            if self._grace.unwinding > 0:
                continue  # a forced stop still gives cancelled tasks their time to unwind
            stuck = sorted(task.get_name() for task in self._groups.tasks)
            log.error("Runnables did not end after they were cancelled, no longer waiting for them", runnables=stuck)
            self._cut += [name for name in stuck if name not in self._cut]
            return

    async def _wait_for(self, tasks: set[asyncio.Task[None]]) -> None:
        while not await self._grace.wait(tasks, min(self._progress.seconds, self._grace.left)):
            waiting = sorted(task.get_name() for task in tasks if not task.done())
            if self._grace.left <= 0:
                self._cut += waiting
                return
            self._log_waiting("Still waiting for runnables", runnables=waiting)

    def _log_waiting(self, message: str, **fields: object) -> None:
        passed = asyncio.get_running_loop().time() - self._began
        write = log.info if passed < self._progress.warning_after else log.warning
        write(message, **fields, seconds_left=_rounded(self._grace.left))


def notify(callback: Callable[..., None] | None, *arguments: object) -> None:
    """Call a callback of the program."""
    try:
        if callback is not None:
            callback(*arguments)
    except Exception:  # the shutdown must not fail because of its observers
        log.exception("Callback of the shutdown failed")


def _names(active: Sequence[ActiveWork]) -> list[str]:
    more = len(active) - _NAMED
    return [str(work) for work in active[:_NAMED]] + ([f"and {more} more"] if more > 0 else [])


def _rounded(seconds: float) -> float | str:
    return "unlimited" if seconds == math.inf else round(seconds, 1)
