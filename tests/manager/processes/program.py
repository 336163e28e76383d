"""A program of several processes that share the work on ConfigMaps of a SQLite file: each records which process did it.

python -m tests.manager.processes.program FILE PROCESSES [fail|late]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap

DONE_BY = "done-by"


async def work(file: str, failing: bool) -> None:
    options = pt.ManagerOptions(
        shards="program", leader_election_namespace="default", lease_duration=60, renew_deadline=40, retry_period=0.3
    )
    async with pt.Manager(pt.Cluster.embedded(f"sqlite:{file}"), options) as manager:

        async def reconcile(request: pt.Request) -> None:
            found = await manager.client.find(ConfigMap, request)
            if found is None or not request.name.startswith("work-") or DONE_BY in found.data:
                return
            if failing:
                os._exit(7)
            found.data[DONE_BY] = str(os.getpid())
            await manager.client.update(found)

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.start()


async def begin() -> None:
    """A command that has not opened its manager yet."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pt.logger("program").info("Beginning")
    await asyncio.Event().wait()


def main(file: str, processes: str, *more: str) -> None:
    pt.configure_logging()
    pt.manager.run_processes(
        begin if "late" in more else lambda: work(file, "fail" in more),
        int(processes),
        metrics_bind_address="127.0.0.1:0",
        health_probe_bind_address="127.0.0.1:0",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
