"""The TTL-after-finished controller: deletes Jobs some time after they have ended."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import NotFound, PilotageError
from pilotage.types.batch.v1 import Job
from pilotage.workloads.context import Context
from pilotage.workloads.jobs.view import FINISHED, view_of

NAME = "ttl-after-finished-controller"


class NoFinishTime(PilotageError):
    """A finished Job does not have the time at which it ended."""


def setup(context: Context) -> None:
    """Add the controller to the manager."""
    ControllerBuilder(context.manager).named(NAME).watches(Job, requests).complete(TTLReconciler(context).reconcile)


def requests(event: Event[Job]) -> Requests:
    """Finished Jobs with a TTL."""
    if event.new_data is None:
        return ()
    job = view_of(event.new_data)
    needs_cleanup = job.deleted is None and job.ttl is not None and job.finished
    return (Request(job.name, job.namespace),) if needs_cleanup else ()


def time_left(job: Job, now: datetime) -> timedelta | None:
    """How long a Job is kept; None for a Job that is not deleted here."""
    ttl, status = job.spec.ttl_seconds_after_finished, job.status
    conditions = status.conditions if status is not None else []
    finished = next((one for one in conditions if one.type in FINISHED and one.status == "True"), None)
    if job.metadata.deletion_timestamp is not None or ttl is None or finished is None:
        return None
    if finished.last_transition_time is None:
        key = f"{job.metadata.namespace}/{job.metadata.name}"
        raise NoFinishTime(f"unable to find the time when the Job {key} finished")
    return finished.last_transition_time + timedelta(seconds=ttl) - now


class TTLReconciler:
    """Deletes a Job, with its Pods, when its time is over."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def reconcile(self, request: Request) -> Result:
        client, clock = self._context.client, self._context.clock
        job = await client.find(Job, request.name, namespace=request.namespace)
        left = time_left(job, clock()) if job is not None else None
        if left is not None and left <= timedelta():
            # What the cache has may be old: before the delete, the server decides.
            job = await client.api_reader.find(Job, request.name, namespace=request.namespace)
            left = time_left(job, clock()) if job is not None else None
        if job is None or left is None:
            return Result()
        if left > timedelta():
            return Result(requeue_after=left)
        with suppress(NotFound):
            await client.delete(job, propagation_policy="Foreground", uid=job.metadata.uid)
        return Result()
