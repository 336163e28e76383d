"""The lease of a leader election, kept as a Lease object of the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.errors import NotFound
from pilotage.manager.election.resourcelock import LeaderElectionRecord
from pilotage.meta.models import ObjectMeta
from pilotage.rest import Fence, LeaderTerm
from pilotage.types.coordination.v1 import Lease, LeaseSpec


class LeaseLock:
    """A record in a Lease. Each writer adds its `labels`; other labels stay.

    `cluster` is the one that has the Lease. Writes to it carry the leader's term, and if it is an API server of this
    library, it refuses writes of a former leader.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        labels: Mapping[str, str] | None = None,
        *,
        cluster: Cluster | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._labels = dict(labels or {})
        self._cluster = cluster
        self._lease: Lease | None = None  # as it was last seen

    @property
    def name(self) -> str:
        return f"{self._namespace}/{self._name}"

    def fence(self, record: LeaderElectionRecord, check: Callable[[], None]) -> Fence:
        """The fence of the writes of the record's holder."""
        term = LeaderTerm(self._namespace, self._name, record.holder_identity, record.leader_transitions)
        return Fence(term if self._cluster is not None else None, check, self._cluster)

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[LeaderElectionRecord]]:
        """The records from now on, as they change, until the server ends the watch."""
        fields = {"metadata.name": self._name}
        async with self._client.watch(Lease, namespace=self._namespace, fields=fields) as events:
            yield (record_of(event.object.spec) async for event in events if event.type in ("ADDED", "MODIFIED"))

    async def get(self) -> LeaderElectionRecord | None:
        try:
            self._lease = await self._client.get(Lease, self._name, namespace=self._namespace)
        except NotFound:
            return None
        return record_of(self._lease.spec)

    async def create(self, record: LeaderElectionRecord) -> None:
        metadata = ObjectMeta(name=self._name, namespace=self._namespace, labels=dict(self._labels))
        self._lease = await self._client.create(Lease(metadata=metadata, spec=spec_of(record)))

    async def update(self, record: LeaderElectionRecord) -> None:
        lease = self._lease
        if lease is None:
            raise NotFound(f"the Lease {self.name} was not read yet")
        self._lease = None  # outdated if the write fails: it is read again
        lease.spec = spec_of(record)
        lease.metadata.labels = {**lease.metadata.labels, **self._labels}
        self._lease = await self._client.update(lease)


def record_of(spec: LeaseSpec | None) -> LeaderElectionRecord:
    """The record in a Lease."""
    if spec is None:
        return LeaderElectionRecord()
    return LeaderElectionRecord(
        holder_identity=spec.holder_identity or "",
        lease_duration_seconds=spec.lease_duration_seconds or 0,
        acquire_time=spec.acquire_time,
        renew_time=spec.renew_time,
        leader_transitions=spec.lease_transitions or 0,
        preferred_holder=spec.preferred_holder or "",
        strategy=spec.strategy or "",
    )


def spec_of(record: LeaderElectionRecord) -> LeaseSpec:
    """The Lease for a record. Without a holder the lease was released."""
    return LeaseSpec(
        holder_identity=record.holder_identity or None,
        lease_duration_seconds=record.lease_duration_seconds,
        acquire_time=record.acquire_time,
        renew_time=record.renew_time,
        lease_transitions=record.leader_transitions,
        preferred_holder=record.preferred_holder or None,
        strategy=record.strategy or None,
    )
