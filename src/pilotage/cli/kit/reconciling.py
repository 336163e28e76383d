"""A command and the reconcilers of a tool in one process: the command runs, then they run until they are idle."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pilotage.cli.errors import Interrupted, NotReconciled
from pilotage.cli.kit.exits import print_error
from pilotage.cli.signals.deadline import ExitDeadline
from pilotage.cli.signals.interruption import Interruption, listed
from pilotage.cli.terminal import Terminal
from pilotage.cluster import Cluster
from pilotage.manager.errors import ManagerStopped, NotIdle, ShutdownForced, ShutdownTimeout
from pilotage.manager.failures import ReconcileFailure
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.telemetry.lines import text_of

FAILING_SECONDS = 2.0
"""How long a reconcile that fails is retried, if nothing else is left to do."""
_CHECK_SECONDS = 0.25
_INTERRUPTED = "interrupted: what was written is stored, and the next command reconciles the rest"
_UNFINISHED = "interrupted before the command was finished: not everything may be written, run it again"

Setup = Callable[[Manager], Any]


@dataclass(frozen=True)
class Reconciling:
    """How the reconcilers of a tool are run."""

    setup: Setup
    timeout: float
    """Seconds until they must be idle; 0: no limit."""
    terminal: Terminal
    checkpoint: str
    """The name of the checkpoint, which has what was seen and what is due; empty: all objects are reconciled."""


async def with_reconcilers(
    cluster: Cluster, how: Reconciling, deadline: ExitDeadline, command: Callable[[], Awaitable[int]]
) -> int:
    """Run the command beside the reconcilers, so that webhooks answer and finalizers are removed; then wait until they
    are idle. Raises the error of the command, NotReconciled, and Interrupted after a signal."""
    work = _Work(command)
    interruption = Interruption(deadline, how.terminal.line, _print_report)
    try:
        left = await _run_managed(cluster, how, work, interruption)
    except ManagerStopped:
        raise Interrupted(_INTERRUPTED if work.is_finished else _UNFINISHED) from None
    except (ShutdownTimeout, ShutdownForced) as error:
        if interruption.signalled:
            raise Interrupted(f"interrupted, and not finished: {listed(error.cut) or 'nothing'}") from None
        left = error.cut
    if work.error is not None:
        raise work.error
    if left:
        raise NotReconciled(f"the changes are stored, but not reconciled: {listed(left)}")
    return work.code


def _print_report(message: str) -> None:
    print_error(Interrupted(message))


async def _run_managed(cluster: Cluster, how: Reconciling, work: _Work, interruption: Interruption) -> tuple[str, ...]:
    """Run the command, which starts when webhooks and caches are ready, and the reconcilers; what is left of their
    work."""
    failures = _Failures()
    options = ManagerOptions(
        checkpoint=how.checkpoint,
        shutdown_callbacks=interruption.callbacks,
        on_reconcile_failure=failures.note,
    )
    async with Manager(cluster, options) as manager:
        interruption.observe(manager)
        result = how.setup(manager)
        if inspect.isawaitable(result):
            await result
        manager.add(work)
        idle = asyncio.create_task(manager.run_until_idle(), name="reconciling")  # handles signals until it ends
        done = asyncio.create_task(work.done.wait(), name="command")
        try:
            await asyncio.wait([idle, done], return_when=asyncio.FIRST_COMPLETED)
            with how.terminal.working("Reconciling"):
                return await _wait_idle(manager, idle, how, failures, interruption)
        finally:
            for task in (idle, done):
                task.cancel()
            await asyncio.wait([idle, done])


async def _wait_idle(
    manager: Manager, idle: asyncio.Task[None], how: Reconciling, failures: _Failures, interruption: Interruption
) -> tuple[str, ...]:
    """Wait until the reconcilers are idle; what is left, if they fail, or if it takes too long."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        await asyncio.wait([idle], timeout=_CHECK_SECONDS)
        if idle.done() or interruption.signalled:
            await idle  # after a signal when all has stopped: to cancel it would end the grace period
            return failures.listed()
        try:
            await manager.run_until_idle(timeout=0)
        except NotIdle as error:
            passed = loop.time() - began
            if passed >= FAILING_SECONDS and error.failing:
                return failures.listed(error.failing)
            if how.timeout and passed >= how.timeout:
                return error.busy


class _Work:
    """The command as a runnable. Its error is kept: it must not stop the reconcilers."""

    name = "command"
    needs_leader_election = False

    def __init__(self, command: Callable[[], Awaitable[int]]) -> None:
        self._command = command
        self.done = asyncio.Event()
        """It has ended in some way: finished, failed or cancelled."""
        self.is_finished = False
        self.code = 0
        self.error: Exception | None = None

    def idle(self, horizon: float) -> bool:
        return self.done.is_set()

    async def start(self) -> None:
        try:
            self.code = await self._command()
            self.is_finished = True
        except Exception as error:
            self.error = error
        finally:
            self.done.set()


class _Failures:
    """The reconciles that failed, with what is printed for each."""

    def __init__(self) -> None:
        self._retried: dict[tuple[str, str], str] = {}
        self._terminal: dict[tuple[str, str], str] = {}

    def note(self, failure: ReconcileFailure) -> None:
        kept = self._retried if failure.is_retried else self._terminal
        text = f"{failure.controller} {failure.request}: {text_of(failure.error)}"
        kept[failure.controller, failure.request] = text

    def listed(self, retried: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
        """What is not retried, and of what is retried these requests."""
        return (*self._terminal.values(), *(self._retried[key] for key in retried if key in self._retried))
