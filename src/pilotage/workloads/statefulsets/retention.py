"""What happens to the claims of a StatefulSet when it is scaled down or deleted: their owners decide, and
`persistentVolumeClaimRetentionPolicy` decides who owns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pilotage.meta.models import OwnerReference
from pilotage.types.apps.v1 import StatefulSet

RETAIN, DELETE = "Retain", "Delete"


class ClaimOwner(NamedTuple):
    """A StatefulSet or a Pod, as a possible owner of a claim."""

    api_version: str
    kind: str
    name: str
    uid: str

    def is_named_by(self, reference: OwnerReference) -> bool:
        """Whether a reference names it, with whatever uid."""
        return (reference.api_version, reference.kind, reference.name) == self[:3]


class Owners(NamedTuple):
    """The StatefulSet and the Pod of a claim, and the policy between them."""

    owner: ClaimOwner
    pod: ClaimOwner
    policy: tuple[str, str]
    """When scaled, when deleted."""
    is_scaled_down: bool
    """Whether the ordinal of the Pod is not one that the StatefulSet should have."""

    @property
    def wanted(self) -> tuple[ClaimOwner, ...]:
        """Who should own the claim."""
        found = []
        if self.policy[0] == DELETE and self.is_scaled_down:
            found.append(self.pod)
        if self.policy == (RETAIN, DELETE) or (self.policy == (DELETE, DELETE) and not self.is_scaled_down):
            found.append(self.owner)
        return tuple(found)


def policy_of(owner: StatefulSet) -> tuple[str, str]:
    """The policy when scaled and when deleted."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    if policy is None:
        return RETAIN, RETAIN
    return policy.when_scaled or RETAIN, policy.when_deleted or RETAIN


def owners_of(owner: StatefulSet, pod: str, pod_uid: str, *, is_scaled_down: bool) -> Owners:
    """The possible owners of the claims of a Pod of `owner`."""
    one = ClaimOwner("apps/v1", "StatefulSet", owner.metadata.name, owner.metadata.uid)
    return Owners(one, pod_owner(pod, pod_uid), policy_of(owner), is_scaled_down)


def pod_owner(name: str, uid: str) -> ClaimOwner:
    return ClaimOwner("v1", "Pod", name, uid)


def is_stale(references: Sequence[OwnerReference], owner: ClaimOwner) -> bool:
    """Whether the claim belongs to an earlier object of this name, with which it will be deleted."""
    for reference in references:
        if owner.is_named_by(reference):
            return reference.uid != owner.uid
    return False


def has_unexpected_controller(references: Sequence[OwnerReference], owners: Owners) -> bool:
    """Whether another object controls the claim; with the policy Retain, it may."""
    if owners.policy == (RETAIN, RETAIN):
        return False
    for reference in references:
        named = next((one for one in (owners.owner, owners.pod) if one.is_named_by(reference)), None)
        if named is not None:
            if reference.uid != named.uid:
                return True
        elif reference.controller:
            return True
    return False


def is_up_to_date(references: Sequence[OwnerReference], owners: Owners) -> bool:
    """Whether the owners of a claim are those of the policy, or the claim must not be touched."""
    if is_stale(references, owners.owner) or is_stale(references, owners.pod):
        return True
    ours = {owners.owner.uid, owners.pod.uid}
    own = [reference for reference in references if reference.uid in ours]
    if has_unexpected_controller(references, owners):
        return not own
    if not all(reference.controller for reference in own):
        return False
    return {reference.uid for reference in own} == {one.uid for one in owners.wanted}


def updated_references(references: Sequence[OwnerReference], owners: Owners) -> list[OwnerReference]:
    """The owners of a claim by the policy. Where another object controls it, the StatefulSet and the Pod do not."""
    kept = [one for one in references if not (owners.owner.is_named_by(one) or owners.pod.is_named_by(one))]
    if has_unexpected_controller(references, owners):
        return kept
    known = {reference.uid for reference in kept}
    return kept + [_reference(one) for one in owners.wanted if one.uid not in known]


def _reference(owner: ClaimOwner) -> OwnerReference:
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )
