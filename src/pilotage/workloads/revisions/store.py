"""Reads, creates, renumbers and adopts the revisions of an object."""

from __future__ import annotations

from pilotage.client.client import Client
from pilotage.client.conflicts import retry_on_conflict
from pilotage.errors import AlreadyExists
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import ControllerRevision
from pilotage.workloads.pods.claims import candidate, claim, controller_uid
from pilotage.workloads.revisions.data import Owner, revision_hash, revision_name, stored_data
from pilotage.workloads.revisions.history import in_order


async def claimed_revisions(
    client: Client, owner: Owner, selector: Selector, *, release: bool
) -> list[ControllerRevision]:
    """The revisions of `owner` in order. Those that it selects and that have no controller are adopted; with
    `release`, those that it controls and no longer selects are released, and else ignored."""
    found = await client.list(ControllerRevision, namespace=owner.metadata.namespace)
    uid = owner.metadata.uid
    mine = [
        found[index]
        for index, header in enumerate(found.headers)
        if controller_uid(header) in ("", uid) and (release or selector.matches(header.labels))
    ]
    return in_order(await claim(client, owner, selector, mine, candidate))


async def create_revision(
    client: Client, owner: Owner, revision: ControllerRevision, collision_count: int
) -> tuple[ControllerRevision, int]:
    """Create a revision; another one of its name with other data raises the collision count, which is returned."""
    data = stored_data(revision)
    while True:
        revision.metadata.name = revision_name(owner.metadata.name, revision_hash(data, collision_count))
        try:
            return await client.create(revision), collision_count
        except AlreadyExists:
            name, namespace = revision.metadata.name, revision.metadata.namespace
            found = await client.api_reader.get(ControllerRevision, name, namespace=namespace)
            if stored_data(found) == data:
                return found, collision_count
            collision_count += 1


async def renumber(client: Client, revision: ControllerRevision, number: int) -> ControllerRevision:
    """Give a revision another number: that of the newest one, after a rollback to it."""

    async def attempt() -> ControllerRevision:
        meta = revision.metadata
        live = await client.api_reader.get(ControllerRevision, meta.name, namespace=meta.namespace)
        if live.revision == number:
            return live
        live.revision = number
        return await client.update(live)

    return await retry_on_conflict(attempt)
