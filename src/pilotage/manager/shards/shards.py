"""The shards of a manager: which keys this replica works on. Controllers ask for each request."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from pilotage.cluster.cluster import Cluster
from pilotage.manager.candidate import lease_namespace
from pilotage.manager.election.elector import RunElection, run_here
from pilotage.manager.options import ManagerOptions
from pilotage.manager.shards.leases import MemberLeases, Membership
from pilotage.manager.shards.member import ShardMember
from pilotage.manager.supervision.tasks import Supervision
from pilotage.meta.scalars.times import Clock
from pilotage.rest import Fence
from pilotage.rest.refusal import MissingPermission

if TYPE_CHECKING:
    from pilotage.rest.transport import Transport


class Shards:
    """A member of the group, and the function that runs its coroutines: on this loop, or on the supervisor's."""

    def __init__(self, member: ShardMember, run: RunElection = run_here, transport: Transport | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._member = member
        self._run = run
        self._transport = transport
        self._listeners: list[Callable[[], None]] = []
        member.changed = lambda: loop.call_soon_threadsafe(self._notify)

    @property
    def fence(self) -> Fence:
        """The fence of this replica's writes."""
        return self._member.fence

    @property
    def members(self) -> frozenset[str]:
        """The replicas among which the keys are divided, as this one sees them; it is one of them."""
        return self._member.members

    @property
    def missing_permission(self) -> MissingPermission | None:
        """The permission without which the leases cannot be read or written; None where they can."""
        return self._member.missing_permission

    @property
    def handover_finished(self) -> bool:
        """Whether no key is being handed over, as far as this replica sees."""
        return self._member.handover_finished

    def begin(self, key: str) -> bool:
        """Begin to work on a key, if this replica owns it; then `end` must be called."""
        return self._member.begin(key)

    def end(self, key: str) -> None:
        """The work on a key has ended: it may be handed over."""
        self._member.end(key)

    def owns(self, key: str) -> bool:
        """Whether this replica may work on a key now."""
        return self._member.owns(key)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function when this replica may own other keys than before; the returned function ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def run(self) -> None:
        """Take part as a member until cancelled. Raises LeaderElectionLost."""
        await self._run(self._member.run())

    async def leave(self) -> None:
        """Hand all keys over, after the last work has ended."""
        await self._run(self._member.leave())

    async def close(self) -> None:
        if self._transport is not None:
            await self._run(self._transport.close())

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener()


def new_shards(options: ManagerOptions, cluster: Cluster, supervision: Supervision | None, clock: Clock) -> Shards:
    """The shards of a manager. As with leader election, leases on a remote API server are renewed by the supervisor."""
    separate = cluster.separate_client() if supervision is not None else None
    client = cluster.client if separate is None else separate[0]
    me = f"{options.shards}-{uuid.uuid4().hex[:12]}"
    duration = max(1, math.ceil(options.lease_duration))
    namespace = lease_namespace(options, cluster, "shards")
    membership = Membership(namespace, options.shards, me, duration, options.leader_election_labels)
    leases = MemberLeases(client, cluster, membership, clock)
    loop = asyncio.get_running_loop()
    now = time.monotonic if supervision is not None else loop.time
    if supervision is None or separate is None:
        return Shards(ShardMember(leases, options.shards, me, options.lease_timings, now=now))
    member = ShardMember(leases, options.shards, me, options.lease_timings, now=now, obstacle=supervision.obstacle)
    return Shards(member, supervision.supervisor.run, separate[1])
