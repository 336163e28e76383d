"""How many Pods the controllers of some Pods want."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.client.client import Client
from pilotage.errors import NotFound, PilotageError
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import OwnerReference
from pilotage.meta.owners import controller_of
from pilotage.types.apps.v1 import Deployment, ReplicaSet, StatefulSet
from pilotage.types.autoscaling.v1 import Scale
from pilotage.types.core.v1 import Pod, ReplicationController
from pilotage.workloads.pods.view import PodView

Replicated = ReplicationController | StatefulSet | Deployment | ReplicaSet


class NoScale(PilotageError):
    """The number of Pods that a controller wants is not known."""


class Scales:
    """Reads how many Pods controllers want: of built-in kinds from the cache, of others by their scale."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def expected(self, pods: Sequence[PodView]) -> tuple[int, list[str]]:
        """The number of Pods that the controllers of these Pods want together, and the names of Pods without one.

        Raises NoScale if the number is not known for a controller.
        """
        scales: dict[str, int] = {}
        known: set[str] = set()
        unmanaged: list[str] = []
        for pod in pods:
            if not pod.controller_uid:
                unmanaged.append(pod.name)
            elif pod.controller_uid not in known:
                known.add(pod.controller_uid)
                found = await self._of_pod(pod)
                if found is None:
                    raise NoScale(f'found no controllers for pod "{pod.name}"')
                scales[found[0]] = found[1]
        return sum(scales.values()), unmanaged

    async def _of_pod(self, view: PodView) -> tuple[str, int] | None:
        """The uid of what scales a Pod, and its number of Pods."""
        pod = await self._client.find(Pod, view.name, namespace=view.namespace)
        reference = controller_of(pod) if pod is not None else None
        if reference is None:
            return None
        kind = GroupVersionKind.of(reference.api_version, reference.kind)
        name, namespace, client = reference.name, view.namespace, self._client
        match (kind.group, kind.kind):
            case ("", "ReplicationController"):
                return _scale(await client.find(ReplicationController, name, namespace=namespace), reference)
            case ("apps", "StatefulSet"):
                return _scale(await client.find(StatefulSet, name, namespace=namespace), reference)
            case ("apps" | "extensions", "ReplicaSet"):
                return await self._of_replica_set(reference, namespace)
        return await self._of_scale(kind, reference, namespace)

    async def _of_replica_set(self, reference: OwnerReference, namespace: str) -> tuple[str, int] | None:
        """The scale of a ReplicaSet, or of its Deployment."""
        found = await self._client.find(ReplicaSet, reference.name, namespace=namespace)
        if found is None or found.metadata.uid != reference.uid:
            return None
        owner = controller_of(found)
        if owner is None or owner.kind != "Deployment":
            return _scale(found, reference)
        return _scale(await self._client.find(Deployment, owner.name, namespace=namespace), owner)

    async def _of_scale(
        self, kind: GroupVersionKind, reference: OwnerReference, namespace: str
    ) -> tuple[str, int] | None:
        mapping = await self._client.rest_mapping(kind)
        if not await self._client.has_subresource(kind, "scale"):
            raise NoScale(f"{mapping.resource.group_resource} does not implement the scale subresource")
        try:
            scale = await self._client.subresource("scale", Scale).get(kind, reference.name, namespace=namespace)
        except NotFound:
            return None
        if scale.metadata.uid != reference.uid:
            return None
        return reference.uid, (scale.spec.replicas or 0) if scale.spec is not None else 0


def _scale(found: Replicated | None, reference: OwnerReference) -> tuple[str, int] | None:
    """The uid and the number of Pods of an object, if it is the one that a reference means."""
    if found is None or found.metadata.uid != reference.uid:
        return None
    replicas = found.spec.replicas if found.spec is not None else None
    return reference.uid, 1 if replicas is None else replicas
