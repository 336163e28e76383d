"""A manager's candidate in the leader election: its lock, its connection, and the loop that renews the lease."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.manager.election.elector import (
    ElectorClocks,
    LeaderCallbacks,
    LeaderElector,
    RunElection,
    in_cluster_namespace,
    run_here,
)
from pilotage.manager.election.lease import LeaseLock
from pilotage.manager.election.leasecandidate import Candidacy
from pilotage.manager.election.resourcelock import ResourceLock
from pilotage.manager.options import ManagerOptions
from pilotage.manager.supervision.tasks import Supervision
from pilotage.meta.scalars.times import Clock

if TYPE_CHECKING:
    from pilotage.rest.transport import Transport


@dataclass(frozen=True, slots=True)
class Candidate:
    """An elector, and the function that runs its coroutines."""

    elector: LeaderElector
    run: RunElection = run_here
    transport: Transport | None = None
    """A connection of its own; `close` closes it."""

    async def lead(self, lead: Callable[[], Coroutine[Any, Any, object]], release_on_cancel: bool) -> None:
        """Run a function while the lease is held, then close."""
        try:
            await self.elector.run(lead, release_on_cancel=release_on_cancel, run_election=self.run)
        finally:
            await self.close()

    async def close(self) -> None:
        if self.transport is not None:
            await self.run(self.transport.close())


def new_candidate(
    options: ManagerOptions, cluster: Cluster, supervision: Supervision | None, clock: Clock
) -> Candidate:
    """A lease on a remote API server is renewed by the supervisor. An embedded server runs on the program's loop and
    blocks with it, and a custom lock may use objects of that loop: these are renewed on the program's loop."""
    own = options.leader_election_resource_lock_interface
    separate = cluster.separate_client() if supervision is not None and own is None else None
    lock: ResourceLock = own or _lease(options, cluster, cluster.client if separate is None else separate[0])
    # `loop.time()` may be the time of the last iteration (uvloop), which is too old after a block.
    now = time.monotonic if supervision is not None else None
    elector = LeaderElector(
        lock,
        options.lease_timings,
        clocks=ElectorClocks(clock, now),
        obstacle=supervision.obstacle if supervision is not None and separate is not None else lambda: "",
        callbacks=_on_this_loop(options.leader_election_callbacks),
        candidacy=_candidacy(options, cluster, cluster.client if separate is None else separate[0], clock),
    )
    if supervision is None or separate is None:
        return Candidate(elector)
    return Candidate(elector, supervision.supervisor.run, separate[1])


def for_lease(options: ManagerOptions, lease: str, callbacks: LeaderCallbacks | None) -> ManagerOptions:
    """The options for another lease than the manager's lease."""
    return replace(
        options,
        leader_election_id=lease,
        leader_election_callbacks=callbacks or LeaderCallbacks(),
        leader_election_resource_lock_interface=None,
    )


def _candidacy(options: ManagerOptions, cluster: Cluster, client: Client, clock: Clock) -> Candidacy | None:
    """The candidate of a coordinated election, under a name of its own: the name of the Lease, and a random part."""
    if options.leader_election_candidate is None:
        return None
    namespace, lease = lease_namespace(options, cluster, "leader_election"), options.leader_election_id
    name = f"{lease}-{uuid.uuid4().hex[:12]}"
    return Candidacy(client, namespace, name, lease, options.leader_election_candidate, clock)


def _lease(options: ManagerOptions, cluster: Cluster, client: Client) -> LeaseLock:
    namespace, labels = lease_namespace(options, cluster, "leader_election"), options.leader_election_labels
    return LeaseLock(client, namespace, options.leader_election_id, labels, cluster=cluster)


def lease_namespace(options: ManagerOptions, cluster: Cluster, what: str) -> str:
    """The namespace of the leases of a manager, for the option that needs it. An embedded API server has a default: all
    processes on its storage have the same one. The namespace of a kubeconfig may differ from replica to replica."""
    default = "" if cluster.server_url else cluster.namespace
    namespace = options.leader_election_namespace or in_cluster_namespace() or default
    if not namespace:
        raise InvalidDefinition(
            f"{what} needs leader_election_namespace: this process does not run in a Pod, so there is no default"
        )
    return namespace


def _on_this_loop(callbacks: LeaderCallbacks) -> LeaderCallbacks:
    """The callbacks, called on the running loop: the elector may run in the supervisor's thread."""
    loop = asyncio.get_running_loop()

    def scheduled(callback: Callable[..., None] | None) -> Callable[..., None] | None:
        def schedule(*arguments: str) -> None:
            assert callback is not None
            loop.call_soon_threadsafe(callback, *arguments)

        return None if callback is None else schedule

    return LeaderCallbacks(
        scheduled(callbacks.on_started_leading),
        scheduled(callbacks.on_stopped_leading),
        scheduled(callbacks.on_new_leader),
    )
