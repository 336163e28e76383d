"""The controller: sources fill its queue, and its workers call the reconciler for each request on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pilotage.cluster.fencing import fenced
from pilotage.controller import reasons
from pilotage.controller.activity import Unfinished
from pilotage.controller.gate import Gate
from pilotage.controller.hotloops import HotLoops, OnHotLoop
from pilotage.controller.journals import attach, journal_of
from pilotage.controller.metrics import ControllerMetrics
from pilotage.controller.options import ControllerOptions, ResolvedOptions, resolve
from pilotage.controller.reconcilers.reconciler import AnyReconciler, reconcile_function
from pilotage.controller.request import Request
from pilotage.controller.sources.runningsources import RunningSources
from pilotage.controller.sources.sources import Source
from pilotage.controller.worker import Job, Worker, log
from pilotage.errors import InvalidDefinition
from pilotage.history.history import History
from pilotage.history.options import HistoryOptions
from pilotage.history.records import TextNote
from pilotage.manager.failures import OnReconcileFailure
from pilotage.manager.options import ControllerDefaults
from pilotage.manager.runnables import Repeated
from pilotage.manager.runs.beginning import Beginning
from pilotage.manager.shutdown import UNWIND_SECONDS
from pilotage.manager.work import RECONCILE, ActiveWork, WorkTracker
from pilotage.meta.bounds.amounts import Seconds, optional_seconds
from pilotage.meta.kinds import GroupKind, GroupVersionKind
from pilotage.tasks import TaskCancelled, is_set_within
from pilotage.workqueue import WorkQueue

if TYPE_CHECKING:
    from pilotage.controller.resumption import Resumption
    from pilotage.history.why.situation import ControllerState

REPEATED = 5
"""The number of reconciles of one request in one run above which it may trigger itself."""

LATELY = 1.0
"""Seconds since the last reconcile after which a request no longer counts as repeated."""


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """The settings that a manager adds to its controllers."""

    defaults: ControllerDefaults | None = None
    """For options that a controller does not set."""
    tracker: WorkTracker | None = None
    """Records every reconcile."""
    gate: Gate | None = None
    """Lets requests through if there are shards."""
    beginning: Beginning | None = None
    """Decides with which objects a controller begins."""
    on_failure: OnReconcileFailure | None = None
    """Called with each reconcile that has failed."""
    on_hot_loop: OnHotLoop | None = None
    """Called with each request that triggers itself."""
    history: History | None = None
    """Records why reconciles run, and what they do."""


@dataclass(frozen=True, slots=True)
class ControllerStatistics:
    """The state of a controller at one moment."""

    kind: GroupVersionKind | None
    ready: int
    """Requests on the queue."""
    delayed: int
    running: int
    workers: int
    unfinished: Mapping[Request, Unfinished]
    """The requests that are retried."""
    hot: Mapping[Request, str]
    """The requests that trigger themselves, with a sentence about each."""


class Controller:
    """A runnable that reconciles. Created by `ControllerBuilder`, or directly for use without a manager.

    `start` starts the sources, waits until they are synced, and runs the workers until it is cancelled; after
    `stop_accepting` it returns when the running reconciles have ended. `stop` stops this controller alone; its manager
    and the other controllers keep running.
    """

    def __init__(
        self,
        name: str,
        reconciler: AnyReconciler,
        options: ControllerOptions | None = None,
        *,
        kind: GroupVersionKind | None = None,
        manager: ManagerSettings | None = None,
    ) -> None:
        """`kind` is the kind of the requests; `manager` is what a manager adds."""
        if not name:
            raise InvalidDefinition("a controller needs a name, which its metrics and logs use")
        options = options or ControllerOptions()
        self.name = name
        self.kind = kind
        manager = manager or ManagerSettings()
        self.settings: ResolvedOptions = resolve(
            options, manager.defaults, kind.group_kind if kind is not None else None
        )
        self._stopping = asyncio.Event()
        self._started = False
        self._stop_asked = False
        self._ended = asyncio.Event()
        self._workers: dict[asyncio.Task[None], Worker] = {}
        self.reconciler = reconciler
        reconcile = reconcile_function(reconciler, self._stopping.is_set)
        self.queue: WorkQueue[Request] = (
            options.new_queue(name, options.rate_limiter)
            if options.new_queue is not None
            else WorkQueue(name, rate_limiter=options.rate_limiter)
        )
        self._metrics = ControllerMetrics(name)
        attach(self.queue, (manager.history or History(HistoryOptions(enabled=False))).journal(name, kind))
        self._job = Job(
            controller=name,
            kind=kind,
            reconcile=reconcile,
            queue=self.queue,
            journal=journal_of(self.queue),
            metrics=self._metrics,
            stopping=self._stopping,
            tracker=manager.tracker,
            gate=manager.gate,
            hot_loops=HotLoops(name, log, manager.on_hot_loop),
            on_failure=manager.on_failure,
            timeout=self.settings.reconciliation_timeout,
            recover_panic=self.settings.recover_panic,
        )
        self._beginning = manager.beginning
        self._resumption: Resumption | None = None
        self._log = log.bind(**self._job.journal.controller.log_fields)
        self._running_sources = RunningSources(self.queue, self.settings.cache_sync_timeout, self._log)

    def watch(self, source: Source) -> None:
        """Add a source; one that is added to a running controller starts at once."""
        self._running_sources.add(source)

    @property
    def needs_leader_election(self) -> bool:
        """With shards, a controller runs in every replica."""
        return self.settings.needs_leader_election and self._job.gate is None

    @property
    def warm_up(self) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Fills the queue before the election is won; None where it is off or there is no election."""
        return self._warm_up if self.settings.enable_warmup and self.needs_leader_election else None

    async def start(self) -> None:
        """Run until cancelled, or until the workers have ended after `stop_accepting`."""
        if self._started:
            raise InvalidDefinition(
                f"the controller {self.name} was started more than once; probably it was added to a manager twice"
            )
        self._started = True
        if self._stop_asked:
            self._ended.set()
            return
        try:
            with self._gated():
                async with asyncio.TaskGroup() as tasks:
                    try:
                        await self._run(tasks)
                    finally:
                        self._stopping.set()  # before the group cancels the workers: else they ignore it
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            self._stopping.set()
            self.queue.shut_down()
            self._ended.set()

    @property
    def job(self) -> Job:
        """What its workers share."""
        return self._job

    @property
    def has_active_work(self) -> bool:
        """Whether a reconcile of this controller is running."""
        return bool(self.queue.in_progress())

    def active_work(self) -> list[ActiveWork]:
        """The reconciles of this controller that are running, the longest first."""
        running = self.queue.in_progress().items()
        return [ActiveWork(RECONCILE, f"{self.name} {request}", seconds) for request, seconds in running]

    async def stop(self, timeout: Seconds | None = None) -> bool:
        """Stop this controller alone: accept no more requests, and wait for the running reconciles.

        After `timeout` seconds (None: no limit) they are cancelled. Returns whether all of them ended by themselves.
        A stopped controller cannot be started again; one that has not started yet will never reconcile. A call from
        a reconcile of this controller does not wait for that reconcile: it returns at once, with False.
        """
        timeout = optional_seconds(timeout, "timeout")
        self._log.info("Stopping Controller", active=[str(work) for work in self.active_work()])
        self._stop_asked = True
        self.stop_accepting()
        self._running_sources.stop()
        if not self._started:
            return True
        if asyncio.current_task() in self._workers:
            return False
        graceful = await is_set_within(self._ended, timeout)
        if not graceful:
            self._cancel_workers()
            await is_set_within(self._ended, UNWIND_SECONDS)
        self._log.info("Stopped Controller", graceful=graceful)
        return graceful

    def stop_accepting(self) -> None:
        """Accept no more requests. Running reconciles continue; what is on the queue is dropped."""
        self.queue.shut_down()

    def reconcile_object(self, name: str, namespace: str = "") -> None:
        """Add a request for an object, as if it had changed."""
        request = Request(name, namespace)
        self.queue.add(request, note=TextNote("reconcile_object"))

    def state_of(self, kind: GroupKind, name: str, namespace: str = "") -> ControllerState | None:
        """What this controller does with an object of a kind; None if it does not watch the kind."""
        relation = self._relation_to(kind)
        if not relation:
            return None
        from pilotage.controller.situation import controller_state, with_request

        state = controller_state(
            self._job,
            relation,
            self._running_sources,
            is_stopped=self._stop_asked or self._ended.is_set(),
            needs_leader=self.needs_leader_election,
            workers=self.settings.max_concurrent_reconciles,
        )
        return state if relation != "for" else with_request(state, Request(name, namespace), self._job, self._workers)

    def _relation_to(self, kind: GroupKind) -> str:
        if self.kind is not None and self.kind.group_kind == kind:
            return "for"
        return "watches" if any(source.gvk.group_kind == kind for source in self._running_sources.kinds) else ""

    def idle(self, horizon: float = 0.0) -> bool:
        """Whether there is nothing to do now, and nothing is scheduled within `horizon` seconds."""
        gate = self._job.gate
        return (
            not self._job.activity.unfinished
            and (gate is None or gate.handover_finished)
            and self._running_sources.idle(horizon)
            and self.queue.idle(horizon)
        )

    def failing(self, horizon: float = 0.0) -> list[str]:
        """The requests that have failed, if nothing is left to do but to retry them; else none."""
        unfinished, waiting = self._job.activity.unfinished, self.queue.waiting()
        gate = self._job.gate
        is_waiting_only = (
            all(state.error for state in unfinished.values())
            and (gate is None or gate.handover_finished)
            and self._running_sources.idle(horizon)
            and not self.queue.in_progress()
            and not reasons.due(waiting, unfinished, horizon)
        )
        return [str(request) for request in unfinished] if is_waiting_only else []

    def busy(self, horizon: float = 0.0) -> list[str]:
        """Why this controller is not idle, as sentences; empty if it is idle."""
        if self.idle(horizon):
            return []
        again = {(one.namespace, one.name) for one in self.repeated()}  # the manager reports these
        unfinished, waiting = self._job.activity.unfinished, _without(self.queue.waiting(), again)
        running = _without(self.queue.in_progress(), again)
        found = self._running_sources.busy(horizon)
        if self._job.gate is not None and not self._job.gate.handover_finished:
            found.append("replicas hand over keys")
        found += reasons.tried_again(unfinished, waiting, running)
        if self._job.tracker is None:  # else the owner of the tracker reports them
            found += reasons.running(running)
        found += reasons.due(waiting, unfinished, horizon)
        return [f"controller {self.name}: {each}" for each in found]

    def statistics(self) -> ControllerStatistics:
        """The state of the queue, and what needs attention."""
        queue = self.queue.statistics()
        return ControllerStatistics(
            kind=self.kind,
            ready=queue.ready,
            delayed=queue.delayed,
            running=queue.held,
            workers=self.settings.max_concurrent_reconciles,
            unfinished={**self._job.activity.unfinished},
            hot=self._job.hot_loops.current(),
        )

    def count_reconciles(self, stalled: Callable[[], None] | None) -> None:
        """Count from now on how often each request is reconciled; None: stop counting.

        `stalled` is called when one request is reconciled repeatedly while the loop's time does not advance.
        """
        if stalled is None:
            self._job.activity.stop_counting()
        else:
            self._job.activity.count(stalled)

    def repeated(self) -> list[Repeated]:
        """The requests that were reconciled very often since the count began, and again just now."""
        now = asyncio.get_running_loop().time()
        activity, running = self._job.activity, self.queue.in_progress()
        return [
            Repeated(self.name, request.namespace, request.name, count.reconciles)
            for request, count in (activity.counts or {}).items()
            if count.reconciles >= REPEATED and not count.is_delayed and request not in activity.unfinished
            if now - count.last < LATELY or request in running
        ]

    @contextmanager
    def _gated(self) -> Iterator[None]:
        """With shards: get the requests whose keys are handed over, and write only while this replica is a member."""
        gate = self._job.gate
        if gate is None:
            yield
            return
        with gate.feeding(self.queue), fenced(gate.fence):
            yield

    async def _run(self, tasks: asyncio.TaskGroup) -> None:
        feeding = None
        if self._claim_sources():  # else the warm-up runs them
            feeding = tasks.create_task(self._feed(), name=f"{self.name} sources")
        # Workers start when the caches are synced: else a reconciler takes an object that is not there yet for deleted.
        await self._running_sources.wait_for_sync()
        if self._stop_asked:
            return
        if self._resumption is not None:
            self._resumption.begin(self.queue)
        self._log.info("Starting Controller")
        count = self.settings.max_concurrent_reconciles
        self._metrics.workers.set(count)
        workers = [Worker(self._job) for _ in range(count)]
        self._workers = {
            tasks.create_task(worker.run(), name=f"{self.name} worker {n}"): worker for n, worker in enumerate(workers)
        }
        self._log.info("Starting workers", **{"worker count": count})
        await asyncio.wait(self._workers)
        if feeding is not None:
            feeding.cancel()

    def _claim_sources(self) -> bool:
        """Claim the sources: returns whether the caller must run them. They begin with the objects that this run is
        for."""
        if not self._running_sources.claim():
            return False
        if self._beginning is not None and self._beginning.is_partial:
            from pilotage.controller.resumption import Resumption

            self._resumption = Resumption(self.name, self.kind, self._beginning)
            self._resumption.attach(self._running_sources.kinds, self._job.activity)
        return True

    async def _feed(self) -> None:
        try:
            await self._running_sources.run()
        except asyncio.CancelledError:
            if self._stopping.is_set():
                raise
            self._stopping.set()
            raise TaskCancelled(f"the sources of {self.name} were cancelled, and not by their controller") from None
        except BaseException:
            self._stopping.set()  # the whole controller ends with its sources
            raise

    async def _warm_up(self) -> None:
        if self._claim_sources():
            await self._running_sources.run()
            await self._running_sources.wait_for_sync()

    def _cancel_workers(self) -> None:
        active = [str(work) for work in self.active_work()]
        self._log.warning("Reconciles did not end in time and are cancelled", active=active)
        self._stopping.set()  # so that the workers end with it
        for worker in self._workers:
            worker.cancel()


def _without(found: Mapping[Request, float], names: Collection[tuple[str, str]]) -> dict[Request, float]:
    return {request: value for request, value in found.items() if (request.namespace, request.name) not in names}
