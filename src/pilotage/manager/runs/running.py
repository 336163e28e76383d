"""When a manager runs: until a signal, until it is idle, once for one object."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import AlreadyStarted, ManagerStopped
from pilotage.meta.bounds.amounts import Seconds, optional_seconds, seconds

if TYPE_CHECKING:
    from contextlib import AbstractContextManager, AsyncExitStack

    from pilotage.cluster.cluster import Cluster
    from pilotage.history.history import History
    from pilotage.manager.clusters import MemberCluster
    from pilotage.manager.declared import Declared
    from pilotage.manager.lag import Lag
    from pilotage.manager.lifecycle import Lifecycle
    from pilotage.manager.options import ManagerOptions
    from pilotage.manager.runs.beginning import Beginning
    from pilotage.manager.runs.idleness import Idleness
    from pilotage.manager.supervision.tasks import Supervision
    from pilotage.manager.work import WorkTracker
    from pilotage.meta.forms import Kind


class Running:
    """The part of a manager that is about its start and its end."""

    cluster: Cluster
    options: ManagerOptions
    work: WorkTracker
    declared: Declared
    beginning: Beginning
    history: History
    _lifecycle: Lifecycle
    _members: list[MemberCluster]
    _exits: AsyncExitStack | None = None
    _lag: Lag | None = None
    _supervision: Supervision | None = None
    _started = False

    async def start(self, timeout: Seconds | None = None) -> None:
        """Run until SIGTERM, SIGINT, `timeout` seconds or cancellation, then shut down in order.

        Raises the error of a runnable, LeaderElectionLost, ShutdownTimeout if not all ended in the grace period, or an
        exception group of two of them. A cancellation is passed on after the shutdown; a second one ends the grace
        period.
        """
        import asyncio

        timeout = optional_seconds(timeout, "timeout")
        if self._started:
            raise AlreadyStarted("the manager was started already; create another one")
        self._launch()
        self._started = True
        lifecycle = self._lifecycle
        supervision = self._supervision
        with self._signals():
            try:
                with supervision.ending_after(timeout) if supervision is not None else nullcontext():
                    is_over = not await lifecycle.wait_stop_asked(timeout)
                if is_over:
                    lifecycle.ask_stop(f"the timeout of {timeout:g} s has passed")
            except asyncio.CancelledError:
                lifecycle.ask_stop("cancelled")
                await lifecycle.stop(raising=False)
                raise
            await lifecycle.stop()

    async def ready(self) -> None:
        """Wait until everything that needs no leader has started: webhooks are called, caches are synced.

        `start` runs in another task meanwhile. Raises ManagerStopped if the manager stops before.
        """
        await self._lifecycle.wait_ready()

    async def run_until_idle(self, timeout: Seconds | None = None, horizon: Seconds = 0) -> None:
        """Start all runnables unless they run, and wait until there is nothing left to do.

        That is: queues are empty, no request waits for a retry, nothing that returned `requeue_after` is due within
        `horizon` seconds, no work is active, the embedded API server has deleted the dependents of deleted owners, and
        the cache shows what was written. Everything keeps running until the block ends, so it can be called again.
        Raises NotIdle after `timeout` seconds, with the reasons; the error of a runnable; and ManagerStopped after a
        signal.
        """
        timeout, horizon = optional_seconds(timeout, "timeout"), seconds(horizon, "horizon", infinite=True)
        self._launch()
        with self._signals():
            if not await self._idleness.wait(timeout, horizon):
                await self._lifecycle.stop()
                raise ManagerStopped("the manager was stopped before it was idle")
        self.beginning.mark_idle()

    def limit_grace(self, timeout: Seconds) -> None:
        """Shorten `graceful_shutdown_timeout`, for a program that has no time left when it stops: active work then has
        at most `timeout`."""
        self._lifecycle.limit_grace(seconds(timeout, "timeout"))

    @cached_property
    def _idleness(self) -> Idleness:
        from pilotage.manager.runs.idleness import Idleness

        return Idleness(self._lifecycle, self.work, self._lag, self.cluster, self.history, self._members)

    async def run_once(
        self, kind: Kind, name: str, *, namespace: str = "", timeout: Seconds | None = None, horizon: Seconds = 0
    ) -> None:
        """Reconcile one object, by name and `namespace`, and the requests of events that this causes, but not all
        objects.

        `timeout` and `horizon` are those of `run_until_idle`. Raises NotFound if the object does not exist,
        InvalidDefinition if no controller is for its kind, AlreadyStarted if the manager has started with all objects.
        """
        from pilotage.manager.runs.beginning import controllers_of

        if self._lifecycle.launched and not self.beginning.only:
            raise AlreadyStarted("run_once must be called before the manager is started; create another manager")
        controllers = controllers_of(kind, self._lifecycle.groups.entries())
        await self.cluster.client.get(kind, name, namespace=namespace)
        self.beginning.begin_with(kind, name, namespace, controllers if self._lifecycle.launched else ())
        await self.run_until_idle(timeout, horizon)

    def _launch(self) -> None:
        if self._exits is None:
            raise closed()
        for place in self.declared.take_incomplete():
            from pilotage.manager.lifecycle import log

            log.warning("A controller was not completed and does not run: call complete(reconciler)", builder=place)
        self._lifecycle.launch()

    def _signals(self, *, deferred: bool = False) -> AbstractContextManager[None]:
        if not self.options.handle_signals:
            return nullcontext()
        from pilotage.manager import signals

        handled = signals.deferred if deferred else signals.handled
        return handled(self._lifecycle.on_signal, self._lifecycle.on_arrival)


def closed() -> InvalidDefinition:
    """The error of a call that needs an open manager."""
    return InvalidDefinition("the manager is not open: use it inside `async with Manager(…) as manager:`")
