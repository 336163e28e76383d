"""The Job controller: creates Pods until enough have succeeded."""

from __future__ import annotations

from collections.abc import Awaitable

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.options import ControllerOptions
from pilotage.controller.request import Enqueue, Request
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.batch.v1 import Job
from pilotage.workloads.context import Context
from pilotage.workloads.jobs.orphans import OrphanReconciler
from pilotage.workloads.jobs.reconciler import BATCH, NAME, JobReconciler
from pilotage.workloads.jobs.view import view_of
from pilotage.workloads.pods.source import PodSource, Requests
from pilotage.workloads.pods.view import PodView
from pilotage.workqueue import ItemExponentialFailureRateLimiter


def setup(context: Context) -> None:
    """Add the controller to the manager, and a second one of the same name for Pods whose Job is gone."""
    jobs, handlers = JobReconciler(context, context.recorder(NAME)), Handlers(context)
    builder = ControllerBuilder(context.manager).named(NAME).watches(Job, handlers.job_requests)
    builder.watches_raw_source(PodSource(context.pods, handlers.pod_requests))
    builder.with_options(_options()).complete(jobs.reconcile)
    orphans = OrphanReconciler(context.client, context.pods)
    builder = ControllerBuilder(context.manager).named(NAME)
    builder.watches_raw_source(PodSource(context.pods, orphans.pod_requests))
    builder.watches(Job, orphans.job_requests).with_options(_options()).complete(orphans.reconcile)


def _options() -> ControllerOptions:
    return ControllerOptions(rate_limiter=ItemExponentialFailureRateLimiter(1, 60), low_priority=0)


class Handlers:
    """The handlers of events. A Job whose Pods or status have changed is reconciled a little later."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def job_requests(self, event: Event[Job]) -> Requests:
        """The Job itself."""
        request = Request(event.name, event.namespace)
        old, new = event.old_header, event.new_header
        if old is not None and new is not None and old.generation == new.generation:
            return () if event.new_data is not None and view_of(event.new_data).finished else self._later([request])
        return (request,)

    def pod_requests(self, before: PodView | None, after: PodView | None) -> Requests | Awaitable[Requests]:
        """The Jobs that control a Pod, or may adopt it."""
        found = [job for pod in (before, after) if pod is not None and (job := _job(pod)) is not None]
        if (
            after is None
            or after.controller_uid
            or (before is not None and before.labels == after.labels and not found)
        ):
            return self._later(found)
        return self._adopters(after, found)

    async def _adopters(self, pod: PodView, known: list[Request]) -> Requests:
        jobs = await self._context.client.list(Job, namespace=pod.namespace)
        selecting = [job for job in jobs if Selector.from_label_selector(job.spec.selector or {}).matches(pod.labels)]
        return self._later([*known, *map(Request.of, selecting)])

    def _later(self, requests: list[Request]) -> Requests:
        due = self._context.clock() + BATCH
        for request in requests:
            self._context.progress.set((request.namespace, request.name), due, "Job")
        return [Enqueue(request, after=BATCH) for request in dict.fromkeys(requests)]


def _job(pod: PodView) -> Request | None:
    """The Job that controls a Pod."""
    return Request(pod.controller_name, pod.namespace) if pod.controller_kind == "Job" else None
