"""Coordinated leader election: candidates publish their versions, and the API server chooses the leader.

It needs a kube-apiserver with the feature gate CoordinatedLeaderElection and the API coordination.k8s.io/v1beta1. The
embedded API server does not choose a leader.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pilotage.client.client import Client
from pilotage.client.conflicts import retry_on_conflict
from pilotage.errors import InvalidDefinition, NotFound, PilotageError
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.scalars.times import Clock, MicroTime
from pilotage.meta.validation.names import dns_1123_subdomain
from pilotage.telemetry.logs import logger

log = logger("pilotage.leaderelection")

RENEW_SECONDS = 300.0
"""How often a candidate renews itself without a ping; the server deletes one that has not been renewed for hours."""
RETRY_SECONDS = 5.0
"""How long to wait after a failure."""

OLDEST_EMULATION_VERSION = "OldestEmulationVersion"
"""The strategy that Kubernetes has: the candidate with the oldest emulation version leads, then the oldest binary."""


class LeaseCandidateSpec(Model):
    """The lease that a candidate contends for, and its versions."""

    lease_name: str
    binary_version: str
    emulation_version: str | None = None
    strategy: str
    ping_time: MicroTime | None = None
    renew_time: MicroTime | None = None


@resource(group="coordination.k8s.io", version="v1beta1")
class LeaseCandidate(Resource):
    """A replica that may lead: an object of the API server."""

    spec: LeaseCandidateSpec


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """What a replica publishes in a coordinated election."""

    binary_version: str
    """The version of the program, as `1.4.0`."""
    emulation_version: str = ""
    """The version whose behaviour it has; by default the binary version. The oldest one leads, so that during an
    upgrade no replica uses features that the others do not know."""
    strategy: str = OLDEST_EMULATION_VERSION
    """How the server chooses."""


class Candidacy:
    """One LeaseCandidate, published while `run` runs. A ping of the server is answered by renewing it."""

    def __init__(
        self, client: Client, namespace: str, name: str, lease: str, options: CandidateOptions, clock: Clock
    ) -> None:
        """`name` is the identity of the candidate in the lease."""
        if problems := dns_1123_subdomain(name):
            raise InvalidDefinition(
                f"invalid identity {name!r}: it becomes the name of a LeaseCandidate: {problems[0]}"
            )
        self.name = name
        self._client = client
        self._namespace = namespace
        self._lease = lease
        self._options = options
        self._clock = clock

    async def run(self) -> None:
        """Publish the candidate, and answer pings, until cancelled."""
        while True:
            try:
                candidate = await retry_on_conflict(self._renew)  # the server may ping meanwhile
                async with asyncio.timeout(RENEW_SECONDS):
                    await self._wait_for_ping(candidate)
            except TimeoutError:
                continue
            except (PilotageError, OSError) as error:
                log.warning("Cannot publish the lease candidate, retrying", candidate=self.name, error=error)
                await asyncio.sleep(RETRY_SECONDS)

    async def withdraw(self) -> None:
        """Delete the candidate: this replica does not lead any more."""
        try:
            await self._client.delete(LeaseCandidate, self.name, namespace=self._namespace)
        except (PilotageError, OSError) as error:
            log.debug(
                "Cannot delete the lease candidate; the server deletes it when it expires",
                candidate=self.name,
                error=error,
            )

    async def _renew(self) -> LeaseCandidate:
        now = MicroTime.of(self._clock())
        try:
            found = await self._client.get(LeaseCandidate, self.name, namespace=self._namespace)
        except NotFound:
            made = await self._client.create(self._new(now))
            log.info("Published the lease candidate", candidate=self.name, lease=self._lease)
            return made
        found.spec.renew_time = now
        return await self._client.update(found)

    async def _wait_for_ping(self, candidate: LeaseCandidate) -> None:
        """Wait until the server pings the candidate, or has deleted it."""
        fields, version = {"metadata.name": self.name}, candidate.metadata.resource_version
        while True:
            async with self._client.watch(
                LeaseCandidate, namespace=self._namespace, fields=fields, resource_version=version
            ) as events:
                async for event in events:
                    version = event.object.metadata.resource_version
                    if event.type == "DELETED" or (event.type != "BOOKMARK" and is_pinged(event.object.spec)):
                        return

    def _new(self, now: MicroTime) -> LeaseCandidate:
        options = self._options
        spec = LeaseCandidateSpec(
            lease_name=self._lease,
            binary_version=options.binary_version,
            emulation_version=options.emulation_version or options.binary_version,
            strategy=options.strategy,
            renew_time=now,
        )
        return LeaseCandidate(metadata=ObjectMeta(name=self.name, namespace=self._namespace), spec=spec)


def is_pinged(spec: LeaseCandidateSpec) -> bool:
    """Whether the server has asked since the candidate was last renewed."""
    return spec.ping_time is not None and (spec.renew_time is None or spec.ping_time > spec.renew_time)
