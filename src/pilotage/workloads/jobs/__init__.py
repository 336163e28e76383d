"""The Job controller: creates Pods until enough have succeeded."""

from __future__ import annotations

from collections.abc import Awaitable

from pilotage.client.client import Client
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.options import ControllerOptions
from pilotage.controller.request import Enqueue, Request
from pilotage.meta.objects import Header
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import Pod
from pilotage.workloads.context import Context
from pilotage.workloads.jobs.orphans import OrphanReconciler
from pilotage.workloads.jobs.reconciler import BATCH, JobReconciler
from pilotage.workqueue import ItemExponentialFailureRateLimiter

NAME = "job-controller"


def setup(context: Context) -> None:
    """Add the controller to the manager, and a second one of the same name for Pods whose Job is gone."""
    recorder = context.recorder(NAME)
    jobs = JobReconciler(context, recorder)
    builder = ControllerBuilder(context.manager).named(NAME).watches(Job, job_requests)
    builder.watches(Pod, PodRequests(context.client)).with_options(_options()).complete(jobs.reconcile)
    orphans = OrphanReconciler(context.client, context.pods)
    builder = ControllerBuilder(context.manager).named(NAME).watches(Pod, orphans.pod_requests)
    builder.watches(Job, orphans.job_requests).with_options(_options()).complete(orphans.reconcile)


def _options() -> ControllerOptions:
    return ControllerOptions(rate_limiter=ItemExponentialFailureRateLimiter(1, 60), low_priority=0)


def job_requests(event: Event[Job]) -> Requests:
    """A new or changed Job at once; one whose status has changed a little later, as after events of its Pods."""
    request = Request(event.name, event.namespace)
    old, new = event.old_header, event.new_header
    if old is not None and new is not None and old.generation == new.generation:
        return (_later(request),)
    return (request,)


def _later(request: Request) -> Enqueue:
    return Enqueue(request, after=BATCH)


class PodRequests:
    """The handler of events of Pods: their Jobs, or the Jobs that may adopt them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __call__(self, event: Event[Pod]) -> Requests | Awaitable[Requests]:
        old, new = event.old_header, event.new_header
        found = {_job(header) for header in (old, new) if header is not None} - {None}
        if new is None or _is_controlled(new) or (old is not None and old.labels == new.labels and not found):
            return [_later(request) for request in found if request is not None]
        return self._adopters(new, [request for request in found if request is not None])

    async def _adopters(self, pod: Header, known: list[Request]) -> Requests:
        jobs = await self._client.list(Job, namespace=pod.namespace)
        selecting = [job for job in jobs if Selector.from_label_selector(job.spec.selector or {}).matches(pod.labels)]
        return [_later(request) for request in (*known, *map(Request.of, selecting))]


def _is_controlled(header: Header) -> bool:
    return any(owner.controller for owner in header.owner_references)


def _job(header: Header) -> Request | None:
    """The Job that controls a Pod."""
    for owner in header.owner_references:
        if owner.controller:
            is_job = owner.kind == "Job" and owner.api_version.startswith("batch/")
            return Request(owner.name, header.namespace) if is_job else None
    return None
