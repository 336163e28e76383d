"""A manager's candidate in the leader election: with which lock, on which connection, and on which loop."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.manager.election import LeaderElector, ResourceLock, in_cluster_namespace
from pilotage.manager.lease import LeaseLock
from pilotage.manager.lifecycle import RunElection, run_here
from pilotage.manager.options import ManagerOptions
from pilotage.manager.supervision import Supervision
from pilotage.meta.times import Clock

if TYPE_CHECKING:
    from pilotage.rest.transport import Transport


@dataclass(frozen=True, slots=True)
class Candidate:
    """An elector, and what runs its coroutines."""

    elector: LeaderElector
    run: RunElection = run_here
    transport: Transport | None = None
    """A connection of its own, which is closed by `close`."""

    async def close(self) -> None:
        if self.transport is not None:
            await self.run(self.transport.close())


def new_candidate(
    options: ManagerOptions, cluster: Cluster, supervision: Supervision | None, clock: Clock
) -> Candidate:
    """The supervisor renews a lease that another process keeps. An embedded server is on the program's loop and stands
    still with it, and a lock of the user's own may use what belongs to that loop: these are renewed there."""
    own = options.leader_election_resource_lock_interface
    separate = cluster.separate_client() if supervision is not None and own is None else None
    lock: ResourceLock = own or _lease(options, cluster.client if separate is None else separate[0])
    # A loop may keep the time of its last turn (uvloop does), which is too old after a block.
    now = time.monotonic if supervision is not None else None
    if supervision is None or separate is None:
        return Candidate(LeaderElector(lock, options.lease_timings, clock=clock, now=now))
    elector = LeaderElector(lock, options.lease_timings, clock=clock, now=now, obstacle=supervision.obstacle)
    return Candidate(elector, supervision.supervisor.run, separate[1])


def _lease(options: ManagerOptions, client: Client) -> LeaseLock:
    namespace = options.leader_election_namespace or in_cluster_namespace()
    if not namespace:
        raise InvalidDefinition(
            "leader_election needs leader_election_namespace: this process does not run in a Pod, so there is "
            "no namespace to take instead"
        )
    return LeaseLock(client, namespace, options.leader_election_id, options.leader_election_labels)
