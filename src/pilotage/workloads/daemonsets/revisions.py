"""The history of a DaemonSet: its names and numbers differ from those of a StatefulSet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pilotage.client.client import Client
from pilotage.errors import AlreadyExists, PilotageError
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import ControllerRevision, DaemonSet
from pilotage.types.core.v1 import Pod
from pilotage.workloads.daemonsets.placement import HASH_LABEL
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.revisions.data import data_of, stored_data, template_document
from pilotage.workloads.revisions.history import made_revision
from pilotage.workloads.revisions.store import claimed_revisions, renumber
from pilotage.workloads.templates.hashes import template_hash


class StaleCollisionCount(PilotageError):
    """The collision count has been raised meanwhile: try again with the new one."""


class History(NamedTuple):
    """The revision of the current template, and the others in order."""

    current: ControllerRevision
    old: Sequence[ControllerRevision]

    @property
    def hash(self) -> str:
        """The label of the Pods of the current template."""
        return self.current.metadata.labels[HASH_LABEL]


async def history_of(client: Client, owner: DaemonSet, selector: Selector, pods: Sequence[PodView]) -> History:
    """The history of a DaemonSet. A revision of its template is created where there is none; of two, the older one is
    deleted, and `pods` get the label of the other."""
    data = data_of(owner)
    current: list[ControllerRevision] = []
    old: list[ControllerRevision] = []
    for revision in await claimed_revisions(client, owner, selector, release=True):
        labeled = await _labeled(client, revision)
        (current if stored_data(labeled) == data else old).append(labeled)
    number = max((revision.revision for revision in old), default=0) + 1
    if not current:
        return History(await _create(client, owner, data, number), old)
    kept = current[-1]
    if len(current) > 1:
        await _deduplicate(client, kept, current, pods)
    if kept.revision < number:
        await renumber(client, kept, number)
    return History(kept, old)


def excess_revisions(old: Sequence[ControllerRevision], live: Collection[str], limit: int) -> list[ControllerRevision]:
    """The revisions to delete, so that `limit` old ones stay: the oldest ones whose hash no Pod has."""
    surplus = max(len(old) - limit, 0)
    return [revision for revision in old if revision.metadata.labels.get(HASH_LABEL) not in live][:surplus]


async def _labeled(client: Client, revision: ControllerRevision) -> ControllerRevision:
    """A revision with its label: its name, where it has none, so that it collides with no other one."""
    if HASH_LABEL in revision.metadata.labels:
        return revision
    revision.metadata.labels = {**revision.metadata.labels, HASH_LABEL: revision.metadata.name}
    return await client.update(revision)


async def _create(client: Client, owner: DaemonSet, data: bytes, number: int) -> ControllerRevision:
    count = owner.status.collision_count if owner.status is not None else None
    hashed = template_hash(template_document(owner), count)
    revision = made_revision(owner, f"{owner.metadata.name}-{hashed}", {HASH_LABEL: hashed}, data, number)
    try:
        return await client.create(revision)
    except AlreadyExists:
        meta = revision.metadata
        found = await client.api_reader.get(ControllerRevision, meta.name, namespace=meta.namespace)
        if stored_data(found) == data:
            return found
        await _raise_collision_count(client, owner, count)
        raise


async def _raise_collision_count(client: Client, owner: DaemonSet, count: int | None) -> None:
    """Count a revision of this name with another template: the next try has another name."""
    meta = owner.metadata
    live = await client.api_reader.get(DaemonSet, meta.name, namespace=meta.namespace)
    known = live.status.collision_count if live.status is not None else None
    if known != count:
        raise StaleCollisionCount(
            f"found a stale collision count ({count}, expected {known}) of DaemonSet {meta.name!r} while processing; "
            "will retry until it is updated"
        )
    await client.patch_status(live, {"status": {"collisionCount": (count or 0) + 1}})


async def _deduplicate(
    client: Client, kept: ControllerRevision, current: Sequence[ControllerRevision], pods: Sequence[PodView]
) -> None:
    hashed = kept.metadata.labels[HASH_LABEL]
    for pod in pods:
        if pod.labels.get(HASH_LABEL) != hashed:
            patch = {"metadata": {"labels": {HASH_LABEL: hashed}}}
            await client.patch(Pod, patch, name=pod.name, namespace=pod.namespace)
    for revision in current:
        if revision is not kept:
            await client.delete(ControllerRevision, revision.metadata.name, namespace=revision.metadata.namespace)
