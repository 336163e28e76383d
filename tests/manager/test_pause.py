"""A leader that is paused for longer than its lease: the whole process, as a frozen machine would be."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from pilotage.cluster import Cluster
from pilotage.http.server import serve
from pilotage.server.http.handler import HTTPHandler
from pilotage.types.core.v1 import ConfigMap

REPLICA = """
import asyncio, sys
import pilotage as pt
from pilotage.types.core.v1 import ConfigMap

async def main(name, url):
    options = pt.ManagerOptions(
        leader_election=True, leader_election_id="leader", leader_election_namespace="default",
        lease_duration=1, renew_deadline=0.8, retry_period=0.2,
    )
    async with pt.Manager(pt.Cluster.connect(url, token="secret"), options) as manager:
        async def write():
            print("leading", flush=True)
            number = 0
            while True:
                number += 1
                meta = pt.ObjectMeta(name=f"{name}-{number}", namespace="default")
                await manager.client.create(ConfigMap(metadata=meta))
                await asyncio.sleep(0.01)
        manager.add(write)
        await manager.start()

asyncio.run(main(*sys.argv[1:]))
"""


async def replica(name: str, url: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", REPLICA, name, url, stdout=PIPE, stderr=PIPE)


async def leading(process: Process) -> None:
    assert process.stdout is not None
    line = await process.stdout.readline()
    assert line == b"leading\n"


@pytest.mark.long  # a pause between the last check and the socket is a gap that only a fenced server closes
async def test_a_paused_leader_writes_nothing_after_another_has_taken_over() -> None:
    async with (
        Cluster.embedded() as cluster,
        serve(HTTPHandler(cluster.registry, "secret")) as server,
        asyncio.timeout(30),
    ):
        url = f"http://127.0.0.1:{server.port}"
        first = await replica("first", url)
        await leading(first)
        second = await replica("second", url)
        try:
            first.send_signal(signal.SIGSTOP)
            await leading(second)
            first.send_signal(signal.SIGCONT)
            _, errors = await first.communicate()
            assert b"LeaderElectionLost" in errors
            assert first.returncode == 1
        finally:
            second.terminate()
            await second.communicate()
        writers = await in_order_of_writing(cluster)
    assert writers.index("second") == writers.count("first")  # all of the first's, then all of the second's
    assert writers.count("second") > 0


async def in_order_of_writing(cluster: Cluster) -> list[str]:
    found = await cluster.client.list(ConfigMap, namespace="default")
    written = sorted(found, key=lambda one: int(one.metadata.resource_version))
    writers = [one.metadata.name.split("-")[0] for one in written]
    return [writer for writer in writers if writer in ("first", "second")]
