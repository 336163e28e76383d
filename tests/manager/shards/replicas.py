"""Replicas that share the work on ConfigMaps, each in a process of its own: each `work-N` gets one `done-N`.

python -m tests.manager.shards.replicas NAME KUBECONFIG NAMESPACE LEASE_SECONDS
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import pilotage as pt
from pilotage.errors import AlreadyExists
from pilotage.types.core.v1 import ConfigMap

LABEL = "done-by"


async def main(name: str, kubeconfig: str, namespace: str, lease_seconds: float) -> None:
    options = pt.ManagerOptions(
        shards="replicas",
        leader_election_namespace=namespace,
        cache=pt.CacheOptions(default_namespaces=[namespace]),
        lease_duration=lease_seconds,
        renew_deadline=lease_seconds * 2 / 3,
        retry_period=lease_seconds / 8,
    )
    async with pt.Manager(pt.Cluster.connect(kubeconfig=kubeconfig), options) as manager:

        async def reconcile(request: pt.Request) -> None:
            if not request.name.startswith("work-"):
                return
            target = request.name.replace("work-", "done-")
            if await manager.client.find(ConfigMap, target, namespace=namespace) is not None:
                return
            meta = pt.ObjectMeta(name=target, namespace=namespace, labels={LABEL: name})
            with suppress(AlreadyExists):  # its former owner's write, which this cache does not show yet
                await manager.client.create(ConfigMap(metadata=meta))

        shards = manager.shards
        assert shards is not None
        shards.subscribe(
            lambda: print(f"members {len(shards.members)} handover_finished {shards.handover_finished}", flush=True)
        )
        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.start()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
