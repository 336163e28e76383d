"""Replicas of one operator, each in a process of its own. The leader writes numbered ConfigMaps, one after the other.

python -m tests.manager.replicas NAME KUBECONFIG NAMESPACE LEASE_SECONDS
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pilotage as pt
from pilotage.errors import AlreadyExists
from pilotage.types.core.v1 import ConfigMap

LEASE = "replicas"
LABEL = "written-by"


@dataclass(frozen=True)
class Written:
    """One object, in the order in which the server has stored them."""

    number: int
    by: str


@dataclass
class Replica:
    """A running process."""

    name: str
    process: Process

    async def stands_by(self) -> None:
        """Wait until it has seen the leader."""
        await self._line(b"stands by\n")

    async def leads(self) -> None:
        """Wait until it has written something."""
        await self._line(b"wrote\n")

    async def _line(self, expected: bytes) -> None:
        assert self.process.stdout is not None
        while (line := await self.process.stdout.readline()) != expected:
            assert line, await self.ended()

    async def ended(self) -> str:
        """Wait for its end. Returns what it has logged."""
        _, errors = await self.process.communicate()
        return errors.decode()


@asynccontextmanager
async def replica(name: str, kubeconfig: str, namespace: str, lease_seconds: float) -> AsyncIterator[Replica]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, name, kubeconfig, namespace, str(lease_seconds), stdout=PIPE, stderr=PIPE
    )
    try:
        yield Replica(name, process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def written(client: pt.Client, namespace: str) -> list[Written]:
    """What all replicas have written."""
    found = await client.list(ConfigMap, namespace=namespace, labels=LABEL)
    in_order = sorted(found, key=lambda one: int(one.metadata.resource_version))
    return [Written(int(one.metadata.name.removeprefix("w-")), one.metadata.labels[LABEL]) for one in in_order]


async def main(name: str, kubeconfig: str, namespace: str, lease_seconds: float) -> None:
    """One replica, until it is stopped or loses its lease."""
    options = pt.ManagerOptions(
        leader_election=True,
        leader_election_id=LEASE,
        leader_election_namespace=namespace,
        leader_election_labels={"app": "replicas"},
        lease_duration=lease_seconds,
        renew_deadline=lease_seconds * 2 / 3,
        retry_period=lease_seconds / 8,
        leader_election_callbacks=pt.manager.LeaderCallbacks(on_new_leader=lambda _: print("stands by", flush=True)),
    )
    async with pt.Manager(pt.Cluster.connect(kubeconfig=kubeconfig), options) as manager:

        async def write() -> None:
            client = manager.cluster.client
            number = len(await client.list(ConfigMap, namespace=namespace, labels=LABEL))
            while True:
                number += 1
                meta = pt.ObjectMeta(name=f"w-{number}", namespace=namespace, labels={LABEL: name})
                try:
                    await client.create(ConfigMap(metadata=meta))
                except AlreadyExists:
                    raise SystemExit(f"{name}: the write {number} was doubled") from None
                if number % 10 == 1:
                    print("wrote", flush=True)
                await asyncio.sleep(0.01)

        manager.add(write)
        await manager.start()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
