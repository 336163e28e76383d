"""Handles Ctrl-C while reconcilers run: prints what it waits for, and ends the process in time."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pilotage.kit.console.signals.deadline import EXIT_SECONDS, ExitDeadline
from pilotage.manager.manager import Manager
from pilotage.manager.shutdown import ShutdownCallbacks
from pilotage.manager.signals import handled
from pilotage.manager.supervision.watchdog import Block
from pilotage.manager.work import ActiveWork

Print = Callable[[str], None]
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How long a command may take, and the end of its process if the event loop is blocked then."""

    seconds: float
    code: int
    """The exit code."""
    message: Callable[[Sequence[str]], str]
    """What is printed, of what is not finished as sentences."""
    began: float | None = None
    """The monotonic time at which the command began to wait; None: only a block counts, from its own beginning."""


class Interruption:
    """Observes the shutdown of a manager. If the event loop does not respond, or the process does not end, the thread
    of the deadline prints what is waited for (`print_notice`) and what was cut (`print_report`)."""

    def __init__(self, deadline: ExitDeadline, print_notice: Print, print_report: Print) -> None:
        self.signalled = False
        self.is_shown = False
        """Whether what it waits for has been printed."""
        self.is_reported = False
        """Whether what was cut has been printed."""
        self._manager: Manager | None = None
        self.callbacks = ShutdownCallbacks(self.on_signal, self._on_waiting, self._on_stopped)
        self._deadline = deadline
        self._print_notice = print_notice
        self._print_report = print_report
        self._limit: TimeLimit | None = None
        self._until = 0.0
        self._cut: Sequence[str] | None = None
        deadline.start(self._notice, self._report)

    def observe(self, manager: Manager) -> None:
        """The manager whose work is listed, and whose grace period counts."""
        self._manager = manager
        manager.on_blocked_loop = self._on_blocked

    def limit(self, limit: TimeLimit | None) -> None:
        """The event loop may not be blocked for longer than this: it cannot notice by itself that its time is over.
        None: from now on it may."""
        self._limit = limit

    def end(self, code: int, report: Callable[[], None]) -> None:
        """No time is left, without a signal: the process ends soon, with this exit code. `report` prints why, if that
        was not printed before."""
        self._deadline.set_over(code, report)

    def _on_blocked(self, block: Block) -> None:
        """In the thread of the supervisor. Only one block that goes on for seconds after the limit ends the process:
        between several short ones, the loop notices the time by itself."""
        limit = self._limit
        if limit is None or self.signalled or block.seconds < EXIT_SECONDS:
            return
        began = limit.began if limit.began is not None else time.monotonic() - block.seconds
        if time.monotonic() >= began + limit.seconds + EXIT_SECONDS:
            self._limit = None
            self._deadline.set_over(
                limit.code, lambda: self._print_report(limit.message(self._left(block))), seconds=0.0
            )

    def _left(self, block: Block) -> list[str]:
        """The pending work while the loop is blocked, the cause first."""
        who = " ".join(str(value) for name, value in block.fields.items() if name != "reconcileID")
        cause = f"{who} blocks the event loop at {block.place}; await instead, or use asyncio.to_thread"
        return [cause, *(str(work) for work in self._active())]

    def on_signal(self, number: signal.Signals) -> None:
        grace = self._grace
        self.signalled = True
        self._until = time.monotonic() + grace
        self._deadline.set(grace + EXIT_SECONDS)

    def _on_waiting(self, active: Sequence[ActiveWork], seconds: float) -> None:
        if self.signalled and not self.is_shown:
            self.is_shown = True
            limit = "" if seconds == math.inf else f" for {seconds:.1f} s at most;"
            self._print_notice(
                f"interrupted: waiting until this ends,{limit} press Ctrl-C again to stop now: "
                f"{listed([str(work) for work in active])}"
            )

    def _on_stopped(self, cut: Sequence[str]) -> None:
        self._cut = cut

    def _notice(self) -> None:
        if active := self._active():
            self._on_waiting(active, max(0.0, self._until - time.monotonic()))

    def _report(self) -> None:
        if self.is_reported:
            return
        cut = [str(work) for work in self._active()] if self._cut is None else self._cut
        self._print_report(f"interrupted, and not finished: {listed(cut) or 'the end of the program'}")

    def _active(self) -> list[ActiveWork]:
        return self._manager.work.active() if self._manager is not None else []

    @property
    def _grace(self) -> float:
        """Seconds that work may take after a signal: the second one ends the grace period."""
        if self.signalled or self._manager is None:
            return 0.0
        grace = self._manager.options.graceful_shutdown_timeout
        return math.inf if grace < 0 else grace


@contextmanager
def ended_by_signals(interrupted: Exception, interruption: Interruption | None = None) -> Iterator[asyncio.Event]:
    """A signal cancels the block as long as the event is not set: then the manager handles signals, and what follows is
    finished: events are written, and the storage is closed. A cancelled block raises `interrupted`."""
    started, task = asyncio.Event(), asyncio.current_task()
    is_cancelled = False

    def on_signal(_: signal.Signals) -> None:
        nonlocal is_cancelled
        if interruption is not None:
            interruption.is_shown = True  # in the log of the manager
        if not started.is_set() and task is not None:
            is_cancelled = True
            task.cancel()

    with handled(on_signal, interruption.on_signal if interruption is not None else None):
        try:
            yield started
        except asyncio.CancelledError:
            if not is_cancelled:
                raise
            raise interrupted from None


def listed(left: Sequence[str]) -> str:
    """The first ones, in one line, and how many more there are."""
    more = f"; and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    return "; ".join(" ".join(each.split()) for each in left[:_SHOWN]) + more
