"""Removes the finalizer of Pods that no Job counts: their Job was deleted or has ended, or they have none."""

from __future__ import annotations

from contextlib import suppress

from pilotage.client.client import Client
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.controller.workloads.jobs import is_job_finished
from pilotage.errors import NotFound
from pilotage.meta.owners import controller_of
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import Pod
from pilotage.workloads.jobs.modes import is_managed_elsewhere
from pilotage.workloads.jobs.reconciler import RELEASE
from pilotage.workloads.jobs.view import view_of
from pilotage.workloads.pods.index import Pods
from pilotage.workloads.pods.view import JOB_TRACKING_FINALIZER, PodView


class OrphanReconciler:
    """Its requests are Pods."""

    def __init__(self, client: Client, pods: Pods) -> None:
        self._client = client
        self._pods = pods

    def pod_requests(self, before: PodView | None, pod: PodView | None) -> Requests:
        """A Pod with the finalizer that has no controller, or is being deleted."""
        if pod is None or JOB_TRACKING_FINALIZER not in pod.finalizers:
            return ()
        is_candidate = not pod.controller_uid or (pod.controller_kind == "Job" and pod.deleted is not None)
        return (Request(pod.name, pod.namespace),) if is_candidate else ()

    def job_requests(self, event: Event[Job]) -> Requests:
        """The Pods of a Job that was deleted or has ended."""
        header = event.header
        if header is None or (event.new_data is not None and not view_of(event.new_data).finished):
            return ()
        pods = self._pods.controlled_by(header.uid)
        return [Request(pod.name, pod.namespace) for pod in pods if JOB_TRACKING_FINALIZER in pod.finalizers]

    async def reconcile(self, request: Request) -> Result:
        pod = await self._client.find(Pod, request.name, namespace=request.namespace)
        if pod is None or JOB_TRACKING_FINALIZER not in pod.metadata.finalizers or not await self._is_orphan(pod):
            return Result()
        with suppress(NotFound):
            await self._client.patch(Pod, RELEASE, name=request.name, namespace=request.namespace)
        return Result()

    async def _is_orphan(self, pod: Pod) -> bool:
        controller = controller_of(pod)
        if controller is None:
            return True
        if (controller.kind, controller.api_version) != ("Job", "batch/v1"):
            return False
        job = await self._client.find(Job, controller.name, namespace=pod.metadata.namespace)
        if job is None or job.metadata.uid != controller.uid:
            return True
        return is_job_finished(job) and not is_managed_elsewhere(job)
