"""The Pods that use a claim."""

from __future__ import annotations

from pilotage.types.core.v1 import PersistentVolumeClaim, Pod
from pilotage.workloads.context import Context


class Users:
    """Looks up the Pods of a claim."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def unscheduled(self, claim: PersistentVolumeClaim) -> list[Pod]:
        """The Pods of a claim that have no node yet, by name."""
        return await self._found(claim, has_node=False) if self._context.options.events else []

    async def all(self, claim: PersistentVolumeClaim) -> list[Pod]:
        """The Pods of a claim that have not ended, by name."""
        return await self._found(claim, has_node=None)

    async def _found(self, claim: PersistentVolumeClaim, has_node: bool | None) -> list[Pod]:
        context, meta = self._context, claim.metadata
        views = [
            view
            for view in context.pods.in_namespace(meta.namespace)
            if not view.is_finished and (has_node is None or bool(view.node) is has_node)
        ]
        found = [await context.client.find(Pod, view.name, namespace=view.namespace) for view in views]
        return sorted((pod for pod in found if pod and uses(pod, meta.name)), key=lambda pod: pod.metadata.name)


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
