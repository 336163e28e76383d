"""The lives of a program: it is started, killed and started again, as a kubelet does, until the scenario ends it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pilotage.errors import PilotageError
from pilotage.manager.errors import ManagerStopped
from pilotage.manager.lag import Lag
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.testing.chaos.faults import HOLD_SECONDS, Fault
from pilotage.testing.chaos.injection.links import Link
from pilotage.testing.chaos.injection.servers import cluster_of
from pilotage.testing.chaos.session import Session

if TYPE_CHECKING:
    from pilotage.cluster.cluster import Cluster
    from pilotage.rest import Transport

Setup = Callable[[Manager], Awaitable[object]]
"""Sets up the controllers of the program on a manager. It is called in each life, as a new process would."""
NewManager = Callable[["Cluster", ManagerOptions], Manager]

RESTART_SECONDS = HOLD_SECONDS
TAKEOVER_SECONDS = 40.0
"""How long a former leader is cut off: another replica has taken the lease by then."""
MOST_RESTARTS = 20
LEASE = "chaos"


class Life:
    """One process of the program: a cluster, a manager and a link of its own."""

    def __init__(self, program: Program, number: int, stale: Fault | None = None) -> None:
        self.number = number
        self.stale = stale
        """The cache that is behind when this life begins."""
        self.manager: Manager | None = None
        self.killed = asyncio.Event()
        self.is_ready = asyncio.Event()
        self.started: asyncio.Task[None] | None = None
        self.next_stale: Fault | None = None
        self._program = program
        self._cluster = program.cluster
        self._link: Link | None = None
        self._lag: Lag | None = None

    async def run(self) -> None:
        """Run until it is killed, cancelled or ended by an error, which is raised."""
        program = self._program
        cluster = self._cluster = cluster_of(self, program.cluster)
        cluster.wrap_transport(self._linked)
        async with program.new_manager(cluster, program.options) as manager:
            program.session.histories.append(manager.history)
            self.manager = manager
            await program.setup(manager)
            self.started = asyncio.get_running_loop().create_task(manager.start(), name=f"life {self.number}")
            self._lag = Lag(manager.cache, program.cluster.writes, program.cluster.rest_mapper)
            try:
                try:
                    await manager.ready()
                    self.is_ready.set()
                except ManagerStopped:
                    await self.started
                    raise
                await self.started
            finally:
                self._lag.close()
                if not self.started.done():
                    self.started.cancel()
                    await asyncio.wait([self.started])

    def kill(self, stale: Fault | None = None) -> None:
        """Kill it: nothing that it still does reaches the server. The next life may begin with a cache behind."""
        if self._link is not None:
            self._link.cut()
        self.next_stale = stale
        self.killed.set()

    def depose(self, send: Callable[[], Awaitable[object]]) -> None:
        """Cut it off while another replica takes the lease; the write that it is sending arrives after that."""
        if self._link is not None:
            self._link.cut()
        self._program.depose(self, send)

    def restore(self) -> None:
        if self._link is not None and not self.killed.is_set():
            self._link.restore()

    @property
    def is_behind(self) -> bool:
        """Whether a cache does not show all writes, of all clients."""
        return self._lag is not None and self._lag.is_behind

    def _linked(self, transport: Transport) -> Transport:
        program = self._program
        self._link = Link(transport, program.session, self, self._cluster.rest_mapper, program.cluster.writes)
        return self._link


class Program:
    """The program of a scenario, in one life after the other."""

    def __init__(
        self, cluster: Cluster, session: Session, setup: Setup, options: ManagerOptions, new_manager: NewManager
    ) -> None:
        self.cluster = cluster
        self.session = session
        self.setup = setup
        self.new_manager = new_manager
        self.options = _elected(options) if _needs_election(session) else options
        self.life: Life | None = None
        """The life that works now; None between two lives."""
        self.error: BaseException | None = None
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        # A life begins while another one is in a reconcile, whose fences and history are not its own.
        self._context = contextvars.copy_context()

    def begin(self, stale: Fault | None = None) -> Life:
        """Start a life."""
        self.session.lives += 1
        life = self.life = Life(self, self.session.lives, stale)
        self._own(self._supervise(life), f"program: life {life.number}")
        self._notify()
        return life

    async def ready(self, timeout: float) -> Life:
        """Wait for a life that has started. Raises the error that ended the program."""
        async with asyncio.timeout(timeout):
            while True:
                if self.error is not None:
                    raise self.error
                life, changed = self.life, self._changed
                if life is not None and life.is_ready.is_set() and not life.killed.is_set():
                    return life
                await changed.wait()

    async def ended(self, life: Life) -> None:
        """Wait until a life is not the one that works."""
        while self.life is life and self.error is None and not life.killed.is_set():
            await self._changed.wait()

    def depose(self, life: Life, send: Callable[[], Awaitable[object]]) -> None:
        self._own(self._take_over(life, send), "takeover")

    async def stop(self) -> None:
        """End the program, as SIGTERM does. Raises the error that has ended it before."""
        self.session.is_over = True
        life, self.life = self.life, None
        if life is not None and life.started is not None and not life.killed.is_set():
            life.started.cancel()
            await asyncio.wait([life.started])
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait([*self._tasks])
        if self.error is not None:
            raise self.error

    async def _supervise(self, life: Life) -> None:
        running = asyncio.get_running_loop().create_task(life.run(), name=f"process {life.number}")
        for event in (life.killed, life.is_ready):
            self._own(self._announce(event), "announcement")
        killed = self._own(life.killed.wait(), "kill")
        try:
            await asyncio.wait([running, killed], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _cancelled(running)
            raise
        if running.done() and not life.killed.is_set():
            if self.life is not life:
                return
            error = running.exception() if not running.cancelled() else None
            if not self._may_restart(error):
                self.error = error or RuntimeError("the manager of the program has ended")
                self._notify()
                return
            self.session.say(f"the program ended: {type(error).__name__}: {error}")
            life.killed.set()
        else:
            running.cancel()  # what it still does reaches nothing
            self._tasks.add(running)
        if self.life is life:
            self.life = None
            self._notify()
            with self.session.disturbed(RESTART_SECONDS):
                await asyncio.sleep(RESTART_SECONDS)
                self.session.say("the program is started again")
                self.begin(life.next_stale)

    def _may_restart(self, error: BaseException | None) -> bool:
        """Whether a kubelet would start it again: a fault may have ended it."""
        harmless = isinstance(error, (PilotageError, TimeoutError, BaseExceptionGroup))
        return bool(self.session.hits) and harmless and self.session.lives < MOST_RESTARTS

    async def _take_over(self, life: Life, send: Callable[[], Awaitable[object]]) -> None:
        with self.session.disturbed(TAKEOVER_SECONDS):
            other = self.begin()
            await asyncio.sleep(TAKEOVER_SECONDS)
            self.session.say(f"the write of life {life.number} arrives, and life {other.number} leads")
            with suppress(PilotageError):
                await send()
            life.restore()
            life.killed.set()

    async def _announce(self, event: asyncio.Event) -> None:
        await event.wait()
        self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _own(self, coroutine: Any, name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(partial(_forget, self._tasks))
        return task


def _forget(tasks: set[asyncio.Task[Any]], task: asyncio.Task[Any]) -> None:
    tasks.discard(task)
    if not task.cancelled():
        task.exception()  # a process that was killed may have failed on its way


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


def _needs_election(session: Session) -> bool:
    return any(fault.kind == "deposed" for fault in session.plan.faults)


def _elected(options: ManagerOptions) -> ManagerOptions:
    """The options with a leader election: two replicas without one must not run at the same time."""
    if options.leader_election or options.shards:
        return options
    return replace(options, leader_election=True, leader_election_id=options.leader_election_id or LEASE)
