"""A leader that loses its lease in the middle of a reconcile: after each of its writes in turn."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pilotage.cluster import Cluster
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.request import Request
from pilotage.errors import AlreadyExists
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Secret

from .election.test_elector import Board, Lock
from .fakes import elapsed

PARTS = ("a", "b", "c")
DEADLINE = 10.0
"""Seconds after which a leader that cannot renew its lease gives up."""


class Parts:
    """A reconciler that makes three Secrets for a ConfigMap. It loses its lease before the write number `lost_before`,
    notices nothing of it, and goes on."""

    def __init__(self, manager: Manager, lock: Lock, lost_before: int, outcomes: list[str]) -> None:
        self._manager = manager
        self._lock = lock
        self._lost_before = lost_before
        self._outcomes = outcomes

    async def reconcile(self, request: Request) -> None:
        for number, part in enumerate(PARTS):
            if number == self._lost_before:
                self._lock.cut_off = True
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(100)
                assert elapsed() == pytest.approx(DEADLINE)  # cancelled at once
            await self._create(ObjectMeta(name=f"{request.name}-{part}", namespace=request.namespace))

    async def _create(self, meta: ObjectMeta) -> None:
        try:
            await self._manager.client.create(Secret(metadata=meta))
            self._outcomes.append(f"created {meta.name}")
        except AlreadyExists:
            self._outcomes.append(f"found {meta.name}")
        except LeaderElectionLost:
            self._outcomes.append(f"refused {meta.name}")


def election(lock: Lock) -> ManagerOptions:
    return ManagerOptions(leader_election=True, leader_election_resource_lock_interface=lock, handle_signals=False)


@pytest.mark.covers("F13")
@pytest.mark.parametrize("lost_before", range(len(PARTS)))
@pytest.mark.virtual_time
async def test_no_write_follows_a_lost_lease_and_the_next_leader_does_the_rest(lost_before: int) -> None:
    board, outcomes = Board(), list[str]()
    async with Cluster.embedded() as cluster:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="app", namespace="default")))
        for life, loses in enumerate((lost_before, len(PARTS))):
            lock = Lock(board)
            async with Manager(cluster, election(lock)) as manager:
                reconciler = Parts(manager, lock, loses, outcomes)
                ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
                if life == 0:
                    with pytest.raises(LeaderElectionLost):
                        await manager.start()
                else:
                    await manager.run_until_idle(60)
    made, left = PARTS[:lost_before], PARTS[lost_before:]
    assert outcomes == [
        *(f"created app-{part}" for part in made),
        *(f"refused app-{part}" for part in left),
        *(f"found app-{part}" for part in made),
        *(f"created app-{part}" for part in left),
    ]
