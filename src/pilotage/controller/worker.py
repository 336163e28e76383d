"""The worker: takes a request, calls the reconciler, and requeues or forgets the request by the outcome."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field

from pilotage.cache.errors import NamespaceRemoved
from pilotage.controller.activity import Activity, error_text
from pilotage.controller.gate import Gate
from pilotage.controller.hotloops import HotLoops
from pilotage.controller.journals import traceparents, trigger_texts
from pilotage.controller.metrics import ControllerMetrics
from pilotage.controller.reconcilers.reconciler import Outcome, Reconcile
from pilotage.controller.request import Request
from pilotage.controller.result import Result, is_terminal, leaves
from pilotage.errors import Conflict, NotFound, PilotageError, StaleCache
from pilotage.history.journal import Journal
from pilotage.history.records import RetryNote
from pilotage.history.runs import Run
from pilotage.manager.failures import OnReconcileFailure, ReconcileFailure
from pilotage.manager.work import RECONCILE, WorkTracker
from pilotage.meta.kinds import GroupVersionKind
from pilotage.tasks import TaskCancelled
from pilotage.telemetry import stack, tracing
from pilotage.telemetry.logs import logged_fields, logger
from pilotage.telemetry.tracing import Tracing
from pilotage.workqueue import QueueShutDown, WorkQueue
from pilotage.workqueue.queue import Taking

log = logger("pilotage.controller")

_DONE = Result()
_TRANSIENT = (Conflict, StaleCache)
"""Transient: another writer was faster, or the cache is late. Logged without a traceback, which would not help."""


class ReconciliationTimeout(PilotageError, TimeoutError):
    """A reconcile took longer than `reconciliation_timeout`, and was cancelled."""


class InvalidResult(PilotageError):
    """A reconciler returned something other than a Result."""


class Panic(PilotageError):
    """A reconciler raised something other than an `Exception`, or returned something other than a Result, and
    `recover_panic` is off."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the workers of a controller share."""

    controller: str
    kind: GroupVersionKind | None
    """The kind of the objects of the requests, where it is known."""
    reconcile: Reconcile
    queue: WorkQueue[Request]
    journal: Journal
    metrics: ControllerMetrics
    stopping: asyncio.Event
    """Set before the workers are cancelled. A cancellation without it came from a reconciler, and is ignored."""
    hot_loops: HotLoops
    tracker: WorkTracker | None = None
    gate: Gate | None = None
    activity: Activity = field(default_factory=Activity)
    on_failure: OnReconcileFailure | None = None
    timeout: float = 0.0
    recover_panic: bool = True


def reconcile_id() -> str:
    """The id of the current reconcile; empty outside of one."""
    return str(logged_fields().get("reconcileID", ""))


class Worker:
    """Reconciles one request after the other, until the queue is shut down."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._is_delayed = False  # whether the last reconcile returned `requeue_after`
        self.request: Request | None = None
        """The request that is being reconciled."""

    async def run(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # a coroutine runs in one
        queue, tracker, gate = self._job.queue, self._job.tracker, self._job.gate
        try:
            while True:
                taking = queue.take()
                async with taking as request:
                    if tracker is not None and not tracker.has_room:
                        await tracker.wait_for_room()
                        if not tracker.accepting:
                            return
                    if gate is None:
                        await self._process(taking, loop)
                    else:
                        with gate.passing(request) as passes:
                            if passes:
                                await self._process(taking, loop)
                            else:
                                self._leave(request)
                    if task.cancelling() and not self._job.stopping.is_set():
                        await _ignore_cancellation(task)
        except QueueShutDown:
            return
        except asyncio.CancelledError:
            if self._job.stopping.is_set():
                raise
            self._job.stopping.set()
            raise TaskCancelled(f"{task.get_name()} was cancelled, and not by its controller") from None
        except BaseException:
            self._job.stopping.set()  # the whole controller ends, and the other workers with it
            raise

    async def _process(self, taking: Taking[Request], loop: asyncio.AbstractEventLoop) -> None:
        job, request, notes, traces = self._job, taking.item, taking.notes, tracing.active()
        shows_debug = log.shows_debug()
        triggers = trigger_texts(notes) if shows_debug or traces is not None else []
        began = loop.time()
        run = job.journal.begin(request, notes, began, taking.priority)
        self._is_delayed, self.request = False, request
        job.metrics.active.inc()
        try:
            with self._tracked(request):
                if traces is None:
                    await self.reconcile(request, run)
                else:
                    with self._span(traces, run, triggers):
                        await self.reconcile(request, run)
                if shows_debug:
                    result, seconds = run.result.partition("=")[0], round(loop.time() - began, 6)
                    log.debug("Reconciled", result=result, seconds=seconds, triggers=triggers)
                if run.depth:
                    job.hot_loops.record(request, run, loop.time())
        finally:
            ended = loop.time()
            self.request = None
            job.journal.end(run, ended)
            job.metrics.active.dec()
            job.metrics.seconds.observe(ended - began)
            job.activity.record_end(request, ended, is_delayed=self._is_delayed)

    def _leave(self, request: Request) -> None:
        """Drop a request that another replica works on."""
        self._job.queue.forget(request)
        self._job.activity.forget(request)

    def _tracked(self, request: Request) -> AbstractContextManager[object]:
        tracker = self._job.tracker
        return tracker.track(RECONCILE, f"{self._job.controller} {request}") if tracker is not None else nullcontext()

    def _span(self, traces: Tracing, run: Run, triggers: list[str]) -> AbstractContextManager[object]:
        attributes: dict[str, str | int | bool | list[str]] = {
            **{key: str(value) for key, value in logged_fields().items()},
            "triggers": triggers,
        }
        causes = traceparents(run.causes())
        return traces.span(f"Reconcile {self._job.controller}", attributes, causes=causes)

    async def reconcile(self, request: Request, run: Run) -> None:
        """Call the reconciler, and record its result or its error. A replay calls it, too."""
        job = self._job
        try:
            result = _checked(await (job.reconcile(request) if not job.timeout else self._limited(request)))
        except KeyboardInterrupt:
            raise  # from the user, not from the reconciler
        except asyncio.CancelledError as error:
            if job.stopping.is_set():
                raise
            self._handle_panic(request, run, error)
        except InvalidResult as error:
            self._handle_panic(request, run, error)
        except Exception as error:
            self._fail(request, run, error)
        except BaseException as error:  # sys.exit() in a library must not end the program, nor the worker
            self._handle_panic(request, run, error)
        else:
            self._finish(request, run, result)

    async def _limited(self, request: Request) -> Outcome:
        """Reconcile within the timeout."""
        job = self._job
        limit = asyncio.timeout(job.timeout)
        try:
            async with limit:
                return await job.reconcile(request)
        except TimeoutError:
            if not limit.expired():
                raise
            message = f"the reconcile took longer than the reconciliation_timeout of {job.timeout:g} s"
            raise ReconciliationTimeout(message) from None
        finally:
            if limit.expired():
                job.metrics.timeouts.inc()

    def _finish(self, request: Request, run: Run, result: Result) -> None:
        queue, activity = self._job.queue, self._job.activity
        if result is _DONE or not (result.requeue_after or result.requeue):
            queue.forget(request)
            activity.record_success(request)
            run.result = "success"
            self._job.metrics.results["success"]()
            return
        priority = run.priority if result.priority is None else result.priority
        if result.requeue_after:
            queue.forget(request)  # not a failure: the backoff begins again
            activity.record_due(request, result.requeue_after)
            self._is_delayed = True
            run.result = f"requeue_after={result.requeue_after:g}"
            note = RetryNote(run.number, run.result)
            queue.add(request, after=result.requeue_after, priority=priority, note=note)
            self._job.metrics.results["requeue_after"]()
        else:
            activity.record_retry(request, None)
            run.result = "requeue"
            queue.add(request, rate_limited=True, priority=priority, note=RetryNote(run.number, "requeue"))
            self._job.metrics.results["requeue"]()

    def _fail(self, request: Request, run: Run, error: BaseException) -> None:
        """Count, log and requeue. Called in the `except` block, so that the log line has the traceback."""
        job = self._job
        if all(isinstance(leaf, NamespaceRemoved) and leaf.namespace == request.namespace for leaf in leaves(error)):
            log.info("Nothing to reconcile, the namespace was removed from the cache")
            self._finish(request, run, _DONE)
            return
        if self._is_gone(request, error):
            log.debug("Object not found, nothing to reconcile")
            self._finish(request, run, _DONE)
            return
        job.metrics.errors.inc()
        if isinstance(error, StaleCache):
            resource, _, group = error.resource.partition(".")
            job.metrics.stale.labels(job.controller, group, resource).inc()
        job.metrics.results["error"]()
        run.result, run.error, run.place = "error", error_text(error), stack.place_of_error(error)
        if (traces := tracing.active()) is not None:
            traces.fail(error)
        if is_terminal(error):
            job.metrics.terminal_errors.inc()
            job.activity.record_success(request)
        else:
            job.activity.record_retry(request, error)
            note = run.retry()
            job.queue.add(request, rate_limited=True, priority=run.priority, note=note)
        if isinstance(error, _TRANSIENT):
            log.error("Reconciler error", error=error)
        else:
            log.exception("Reconciler error", error=error)
        if job.on_failure is not None:
            is_retried = not is_terminal(error)
            failure = ReconcileFailure(
                job.controller, str(request), request.namespace, request.name, error, is_retried=is_retried
            )
            try:
                job.on_failure(failure)
            except KeyboardInterrupt:
                raise
            except BaseException:  # as in a reconcile: it must not end the worker
                log.exception("Callback on_reconcile_failure failed")

    def _handle_panic(self, request: Request, run: Run, error: BaseException) -> None:
        self._job.metrics.panics.inc()
        if not self._job.recover_panic:
            raise Panic(f"the reconciler of {self._job.controller} raised {error!r} for {request}") from error
        self._fail(request, run, error)

    def _is_gone(self, request: Request, error: BaseException) -> bool:
        """Whether the only error is that the request's own object does not exist."""
        kind = self._job.kind
        return kind is not None and all(
            isinstance(leaf, NotFound)
            and (leaf.group, leaf.kind, leaf.namespace, leaf.name)
            == (kind.group, kind.kind, request.namespace, request.name)
            for leaf in leaves(error)
        )


async def _ignore_cancellation(task: asyncio.Task[object]) -> None:
    """Discard a cancellation of the worker by its own reconciler. It may arrive at the next await, which is here."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    while task.cancelling():
        task.uncancel()


def _checked(result: object) -> Result:
    if result is None:
        return _DONE
    if not isinstance(result, Result):
        raise InvalidResult(
            f"a reconciler must return a Result or None, not {type(result).__name__}: to be called again in 30 s, it "
            "returns Result(requeue_after=30)"
        )
    return result
