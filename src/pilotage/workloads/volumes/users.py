"""The Pods that use a claim."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.types.core.v1 import PersistentVolumeClaim, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.pods.view import PodView


class Users:
    """Looks up the Pods of a claim."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def unscheduled(self, claim: PersistentVolumeClaim) -> list[Pod]:
        """The Pods of a claim that had no node when the claim was written, by name.

        A StatefulSet creates a claim before its Pod: the first look at the claim, as soon as it exists, finds no Pod.
        """
        version = int(claim.metadata.resource_version)
        views = [view for view in self._views(claim) if not view.node and int(view.resource_version) < version]
        return await self._found(claim, views)

    async def all(self, claim: PersistentVolumeClaim) -> list[Pod]:
        """The Pods of a claim that have not ended, by name."""
        return await self._found(claim, self._views(claim))

    def _views(self, claim: PersistentVolumeClaim) -> list[PodView]:
        pods = self._context.pods.in_namespace(claim.metadata.namespace)
        return [view for view in pods if not view.is_finished]

    async def _found(self, claim: PersistentVolumeClaim, views: Iterable[PodView]) -> list[Pod]:
        client, name = self._context.client, claim.metadata.name
        found = [await client.find(Pod, view.name, namespace=view.namespace) for view in views]
        return sorted((pod for pod in found if pod and uses(pod, name)), key=lambda pod: pod.metadata.name)


def uses(pod: Pod, claim: str) -> bool:
    """Whether a Pod refers to a claim, by its name or by an ephemeral volume."""
    volumes = pod.spec.volumes if pod.spec is not None else []
    for volume in volumes:
        named = volume.persistent_volume_claim
        if named is not None and named.claim_name == claim:
            return True
        if volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == claim:
            return True
    return False
