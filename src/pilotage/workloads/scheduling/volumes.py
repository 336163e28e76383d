"""The volumes of Pods: on which nodes they can be used, and binding claims that wait for their first Pod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pilotage.client.client import Client
from pilotage.errors import Conflict, NotFound
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.core.v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.nodes.matching import selector_matches
from pilotage.workloads.scheduling.filters import FITS
from pilotage.workloads.scheduling.placement import NodeInfo, PodInfo
from pilotage.workloads.scheduling.requirements import Verdict
from pilotage.workloads.volumes.matching import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    allows_access,
    class_of,
    modes_differ,
    phase_of,
    size_asked,
    size_of,
    spec_of,
)

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class Delayed:
    """A claim that is bound when its first Pod has a node: to an existing volume, or to one that is made then."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume]
    """The volumes that it may have, the smallest first."""
    storage: StorageClass


@dataclass(frozen=True, slots=True)
class VolumeRules:
    """What the volumes of a Pod ask of its node."""

    bound: Sequence[PersistentVolume] = ()
    is_lost: bool = False
    """Whether a claim is bound to a volume that does not exist."""
    delayed: Sequence[Delayed] = ()

    def verdict(self, node: NodeInfo) -> Verdict:
        """Whether the volumes can be used on a node."""
        reasons: list[str] = []
        if not all(_is_usable(volume, node) for volume in self.bound):
            reasons.append(NODE_CONFLICT)
        if self.delayed and self.bindings(node) is None:
            reasons.append(NO_VOLUMES)
        if self.is_lost:
            reasons.append(NO_SUCH_VOLUME)
        return Verdict(tuple(reasons), False) if reasons else FITS

    def bindings(self, node: NodeInfo) -> list[tuple[Delayed, PersistentVolume | None]] | None:
        """The existing volume for each claim that waits, or None for one that is to be made; None if there is none."""
        found: list[tuple[Delayed, PersistentVolume | None]] = []
        chosen: set[str] = set()
        for one in self.delayed:
            selected = one.claim.metadata.annotations.get(SELECTED_NODE)
            if selected is not None and selected != node.name:
                return None
            free = (v for v in one.volumes if v.metadata.name not in chosen and _is_usable(v, node))
            volume = next(free, None) if selected is None else None
            if volume is None and not _provisions(one.storage, node):
                return None
            if volume is not None:
                chosen.add(volume.metadata.name)
            found.append((one, volume))
        return found


NO_VOLUME_RULES = VolumeRules()


class Volumes:
    """Reads the claims and volumes of Pods, and binds those that wait for a node."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def rules(self, pod: PodInfo) -> VolumeRules | str:
        """What the volumes of a Pod ask of its node, or why the Pod cannot run on any."""
        if not pod.claims:
            return NO_VOLUME_RULES
        claims: list[PersistentVolumeClaim] = []
        for name in pod.claims:
            claim = await self._client.find(PersistentVolumeClaim, name, namespace=pod.namespace)
            if claim is None:
                return _missing(name, pod)
            if problem := _problem(claim):
                return problem
            claims.append(claim)
        bound: list[PersistentVolume] = []
        delayed: list[Delayed] = []
        is_lost = False
        for claim in claims:
            if is_bound(claim):
                volume = await self._client.find(PersistentVolume, _volume_name(claim))
                is_lost = is_lost or volume is None
                bound += [volume] if volume is not None else []
                continue
            waiting = await self._delayed(claim)
            if waiting is None:
                return UNBOUND
            delayed.append(waiting)
        delayed.sort(key=lambda one: size_asked(one.claim))
        return VolumeRules(bound, is_lost, delayed)

    async def are_bound(self, pod: PodInfo) -> bool | None:
        """Whether all claims of a Pod are bound; None if one is not, and its node was taken from it."""
        for name in pod.claims:
            claim = await self._client.find(PersistentVolumeClaim, name, namespace=pod.namespace)
            if claim is None:
                return None
            if not is_bound(claim):
                return False if SELECTED_NODE in claim.metadata.annotations or await self._is_claimed(claim) else None
        return True

    async def begin_binding(self, rules: VolumeRules, node: NodeInfo) -> bool:
        """Choose volumes for the claims that wait. Whether there were none, so that the Pod can be bound at once."""
        for one, volume in rules.bindings(node) or ():
            metadata = one.claim.metadata
            try:
                if volume is not None:
                    await self._reserve(volume, one.claim)
                elif metadata.annotations.get(SELECTED_NODE) != node.name:
                    patch = {"metadata": {"annotations": {SELECTED_NODE: node.name}}}
                    await self._client.patch(
                        PersistentVolumeClaim, patch, name=metadata.name, namespace=metadata.namespace
                    )
            except (NotFound, Conflict):
                continue  # the events of these changes lead to another attempt
        return not rules.delayed

    async def _reserve(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        assert volume.spec is not None  # it was chosen by its spec
        metadata = claim.metadata
        volume.spec.claim_ref = ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            api_version="v1",
            resource_version=metadata.resource_version,
        )
        volume.metadata.annotations[BOUND_BY_CONTROLLER] = "yes"
        await self._client.update(volume)

    async def _is_claimed(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a volume is reserved for a claim."""
        uid = claim.metadata.uid
        return any(v.spec and v.spec.claim_ref and v.spec.claim_ref.uid == uid for v in await self._volumes())

    async def _delayed(self, claim: PersistentVolumeClaim) -> Delayed | None:
        """What a claim that waits for its first Pod may be bound to; None for one that does not wait for a Pod."""
        spec = claim.spec
        if spec is None or spec.volume_name or not spec.storage_class_name:
            return None
        storage = await self._client.find(StorageClass, spec.storage_class_name)
        if storage is None or storage.volume_binding_mode != "WaitForFirstConsumer":
            return None
        found = [volume for volume in await self._volumes() if _is_free(volume, claim)]
        return Delayed(claim, sorted(found, key=size_of), storage)

    async def _volumes(self) -> Iterable[PersistentVolume]:
        return await self._client.list(PersistentVolume)


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim has its volume."""
    return bool(_volume_name(claim)) and BIND_COMPLETED in claim.metadata.annotations


def _volume_name(claim: PersistentVolumeClaim) -> str:
    return (claim.spec.volume_name or "") if claim.spec is not None else ""


def _missing(name: str, pod: PodInfo) -> str:
    if name in pod.ephemeral_claims:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _problem(claim: PersistentVolumeClaim) -> str:
    """Why a claim cannot be used."""
    name = claim.metadata.name
    if claim.status is not None and claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{_volume_name(claim)}"'
    return f'persistentvolumeclaim "{name}" is being deleted' if claim.metadata.deletion_timestamp is not None else ""


def _is_usable(volume: PersistentVolume, node: NodeInfo) -> bool:
    affinity = volume.spec.node_affinity if volume.spec is not None else None
    required = affinity.required if affinity is not None else None
    return required is None or selector_matches(required, node.name, node.labels)


def _is_free(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether an existing volume may be bound to a claim."""
    selector = claim.spec.selector if claim.spec is not None else None
    return (
        volume.metadata.deletion_timestamp is None
        and spec_of(volume).claim_ref is None
        and phase_of(volume) == "Available"
        and class_of(volume) == class_of(claim)
        and not modes_differ(volume, claim)
        and (selector is None or Selector.from_label_selector(selector).matches(volume.metadata.labels))
        and allows_access(volume, claim)
        and size_of(volume) >= size_asked(claim)
    )


def _provisions(storage: StorageClass, node: NodeInfo) -> bool:
    """Whether a volume can be made for a node."""
    if not storage.provisioner or storage.provisioner == _NO_PROVISIONER:
        return False
    terms = storage.allowed_topologies
    return not terms or any(
        all(node.labels.get(one.key) in one.values for one in term.match_label_expressions) for term in terms
    )
