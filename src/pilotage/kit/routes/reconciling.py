"""A command and the reconcilers of a tool in one process: the command runs, then they run until they are idle."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pilotage.cluster import Cluster
from pilotage.errors import PilotageError
from pilotage.history.history import History
from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.arguments.planning import Plan, is_dry_run
from pilotage.kit.console.errors import NOT_RECONCILED, CommandError, Interrupted, NotReconciled
from pilotage.kit.console.signals.deadline import ExitDeadline
from pilotage.kit.console.signals.interruption import Interruption, TimeLimit, listed
from pilotage.kit.console.terminal import Terminal
from pilotage.kit.execution import UNFINISHED, Program
from pilotage.kit.exits import code_of, print_error
from pilotage.kit.recorded.historyfile import keep
from pilotage.kit.recorded.logfile import LogFile, history_beside
from pilotage.kit.routes.embedded import Setup, set_up
from pilotage.kit.routes.opening import Reconciled
from pilotage.manager.errors import ManagerStopped, NotIdle, ShutdownForced, ShutdownTimeout
from pilotage.manager.failures import ReconcileFailure
from pilotage.manager.installation import Installation
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.runnables import AnyRunnable, Group, group_members
from pilotage.meta.models import Resource
from pilotage.telemetry import levels
from pilotage.telemetry.console import ConsoleFormatter, place_in_program
from pilotage.telemetry.lines import text_of
from pilotage.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pilotage.kit.execution import CommandFunction

FAILING_SECONDS = 2.0
"""How long a reconcile that fails is retried, if nothing else is left to do."""
GRACE_SECONDS = 1.0
"""How long reconciles that run may go on after the timeout, and after a command that has written nothing; then they are
cancelled."""
_CHECK_SECONDS = 0.25
_INTERRUPTED = "interrupted: what was written is stored, and the next command reconciles the rest"

_BEFORE_WORK = {Group.HTTP_SERVERS, Group.WEBHOOKS, Group.DEFINITIONS, Group.CACHES}


@dataclass(frozen=True, slots=True)
class Reconciling:
    """How the reconcilers of a tool are run."""

    setup: Setup
    kinds: Sequence[type[Resource]]
    """Those of the tool, which are installed when it was set up."""
    timeout: float
    """Seconds until they must be idle; 0: no limit."""
    terminal: Terminal
    checkpoint: str
    """The name of the checkpoint, which has what was seen and what is due; empty: all objects are reconciled."""
    has_written: Callable[[], bool]
    """Whether the command has written something by now."""
    started: asyncio.Event
    """Set when the manager handles signals."""
    is_dry_run: bool = False
    """Only webhooks run: nothing may be written."""
    ends_process: bool = False
    """Whether the process is the command's own, and ends after it also if a reconcile does not, in a thread."""
    failure: int = 1
    """The exit code of a command that fails."""
    keep: Callable[[History], None] = lambda history: None
    """Called when the reconcilers have stopped."""

    def unfinished(self, left: Sequence[str]) -> str:
        """The message of a command that does not end, because the event loop is blocked."""
        stored = "" if self.is_dry_run else "; not everything may be written, run it again"
        return f"the command has not ended after {self.timeout:g} s{stored}: {listed(left)}"


async def reconciled(
    place: Reconciled,
    plan: Plan,
    program: Program,
    options: Arguments,
    deadline: ExitDeadline,
    run: CommandFunction,
) -> int:
    """Run a command, and the reconcilers of the program until they are idle."""
    session, storage = place.session, place.storage
    assert program.setup is not None, "else a plan has no reconcilers"

    def is_stored() -> bool:
        return isinstance(storage, str) or storage.is_stored

    how = Reconciling(
        program.setup,
        program.own_kinds,
        options.reconcile_timeout,
        session.errors,
        "" if options.every_object else program.name,
        has_written=lambda: session.has_written,
        started=place.started,
        is_dry_run=is_dry_run(options),
        ends_process=program.ends_process,
        failure=plan.command.least_failure,
        keep=lambda history: keep(history, history_beside(session.log_file) if is_stored() else ""),
    )

    async def written() -> int:
        session.mapper.replace(await session.resources())  # the kinds are installed by now
        with nullcontext() if isinstance(storage, str) else storage.writing():
            return await run(session, options)

    log = LogFile(session.log_file, is_stored)
    with logged(log, options.log_level, session.errors):
        return await with_reconcilers(place.cluster, how, deadline, written)


async def with_reconcilers(
    cluster: Cluster, how: Reconciling, deadline: ExitDeadline, command: Callable[[], Awaitable[int]]
) -> int:
    """Run the command beside the reconcilers, so that webhooks answer and finalizers are removed; then wait until they
    are idle. An error of the command is printed at once, and nothing is waited for unless it has written something.
    Raises NotReconciled, and Interrupted after a signal."""
    work = _Work(command)
    interruption = Interruption(deadline, how.terminal.line, lambda message: print_error(Interrupted(message)))
    try:
        left = await _run_managed(cluster, how, work, interruption)
    except ManagerStopped:
        reason = "interrupted" if how.is_dry_run else _INTERRUPTED if work.is_finished else UNFINISHED
        raise Interrupted(reason) from None
    except (ShutdownTimeout, ShutdownForced) as error:
        if interruption.signalled:
            raise Interrupted(f"interrupted, and not finished: {listed(error.cut) or 'nothing'}") from None
        left = error.cut
    if work.error is not None and not isinstance(work.error, PilotageError):
        raise work.error
    failure = _not_reconciled(left) if left and (how.has_written() or work.error is None) else None
    if work.error is not None:
        if failure is not None:
            print_error(failure)
        return code_of(work.error)
    if failure is not None:
        raise failure
    return work.code


def _not_reconciled(left: Sequence[str]) -> NotReconciled:
    return NotReconciled(f"the changes are stored, but not reconciled: {listed(left)}")


async def _run_managed(cluster: Cluster, how: Reconciling, work: _Work, interruption: Interruption) -> tuple[str, ...]:
    """Run the command, which starts when webhooks and caches are ready, and the reconcilers. Returns their
    pending work."""
    failures = _Failures()
    options = ManagerOptions(
        checkpoint="" if how.is_dry_run else how.checkpoint,
        shutdown_callbacks=interruption.callbacks,
        on_reconcile_failure=failures.note,
    )
    manager = (_WebhookManager if how.is_dry_run else Manager)(cluster, options)
    try:
        return await _run_in(manager, cluster, how, work, interruption, failures)
    finally:
        how.keep(manager.history)


async def _run_in(
    manager: Manager, cluster: Cluster, how: Reconciling, work: _Work, interruption: Interruption, failures: _Failures
) -> tuple[str, ...]:
    async with manager:
        interruption.observe(manager)
        if how.ends_process and how.timeout:
            interruption.limit(TimeLimit(how.timeout, how.failure, how.unfinished))
        await set_up(how.setup, manager)
        manager.add(Installation(partial(cluster.install, *how.kinds)))
        manager.add(work)

        async def reconcile() -> None:
            how.started.set()
            await manager.run_until_idle()

        idle = asyncio.create_task(reconcile(), name="reconciling")  # handles signals until it ends
        done = asyncio.create_task(work.done.wait(), name="command")
        try:
            await asyncio.wait([idle, done], return_when=asyncio.FIRST_COMPLETED)
            if isinstance(work.error, PilotageError):
                print_error(work.error)
                if not how.has_written():
                    _hurry(manager, how, partial(interruption.end, code_of(work.error), lambda: None))
                    return ()
            if how.ends_process and how.timeout and not how.is_dry_run:
                message = lambda left: str(_not_reconciled(left))  # noqa: E731
                interruption.limit(TimeLimit(how.timeout, NOT_RECONCILED, message, time.monotonic()))
            with how.terminal.working("Reconciling"):
                try:
                    return await _wait_idle(manager, idle, how, failures, interruption)
                finally:
                    interruption.limit(None)  # the end of the manager has limits of its own
        finally:
            for task in (idle, done):
                task.cancel()
            await asyncio.wait([idle, done])


async def _wait_idle(
    manager: Manager, idle: asyncio.Task[None], how: Reconciling, failures: _Failures, interruption: Interruption
) -> tuple[str, ...]:
    """Wait until the reconcilers are idle. Returns the pending work if they fail or take too long."""
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
            if passed >= min(FAILING_SECONDS, how.timeout or FAILING_SECONDS) and error.failing:
                return failures.listed(error.failing)
            if how.timeout and passed >= how.timeout:
                report = partial(print_error, _not_reconciled(error.busy))
                _hurry(manager, how, partial(interruption.end, NOT_RECONCILED, report))
                return error.busy


def _hurry(manager: Manager, how: Reconciling, end_process: Callable[[], None]) -> None:
    """Reconciles that run have a moment left; a process of an application goes on."""
    manager.limit_grace(GRACE_SECONDS)
    if how.ends_process:
        end_process()


class _WebhookManager(Manager):
    """A manager for a dry run: webhooks are called, and nothing is started that may write by itself."""

    def add(self, runnable: AnyRunnable) -> None:
        groups = {member.group for member in group_members(runnable)}
        if isinstance(runnable, _Work) or groups <= _BEFORE_WORK:
            super().add(runnable)


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
        place = f" ({found})" if (found := place_in_program(failure.error)) else ""
        text = f"{failure.controller} {failure.request}: {text_of(failure.error)}{place}"
        kept[failure.controller, failure.request] = text

    def listed(self, retried: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
        """What is not retried, and of what is retried these requests."""
        return (*self._terminal.values(), *(self._retried[key] for key in retried if key in self._retried))


@contextmanager
def logged(file: LogFile, level: str, terminal: Terminal) -> Iterator[None]:
    """Send all logging from `info` on to the file; from `level` on, if it is given, to the terminal, too."""
    try:
        shown = levels.parsed(level) if level else None
    except ValueError as error:
        raise CommandError(f"--log-level: {error}") from error
    configure_logging(min(shown or logging.INFO, logging.INFO), file, json=True)
    if shown is None:
        yield
        return
    handler = logging.StreamHandler(terminal)
    handler.setLevel(shown)
    handler.setFormatter(ConsoleFormatter(colours=terminal.colours))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
