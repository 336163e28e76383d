"""Creating and deleting the Pods of a controller, with the Events of Kubernetes' PodControl."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pilotage.client.client import Client
from pilotage.cluster.events import EventRecorder
from pilotage.errors import ApiError
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.objects import copy_of
from pilotage.meta.owners import set_controller_reference
from pilotage.types.core.v1 import Pod, PodSpec, PodTemplateSpec
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.refusals import is_gone, is_namespace_terminating

MAX_NAME = 253


def pod_from_template(template: PodTemplateSpec, owner: Resource) -> Pod:
    """A Pod of a template, controlled by `owner`, whose name the server generates."""
    given = template.metadata or ObjectMeta()
    metadata = ObjectMeta(
        namespace=owner.metadata.namespace,
        generate_name=_prefix(owner.metadata.name),
        labels=dict(given.labels),
        annotations=dict(given.annotations),
        finalizers=list(given.finalizers),
    )
    pod = Pod(metadata=metadata, spec=copy_of(template.spec) if template.spec is not None else PodSpec(containers=[]))
    set_controller_reference(owner, pod)
    return pod


def _prefix(name: str) -> str:
    """The name of the owner with a dash, unless that is too long for the name of a Pod."""
    return f"{name}-" if len(name) < MAX_NAME else name


class PodControl:
    """Creates and deletes Pods, and records an Event about the owner for each."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self._client = client
        self._recorder = recorder

    async def create(self, pod: Pod, owner: Resource) -> Pod | None:
        """Create a Pod. An error is recorded and raised; None where the namespace is being deleted, in which every
        other create would fail, too."""
        try:
            made = await self._client.create(pod)
        except ApiError as error:
            if is_namespace_terminating(error):
                return None
            self._recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {error.status.message}")
            raise
        self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {made.metadata.name}")
        return made

    async def delete(self, pod: PodView, owner: Resource) -> bool:
        """Delete a Pod; False if it did not exist any more."""
        try:
            await self._client.delete(Pod, pod.name, namespace=pod.namespace, uid=pod.uid)
        except ApiError as error:
            if is_gone(error):
                return False
            self._recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {error.status.message}")
            raise
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")
        return True


async def slow_start(count: int, create: Callable[[], Awaitable[object]]) -> int:
    """Create `count` objects in batches that double, and stop after a batch with an error, which is raised.

    A quota or a template that is refused is thus met once or a few times, and not `count` times.
    """
    done, size = 0, 1
    while done < count:
        failure: Exception | None = None
        for _ in range(min(size, count - done)):
            try:
                await create()
            except ApiError as error:
                failure = error
            else:
                done += 1
        if failure is not None:
            raise failure
        size *= 2
    return done
