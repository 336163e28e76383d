"""The members of a group as Lease objects: each member renews its own, and reads the others' Leases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.errors import AlreadyExists, Conflict, NotFound
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.shards.ownership import Member
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.times import Clock, MicroTime
from pilotage.rest import Fence, LeaderTerm
from pilotage.types.coordination.v1 import Lease, LeaseSpec

GROUP_LABEL = "pilotage.dev/shards"
"""The name of the group."""
VIEW_ANNOTATION = "pilotage.dev/shards-view"
"""The members that this one divides the keys among, separated by commas."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The lease of one member of a group."""

    namespace: str
    group: str
    name: str
    """The name of the member, and of its lease."""
    duration: int
    """Seconds after which other members take over, if the lease is not renewed."""
    labels: Mapping[str, str] = field(default_factory=dict)


class MemberLeases:
    """The Leases of a group, including this member's Lease."""

    def __init__(self, client: Client, cluster: Cluster, membership: Membership, clock: Clock) -> None:
        self._client = client
        self._cluster = cluster
        self._namespace = membership.namespace
        self._group = membership.group
        self._me = membership.name
        self._duration = membership.duration
        self._clock = clock
        self._labels = {**membership.labels, GROUP_LABEL: membership.group}
        self._lease: Lease | None = None

    @property
    def name(self) -> str:
        return f"{self._namespace}/{self._me}"

    def fence(self, check: Callable[[], None]) -> Fence:
        """The fence of this member's writes: its lease is deleted when another member takes over."""
        return Fence(LeaderTerm(self._namespace, self._me, self._me, 0), check, self._cluster)

    async def join(self) -> None:
        """Create the lease of this member, with an empty view: it owns no keys yet."""
        meta = ObjectMeta(name=self._me, namespace=self._namespace, labels=dict(self._labels))
        now = MicroTime.of(self._clock())
        spec = LeaseSpec(
            holder_identity=self._me,
            lease_duration_seconds=self._duration,
            acquire_time=now,
            renew_time=now,
            lease_transitions=0,
        )
        try:
            self._lease = await self._client.create(Lease(metadata=meta, spec=spec))
        except AlreadyExists:  # the answer to an earlier attempt was lost: no other process has this name
            await self.renew(frozenset())

    async def renew(self, view: frozenset[str]) -> None:
        """Renew the lease of this member, and publish a view with it. Raises LeaderElectionLost if the lease was
        deleted."""
        lease = self._lease or await self._own()
        self._lease = None  # outdated if the write fails: it is read again
        assert lease.spec is not None
        lease.spec.renew_time = MicroTime.of(self._clock())
        lease.metadata.annotations = {**lease.metadata.annotations, VIEW_ANNOTATION: ",".join(sorted(view))}
        try:
            self._lease = await self._client.update(lease)
        except NotFound:
            raise self._taken() from None

    async def members(self) -> Sequence[Member]:
        """All members, as of now."""
        found = await self._client.list(Lease, namespace=self._namespace, labels={GROUP_LABEL: self._group})
        return [member_of(lease) for lease in found]

    async def remove(self, member: Member) -> bool:
        """Delete the lease of a member that has expired; False if it has just been renewed."""
        try:
            await self._client.delete(Lease, member.name, namespace=self._namespace, resource_version=member.version)
        except Conflict:
            return False
        except NotFound:
            pass  # another member was faster
        return True

    async def leave(self) -> None:
        """Delete the lease of this member, so that other members take over at once."""
        with suppress(NotFound):
            await self._client.delete(Lease, self._me, namespace=self._namespace)

    async def _own(self) -> Lease:
        try:
            return await self._client.get(Lease, self._me, namespace=self._namespace)
        except NotFound:
            raise self._taken() from None

    def _taken(self) -> LeaderElectionLost:
        return LeaderElectionLost(
            f"the lease {self.name} was deleted: it had expired, and another member of the shards {self._group} has "
            "taken over its keys"
        )


def member_of(lease: Lease) -> Member:
    """A member as its Lease has it."""
    view = lease.metadata.annotations.get(VIEW_ANNOTATION, "")
    duration = lease.spec.lease_duration_seconds if lease.spec is not None else None
    return Member(
        lease.metadata.name,
        lease.metadata.resource_version,
        frozenset(view.split(",")) if view else frozenset(),
        float(duration or 15),
    )
