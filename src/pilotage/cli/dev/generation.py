"""One version of a program while it runs: a manager of its own, on the API server of the session."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pilotage.cli.dev.stated import StatedObjects
from pilotage.cli.program.target import Target
from pilotage.cli.run.asked import explained
from pilotage.cli.run.flags import manager_options
from pilotage.history.records import CallNote
from pilotage.kit.console.errors import CommandError
from pilotage.manager.errors import ManagerStopped, NotIdle, ShutdownTimeout
from pilotage.manager.installation import Installation
from pilotage.manager.manager import Manager
from pilotage.meta.mapping.scheme import Scheme
from pilotage.rest.request import READS
from pilotage.schema.generate.crd import unchecked_crds
from pilotage.tasks import cancel_all
from pilotage.types import builtin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pilotage.cli.run.arguments import Flags
    from pilotage.cluster import Cluster
    from pilotage.history.runs import Run
    from pilotage.history.stories import Reconcile
    from pilotage.meta.documents import Document

SETTLE_SECONDS = 10.0
"""How long a new version may take to reconcile all objects before what it wrote so far is shown."""
_LOOK_SECONDS = 0.1
"""How often to look whether only retries are left."""


class Generation:
    """A version of the program. `open` sets it up, `start` runs it, `close` ends it."""

    def __init__(self, target: Target, base: Cluster, flags: Flags, name: str) -> None:
        if target.manager is not None:
            raise CommandError(
                f"{target.name} is a manager with a cluster of its own, which cannot be replaced after a change: name "
                "a function setup(manager), or a reconciler class"
            )
        cluster = base.sibling(scheme=Scheme(fallback=builtin.type_for))
        cluster.user_agent = name
        options = replace(manager_options(flags, name, "default"), handle_signals=False)
        self.target = target
        self.manager = Manager(cluster, options)
        self.stated = StatedObjects(self.manager.history)
        self.running: asyncio.Task[None] | None = None
        """The run of the manager; it ends with an error if the program fails."""
        self._name = name
        self._exits = AsyncExitStack()

    async def open(self) -> None:
        """Set up the program, while another version may still run. Raises CommandError with the reason."""
        async with AsyncExitStack() as exits:
            await exits.enter_async_context(self.manager)
            self.manager.history.program = self.target.name
            await self.target.setup(self.manager)
            if self.target.kinds:
                install = partial(self.manager.cluster.install, *self.target.kinds)
                self.manager.add(Installation(install))
            self._exits = exits.pop_all()

    async def start(self, is_outdated: Callable[[], bool]) -> None:
        """Run it, and return when everything is reconciled, after ten seconds, or when it is outdated: a file was saved
        again. Raises the error of the program."""
        self.running = asyncio.create_task(self._run(), name="program")
        waiting = asyncio.create_task(self._settle(is_outdated), name="reconciling everything")
        try:
            await asyncio.wait([self.running, waiting], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_all(waiting)
        if self.running.done():
            await self.running

    async def settled(self, is_outdated: Callable[[], bool]) -> None:
        """Wait until nothing is left to do but to retry what fails, for ten seconds at most."""
        loop = asyncio.get_running_loop()
        until = loop.time() + SETTLE_SECONDS
        while loop.time() < until:
            try:
                await self.manager.run_until_idle(_LOOK_SECONDS)
            except NotIdle as error:
                if not error.failing and not is_outdated():
                    continue
            except Exception:  # noqa: S110 - the run of the manager ends with it, too
                pass
            return

    @cached_property
    def definitions(self) -> Sequence[Document]:
        """The CustomResourceDefinitions of the program."""
        return unchecked_crds(self.target.kinds)

    @property
    def reconciles(self) -> int:
        """How many reconciles there were so far."""
        return len(self.manager.history.reconciles())

    def with_writes(self) -> list[Reconcile]:
        """The reconciles so far that have written something, or have failed."""
        history = self.manager.history
        return [history.stories.reconcile(run) for run in history.ring.entries if run.error or _writes(run)]

    async def close(self) -> None:
        """End it: running reconciles have two seconds; the manager logs which ones it has cancelled."""
        if self.running is not None:
            await cancel_all(self.running)
        with suppress(ShutdownTimeout):
            await self._exits.aclose()

    async def _run(self) -> None:
        with self.stated.listening():
            async with explained(self.manager, self._name):
                await self.manager.start()

    async def _settle(self, is_outdated: Callable[[], bool]) -> None:
        try:
            await self.manager.ready()
        except ManagerStopped:
            return
        await self.settled(is_outdated)


def _writes(run: Run) -> bool:
    return any(isinstance(step, CallNote) and step.request.verb not in READS for step in run.steps)
