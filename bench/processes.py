"""Throughput of a reconciler that needs the CPU, with one process and with several that share the work.

python -m bench.processes FILE PROCESSES
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from pathlib import Path

import pilotage as pt
from bench.figures import Figure
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap

OBJECTS = 240
SECONDS = 0.02
"""CPU time of one reconcile."""
DONE = "done"


async def measure_processes() -> None:
    """One process against two. Each reconcile needs the CPU for 20 ms, and writes once. On a machine with idle cores
    the rate doubles, but for what one process has more to do than the other."""
    print(f"\nReconciles of {SECONDS * 1000:.0f} ms of CPU time, shared by processes (SQLite file, {OBJECTS} objects)")
    anchor: Figure | None = None
    for count in (1, 2):
        figure = await _measured(count)
        print(figure.line(anchor))
        anchor = anchor or figure


async def _measured(count: int) -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "work.db"
        async with pt.Cluster.embedded(f"sqlite:{file}") as cluster:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.processes", str(file), str(count), stdout=PIPE, stderr=PIPE
            )
            await _wait_for_members(cluster, count)
            began = time.perf_counter()
            for number in range(OBJECTS):
                meta = pt.ObjectMeta(name=f"work-{number}", namespace="default")
                await cluster.client.create(ConfigMap(metadata=meta))
            await _wait_for_work(cluster)
            took = time.perf_counter() - began
            process.terminate()
            printed, _ = await process.communicate()
    used = [float(line) for line in printed.split()]
    note = f"most in one process: {max(used):.2f} s of CPU time, of {sum(used):.2f}"
    return Figure(f"{count} process{'es' * (count > 1)}", OBJECTS, took, sum(used), note)


async def _wait_for_members(cluster: pt.Cluster, count: int) -> None:
    """Until all members have published that they divide the keys among all."""
    while True:
        views = [lease.metadata.annotations for lease in await cluster.client.list(Lease, namespace="default")]
        if len(views) == count and all(view and len("".join(view.values()).split(",")) == count for view in views):
            return
        await asyncio.sleep(0.1)


async def _wait_for_work(cluster: pt.Cluster) -> None:
    done: set[str] = set()
    async with cluster.client.watch(ConfigMap, namespace="default") as events:
        async for event in events:
            if event.type != "BOOKMARK" and DONE in event.object.data:
                done.add(event.object.metadata.name)
                if len(done) == OBJECTS:
                    return


async def work(file: str) -> None:
    """One of the processes."""
    options = pt.ManagerOptions(shards="bench", leader_election_namespace="default", retry_period=0.5)
    async with pt.Manager(pt.Cluster.embedded(f"sqlite:{file}"), options) as manager:

        async def reconcile(request: pt.Request) -> None:
            found = await manager.client.find(ConfigMap, request)
            if found is None or not request.name.startswith("work-") or DONE in found.data:
                return
            until = time.thread_time() + SECONDS
            while time.thread_time() < until:
                hashlib.sha256(b"work" * 1000).digest()
            found.data[DONE] = "yes"
            await manager.client.update(found)

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        began = time.process_time()
        await manager.start()
    print(time.process_time() - began, flush=True)


if __name__ == "__main__":
    pt.manager.run_processes(lambda: work(sys.argv[1]), int(sys.argv[2]))
