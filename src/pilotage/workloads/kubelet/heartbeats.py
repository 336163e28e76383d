"""Heartbeats of simulated nodes, for a node lifecycle controller that is not one of ours and knows only Leases."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from pilotage.errors import ApiError, NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.times import MicroTime
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.workloads.context import Context
from pilotage.workloads.nodes.simulated import LEASES

PERIOD = 10.0
"""Seconds between two renewals, as of a kubelet."""
DURATION = 40


class Heartbeats:
    """Renews the Lease of each simulated node that is alive."""

    name = "heartbeats of simulated nodes"
    needs_leader_election = False

    def __init__(self, context: Context) -> None:
        self._context = context

    async def start(self) -> None:
        """Run until cancelled. A renewal that fails is repeated with the next."""
        while True:
            for name in sorted(self._context.nodes.names):
                if self._context.nodes.is_alive(name):
                    await self._renew(name)
            await asyncio.sleep(PERIOD)

    async def _renew(self, name: str) -> None:
        client, now = self._context.client.api_reader, MicroTime.of(self._context.clock())
        renewal = {"spec": {"renewTime": now.format()}}
        spec = LeaseSpec(holder_identity=name, lease_duration_seconds=DURATION, renew_time=now)
        with suppress(ApiError):
            try:
                await client.patch(Lease, renewal, name=name, namespace=LEASES)
            except NotFound:
                await client.create(Lease(metadata=ObjectMeta(name=name, namespace=LEASES), spec=spec))
