"""The lifecycle of a manager's runnables: started once in order, stopped once in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from pilotage.cluster.fencing import fenced
from pilotage.manager.election.elector import LeaderElector, RunElection, run_here
from pilotage.manager.errors import (
    LeaderElectionLost,
    ManagerStopped,
    RunnableCancelled,
    ShutdownForced,
    ShutdownTimeout,
)
from pilotage.manager.groups import Groups
from pilotage.manager.runnables import AnyRunnable, Group, name_of
from pilotage.manager.shutdown import PROGRESS, Grace, Shutdown, ShutdownProgress, notify
from pilotage.manager.work import WorkTracker
from pilotage.tasks import cancel_all, is_set_within
from pilotage.telemetry.logs import logger

if TYPE_CHECKING:
    from pilotage.manager.shards.shards import Shards
    from pilotage.rest import Fence

log = logger("pilotage.manager")


class Lifecycle:
    """Runs groups of runnables. The first failure requests the stop, and `stop` raises it at the end."""

    def __init__(self, work: WorkTracker, grace_seconds: float, progress: ShutdownProgress = PROGRESS) -> None:
        self.groups = Groups(self._fail)
        self.elected = asyncio.Event()
        self.elector: LeaderElector | None = None
        """The candidate for the lease; None: this process leads at once."""
        self.shards: Shards | None = None
        """The group of replicas that share the work; None without shards."""
        self.release_lease = False
        """Whether a clean stop releases the lease."""
        self.run_election: RunElection = run_here
        """Runs the coroutines of the elector: on this loop, or on the supervisor's loop."""
        self._work = work
        self._grace_seconds = grace_seconds
        self._progress = progress
        self._launching: asyncio.Task[None] | None = None
        self._electing: asyncio.Task[None] | None = None
        self._sharing: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._cut: tuple[str, ...] = ()
        self._grace: Grace | None = None
        self._stop_asked = asyncio.Event()
        self._launched = asyncio.Event()  # ready, or will never be
        self._error: BaseException | None = None
        self._signals = 0
        self._raised = False

    def fences(self) -> tuple[Fence, ...]:
        """Fencing: refuse writes of a former leader. A process that never led may write, because not all work needs a
        leader."""
        return (self.elector.fence,) if self.elector is not None and self.elector.has_led else ()

    @property
    def launched(self) -> bool:
        return self._launching is not None

    @property
    def ready(self) -> bool:
        """Whether runnables that need no leader have started, caches are synced, and no stop was requested."""
        return self._launching is not None and self._launching.done() and not self._stop_asked.is_set()

    @property
    def starting(self) -> str:
        """What the start waits for, as a sentence."""
        waiting = self.groups.starting()
        return f"the manager is starting: it waits for {', '.join(waiting)}" if waiting else "the manager is starting"

    @property
    def electing(self) -> str:
        """What the election waits for, as a sentence."""
        elector = self.elector
        if elector is None:
            return "the runnables that need a leader are starting"
        return f"waiting for the leader lease {elector.lease}, which is held by {elector.leader or 'no replica yet'}"

    @property
    def signalled(self) -> bool:
        """Whether a signal has arrived."""
        return self._signals > 0

    @property
    def stop_asked(self) -> bool:
        return self._stop_asked.is_set()

    def add(self, runnable: AnyRunnable) -> None:
        """Add a runnable; it starts at once if its group has started."""
        if self._stop_asked.is_set():
            raise ManagerStopped(f"{name_of(runnable)} cannot be added: the manager is stopping")
        self.groups.add(runnable)

    def launch(self) -> None:
        """Begin to start all groups; a second call does nothing."""
        if self._stop_asked.is_set():
            raise ManagerStopped("the manager has stopped, and cannot be started again: create another one")
        if self._launching is None:
            self._launching = self._own(self._launch(), "manager: start")
            self._launching.add_done_callback(lambda _: self._launched.set())

    def limit_grace(self, seconds: float) -> None:
        """A shutdown that begins from now on waits at most so long."""
        self._grace_seconds = seconds if self._grace_seconds < 0 else min(self._grace_seconds, seconds)

    def ask_stop(self, reason: str) -> None:
        if not self._stop_asked.is_set():
            log.info("Shutting down", reason=reason)
            self._begin_stop()

    def on_arrival(self, number: signal.Signals) -> None:
        """Called by the signal handler when a signal arrives; the event loop calls `on_signal` later."""
        notify(self._progress.callbacks.on_signal, number)

    def on_signal(self, number: signal.Signals) -> None:
        """The first signal requests the stop, the second one ends its grace period."""
        self._signals += 1
        if self._signals == 1:
            if not self._stop_asked.is_set():
                log.info("Received shutdown signal, initiating graceful shutdown", signal=number.name)
                self._begin_stop()
            return
        log.warning("Shutting down at once", reason=f"received {number.name} again")
        if self._grace is not None:
            self._grace.force()

    def _begin_stop(self) -> None:
        """Request the stop. No work is accepted from now on, even before the shutdown task runs."""
        self._work.stop_accepting()
        self._stop_asked.set()
        self._launched.set()

    async def wait_ready(self) -> None:
        """Wait until `ready`. Raises ManagerStopped if a stop is requested before; its cause is the error, if any."""
        await self._launched.wait()
        if not self.ready:
            raise ManagerStopped("the manager has stopped before it was ready") from self._error

    async def wait_stop_asked(self, timeout: float | None = None) -> bool:
        """Wait until the stop is requested; False after `timeout` seconds."""
        return await is_set_within(self._stop_asked, timeout)

    async def stop(self, *, raising: bool = True) -> None:
        """Stop all runnables, then raise the error that led to the stop, if any. May be called again.

        A cancellation of the caller ends the grace period, not the shutdown: no task is left running.
        """
        if self._launching is None:
            self._stop_asked.set()
            self._launched.set()
            return
        self.ask_stop("the block of the manager ended")
        cancelled: asyncio.CancelledError | None = None
        while (stopping := self._start_shutdown()) is not None:
            try:
                # `wait`, not `await stopping`: a cancellation of the caller must not cancel the shutdown.
                await asyncio.wait([stopping])
            except asyncio.CancelledError as error:
                cancelled = error
                if self._grace is not None:
                    self._grace.force()
        problem = self._take_problem()
        if problem is not None and (cancelled is not None or not raising):
            log.error("The manager ended with an error", error=problem)
        if cancelled is not None:
            raise cancelled
        if problem is not None and raising:
            raise problem

    def _start_shutdown(self) -> asyncio.Task[None] | None:
        """The task of the shutdown, started on the first call; None when it has ended."""
        if self._stopping is not None and self._stopping.done() and not self._stopping.cancelled():
            self._stopping.result()
            return None
        if self._stopping is None or self._stopping.cancelled():
            # A shutdown that other code has cancelled begins again, without a grace period: no task may be left.
            hurried = self._stopping is not None or self._signals > 1
            self._grace = Grace(0 if hurried else self._grace_seconds)
            self._stopping = asyncio.get_running_loop().create_task(self._stop(self._grace), name="manager: shutdown")
        return self._stopping

    def _own(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a task of the manager itself. If other code cancels it, the manager stops: it must not end silently."""

        def on_end(task: asyncio.Task[None]) -> None:
            if not task.cancelled() or self._stop_asked.is_set():
                return
            if task is self._electing:
                self._lose(
                    LeaderElectionLost("leader election lost: the renewal was cancelled, and not by the manager")
                )
            else:
                self._fail(name, RunnableCancelled(f"{name} was cancelled, and not by its manager"))

        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        task.add_done_callback(on_end)
        return task

    async def _launch(self) -> None:
        if self.shards is not None:
            self._sharing = self._own(self._share(self.shards), "manager: shards")
        try:
            await self.groups.start()
        except Exception as error:
            self._fail("a ready check", error)
            return
        if self.elector is None:
            await self._lead()
        else:
            self._electing = self._own(self._elect(self.elector), "manager: leader election")

    async def _elect(self, elector: LeaderElector) -> None:
        loop, acquired = asyncio.get_running_loop(), asyncio.Event()
        # The lease is renewed from its acquisition on: the start of the runnables may take longer than it lasts.
        campaign = loop.create_task(
            # call_soon_threadsafe: the campaign may run on the loop of the supervisor's thread.
            self.run_election(elector.campaign(partial(loop.call_soon_threadsafe, acquired.set))),
            name="manager: campaign",
        )
        # Also if it fails: without this, the wait below would never end.
        campaign.add_done_callback(lambda _: acquired.set())
        try:
            await acquired.wait()
            if not campaign.done():
                await self._lead()
            await campaign
        except LeaderElectionLost as error:
            self._lose(error)
        except Exception as error:
            self._fail("leader election", error)
        finally:
            await _cancel(campaign)

    async def _share(self, shards: Shards) -> None:
        try:
            await shards.run()
        except LeaderElectionLost as error:
            self.groups[Group.OTHERS].cancel()  # the controllers among them
            self.shards = None  # the shards were never joined
            self._lose(error)
        except Exception as error:
            self._fail("shards", error)

    async def _lead(self) -> None:
        leading = self.groups[Group.LEADER_ELECTION]
        if self.elector is not None:
            # Before the start: every write of these runnables must carry the fence.
            leading.around = partial(fenced, self.elector.fence)
        await leading.start()
        self.elected.set()

    def _lose(self, error: LeaderElectionLost) -> None:
        """Another replica may lead already: cancel what only a leader may do at once, without a grace period."""
        self.groups[Group.LEADER_ELECTION].cancel()
        self._grace_seconds = 0
        self.release_lease = False  # it may be another replica's by now
        self._error = self._error or error
        if self._grace is not None:
            self._grace.force()
        self.ask_stop("leader election lost")

    def _fail(self, name: str, error: BaseException) -> None:
        if self._stop_asked.is_set():
            log.error("A runnable failed while the manager was stopping", runnable=name, error=error)
            return
        log.error("A runnable failed", runnable=name, error=error)
        self._error = error
        self.ask_stop(f"{name} failed")

    async def _stop(self, grace: Grace) -> None:
        await _cancel(self._launching)  # first, so that no group starts while another one is stopped
        if not self.elected.is_set():
            await _cancel(self._electing)  # so that no runnable that needs a leader starts during the stop
        cut = self._cut = await Shutdown(self.groups, self._work, grace, self._progress).run()
        await _cancel(self._electing)  # after the last runnable: until its end it is protected by the lease
        await _cancel(self._sharing)
        if self.shards is not None and not cut:  # else its lease expires: what was cancelled may still be running
            await self.shards.leave()
        if self.release_lease and self.elector is not None:
            if cut:
                log.warning("The leader lease is not released, cancelled runnables may still be running", cut=cut)
            else:
                await self.run_election(self.elector.release())

    def _take_problem(self) -> BaseException | None:
        """The error of the stop, raised once: the one that led to it, that it was not graceful, both, or none."""
        if self._raised:
            return None
        self._raised = True
        errors = [self._error] if self._error is not None else []
        if self._cut and self._signals > 1:
            errors.append(ShutdownForced(self._cut))
        elif self._cut and self._grace_seconds > 0:
            errors.append(ShutdownTimeout(self._cut, self._grace_seconds))
        if len(errors) > 1:
            return BaseExceptionGroup("the manager failed, and then did not stop in time", errors)
        return errors[0] if errors else None


async def _cancel(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait for its end."""
    if task is not None and not task.done():
        await cancel_all(task)
