"""Adopting and releasing objects by the selector of their controller, as Kubernetes' ControllerRefManager does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from pilotage.client.client import Client
from pilotage.client.patch import raw_patch
from pilotage.errors import ApiError, Invalid
from pilotage.meta.models import Resource
from pilotage.meta.objects import Header
from pilotage.meta.owners import controller_of
from pilotage.meta.selectors.selectors import Selector
from pilotage.rest import PatchType
from pilotage.types.core.v1 import Pod
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.refusals import is_gone

T = TypeVar("T")
Claim = Literal["own", "adopt", "release", "ignore"]


class Candidate(NamedTuple):
    """What decides whether an object is claimed."""

    kind: type[Resource]
    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    controller_uid: str
    """Empty where no object controls it."""
    is_being_deleted: bool
    is_member: bool = True
    """False for an object that its controller does not want, whatever its labels: a Pod of another name."""


def controller_uid(header: Header) -> str:
    """The uid of the controller of an object; empty without one."""
    return next((owner.uid for owner in header.owner_references if owner.controller), "")


def pod_candidate(pod: PodView) -> Candidate:
    return Candidate(Pod, pod.namespace, pod.name, pod.uid, pod.labels, pod.controller_uid, pod.deleted is not None)


def candidate(obj: Resource) -> Candidate:
    """Any other object."""
    meta, controller = obj.metadata, controller_of(obj)
    uid = controller.uid if controller is not None else ""
    deleted = meta.deletion_timestamp is not None
    return Candidate(type(obj), meta.namespace, meta.name, meta.uid, meta.labels, uid, deleted)


def claim_of(owner: Resource, selector: Selector, found: Candidate) -> Claim:
    """What a controller does with an object: one that it controls and selects is its own, one that it selects and that
    has no controller is adopted, one that it controls and does not select is released."""
    selected = found.is_member and selector.matches(found.labels)
    is_deleting = owner.metadata.deletion_timestamp is not None
    if found.controller_uid:
        if found.controller_uid != owner.metadata.uid:
            return "ignore"
        if selected:
            return "own"
        return "ignore" if is_deleting else "release"
    return "ignore" if is_deleting or not selected or found.is_being_deleted else "adopt"


async def claim(
    client: Client,
    owner: Resource,
    selector: Selector,
    objects: Iterable[T],
    describe: Callable[[T], Candidate],
    *,
    finalizers: Sequence[str] = (),
) -> list[T]:
    """The objects that `owner` controls and selects, with those that it adopts here; others are released.

    An adopted object gets the `finalizers`, and one that is released loses them. Before the first adoption the owner is
    read from the server, because it may have been deleted in the meantime.
    """
    claimed: list[T] = []
    alive: bool | None = None
    for obj in objects:
        found = describe(obj)
        decision = claim_of(owner, selector, found)
        if decision == "adopt":
            alive = await _is_alive(client, owner) if alive is None else alive
            if alive and await _adopt(client, owner, found, finalizers):
                claimed.append(obj)
        elif decision == "own":
            claimed.append(obj)
        elif decision == "release":
            removed = {"$deleteFromPrimitiveList/finalizers": list(finalizers)} if finalizers else {}
            await _patch(client, found, [{"$patch": "delete", "uid": owner.metadata.uid}], removed)
    return claimed


async def _is_alive(client: Client, owner: Resource) -> bool:
    live = await client.api_reader.find(type(owner), owner.metadata.name, namespace=owner.metadata.namespace)
    return live is not None and live.metadata.uid == owner.metadata.uid and live.metadata.deletion_timestamp is None


async def _adopt(client: Client, owner: Resource, found: Candidate, finalizers: Sequence[str]) -> bool:
    resource = type(owner).__resource__
    reference = {
        "apiVersion": resource.gvk.api_version,
        "kind": resource.gvk.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return await _patch(client, found, [reference], {"finalizers": list(finalizers)} if finalizers else {})


async def _patch(
    client: Client, found: Candidate, references: list[dict[str, object]], metadata: Mapping[str, object]
) -> bool:
    """Patch the owners of an object; False if it was deleted, or if another object has its name now."""
    patch = {"metadata": {"uid": found.uid, "ownerReferences": references, **metadata}}
    try:
        await client.patch(
            found.kind, raw_patch(PatchType.STRATEGIC, patch), name=found.name, namespace=found.namespace
        )
    except ApiError as error:
        if is_gone(error) or isinstance(error, Invalid):
            return False
        raise
    return True
