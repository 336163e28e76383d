"""A command and the reconcilers of a tool in one process: the command runs, then they run until they are idle."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pilotage.cli.kit.exits import Interrupted, NotReconciled
from pilotage.cli.terminal import Terminal
from pilotage.cluster import Cluster
from pilotage.controller.result import is_terminal
from pilotage.manager.errors import ManagerStopped, NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.telemetry.lines import Event, text_of

FAILING_SECONDS = 2.0
"""How long a reconcile that fails is retried, if nothing else is left to do."""
_CHECK_SECONDS = 0.25
_SHOWN = 5

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


async def with_reconcilers(cluster: Cluster, how: Reconciling, command: Callable[[], Awaitable[int]]) -> int:
    """Run the command beside the reconcilers, so that webhooks answer and finalizers are removed; then wait until they
    are idle. Raises the error of the command, and NotReconciled."""
    work = _Work(command)
    with _failures() as failures:
        async with Manager(cluster, ManagerOptions(checkpoint=how.checkpoint)) as manager:
            result = how.setup(manager)
            if inspect.isawaitable(result):
                await result
            manager.add(work)
            try:
                await _run(manager, work)
                with how.terminal.working("Reconciling"):
                    left = await _wait_idle(manager, how, failures)
            except ManagerStopped as error:
                raise Interrupted("interrupted") from error
    if work.error is not None:
        raise work.error
    if left:
        raise NotReconciled(f"it is stored, but not reconciled: {_listed(left)}")
    return work.code


async def _run(manager: Manager, work: _Work) -> None:
    """Start the manager and wait until the command has ended, which starts when webhooks and caches are ready."""
    idle = asyncio.create_task(manager.run_until_idle(), name="reconciling")
    done = asyncio.create_task(work.done.wait(), name="command")
    try:
        await asyncio.wait([idle, done], return_when=asyncio.FIRST_COMPLETED)
        if idle.done() and not work.done.is_set():
            idle.result()  # a signal, or an error of the manager
    finally:
        for task in (idle, done):
            task.cancel()
        await asyncio.wait([idle, done])


async def _wait_idle(manager: Manager, how: Reconciling, failures: _Failures) -> tuple[str, ...]:
    """Wait until the reconcilers are idle; what is left, if they fail, or if it takes too long."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        try:
            await manager.run_until_idle(timeout=_CHECK_SECONDS)
            return tuple(failures.terminal.values())
        except NotIdle as error:
            passed = loop.time() - began
            failing = failures.among(error.busy)
            if passed >= FAILING_SECONDS and failing:
                return (*failures.terminal.values(), *failing)
            if how.timeout and passed >= how.timeout:
                return error.busy


def _listed(left: tuple[str, ...]) -> str:
    more = f"; and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    return "; ".join(left[:_SHOWN]) + more


class _Work:
    """The command as a runnable. Its error is kept: it must not stop the reconcilers."""

    name = "command"
    needs_leader_election = False

    def __init__(self, command: Callable[[], Awaitable[int]]) -> None:
        self._command = command
        self.done = asyncio.Event()
        self.code = 0
        self.error: Exception | None = None

    def idle(self, horizon: float) -> bool:
        return self.done.is_set()

    async def start(self) -> None:
        try:
            self.code = await self._command()
        except Exception as error:
            self.error = error
        finally:
            self.done.set()


class _Failures(logging.Handler):
    """The reconciles that failed, from the log of the controllers."""

    def __init__(self) -> None:
        super().__init__()
        self.retried: dict[tuple[str, str], str] = {}
        self.terminal: dict[tuple[str, str], str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        event = record.msg
        if not isinstance(event, Event) or event.message != "Reconciler error":
            return
        fields = event.fields
        namespace, name, error = str(fields.get("namespace") or ""), str(fields.get("name")), fields.get("error")
        key = f"{namespace}/{name}" if namespace else name
        final = isinstance(error, BaseException) and is_terminal(error)
        where = self.terminal if final else self.retried
        where[str(fields.get("controller")), key] = f"{fields.get('controller')} {key}: {text_of(error)}"

    def among(self, busy: Sequence[str]) -> list[str]:
        """What fails, if every reason why the reconcilers are not idle is a request that fails; else nothing: what else
        is going on may help it."""
        if not all(any(f"{key} failed" in reason for _, key in self.retried) for reason in busy):
            return []
        return [text for (_, key), text in self.retried.items() if any(f"{key} failed" in reason for reason in busy)]


@contextmanager
def _failures() -> Iterator[_Failures]:
    handler = _Failures()
    source = logging.getLogger("pilotage.controller")
    source.addHandler(handler)
    try:
        yield handler
    finally:
        source.removeHandler(handler)
