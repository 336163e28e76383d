"""Several processes as one program: signals, logs, metrics, probes, and failures."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pilotage.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.http.client import HTTPClient
from pilotage.manager.processes import child, parent
from pilotage.manager.processes.parent import run_processes
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap

from . import program

NAMES = {f"work-{number}" for number in range(30)}


@dataclass
class Program:
    """The running program, and what it has logged."""

    process: Process
    ports: dict[str, int] = field(default_factory=dict)

    async def line(self) -> dict[str, Any]:
        assert self.process.stderr is not None
        line = await self.process.stderr.readline()
        assert line, "the program has ended"
        found: dict[str, Any] = json.loads(line)
        if "bind_address" in found:
            self.ports[found["message"]] = int(found["bind_address"].rpartition(":")[2])
        return found

    async def shares(self, count: int) -> None:
        """Wait until so many processes have seen each other."""
        seen: set[int] = set()
        while len(seen) < count:
            found = await self.line()
            if found["message"] == "Shard members changed" and found["members"] == count:
                seen.add(found["process"])

    async def get(self, server: str, path: str) -> tuple[int, str]:
        async with HTTPClient("127.0.0.1", self.ports[f"Starting {server}"]) as client:
            response = await client.request("GET", path)
            return response.status, response.body.decode()

    async def ended(self) -> str:
        """Wait until every process has closed the log, and return the rest of it."""
        _, errors = await self.process.communicate()
        return errors.decode()


@asynccontextmanager
async def running(file: Path, *options: str) -> AsyncIterator[Program]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", program.__name__, str(file), "2", *options, stdout=PIPE, stderr=PIPE
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def give_work(cluster: Cluster) -> None:
    for name in NAMES:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


async def done(cluster: Cluster) -> dict[str, str]:
    """Wait until all is done. Returns the process of each."""
    by: dict[str, str] = {}
    async with cluster.client.watch(ConfigMap, namespace="default") as events:
        async for event in events:
            if event.type != "BOOKMARK" and program.DONE_BY in event.object.data:
                by[event.object.metadata.name] = event.object.data[program.DONE_BY]
                if by.keys() >= NAMES:
                    break
    return by


async def test_processes_share_the_work_and_have_one_set_of_signals_logs_metrics_and_probes(tmp_path: Path) -> None:
    async with Cluster.embedded(f"sqlite:{tmp_path}/work.db") as cluster, running(tmp_path / "work.db") as started:
        await started.shares(2)
        await give_work(cluster)
        by = await done(cluster)
        assert len(set(by.values())) == 2
        status, metrics = await started.get("metrics server", "/metrics")
        assert status == 200
        [total] = [
            line for line in metrics.splitlines() if 'reconcile_total{controller="configmap",result="success"}' in line
        ]
        assert int(total.rpartition(" ")[2]) >= len(NAMES)
        for number in (1, 2):
            assert f'pilotage_shards_members{{group="program",process="{number}"}} 2' in metrics
        assert await started.get("health probe server", "/readyz") == (200, "ok")
        assert await started.get("health probe server", "/healthz") == (200, "ok")
        started.process.send_signal(signal.SIGTERM)
        log = await started.ended()
        assert started.process.returncode == 0
        assert log.count("All controllers shut down gracefully") == 2


async def test_a_process_that_fails_ends_the_others_in_order(tmp_path: Path) -> None:
    async with (
        Cluster.embedded(f"sqlite:{tmp_path}/work.db") as cluster,
        running(tmp_path / "work.db", "fail") as started,
    ):
        await started.shares(2)
        [name, *_] = NAMES
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
        log = await started.ended()
    assert started.process.returncode == 1
    assert "ProcessFailed: process " in log
    assert "ended with exit code 7" in log
    assert log.count("All controllers shut down gracefully") == 1


def test_a_process_that_is_interrupted_prints_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        raise KeyboardInterrupt

    with pytest.raises(parent.ProcessFailed, match="process 1 ended with exit code 130"):
        run_processes(main, 1)
    assert "Traceback" not in capfd.readouterr().err


async def test_a_signal_before_a_process_has_begun_its_work_is_no_failure(tmp_path: Path) -> None:
    async with running(tmp_path / "work.db", "late") as started:
        waiting = ["Started processes", "Beginning", "Beginning"]
        while waiting:
            message = (await started.line())["message"]
            if message in waiting:
                waiting.remove(message)
        started.process.send_signal(signal.SIGTERM)
        log = await started.ended()
    assert started.process.returncode == 0, log


@pytest.mark.long
async def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    async with running(tmp_path / "work.db") as started:
        await started.shares(2)
        started.process.send_signal(signal.SIGKILL)
        log = await started.ended()  # which each process keeps open until its end
    assert log.count("All controllers shut down gracefully") == 2


def test_a_number_of_processes_that_makes_no_sense_is_refused() -> None:
    async def main() -> None:
        raise AssertionError

    with pytest.raises(InvalidDefinition, match="processes=-1"):
        run_processes(main, -1)
    with pytest.raises(InvalidDefinition):
        run_processes(main, 1, metrics_bind_address="nonsense")


async def test_an_answer_to_a_question_that_was_cancelled_is_not_that_of_the_next() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    asked = parent._Child(1, multiprocessing.current_process(), ours)
    first = asyncio.create_task(asked.ask(b"h"))
    await asyncio.sleep(0)
    first.cancel()  # the client of the probe has gone
    await asyncio.wait([first])
    second = asyncio.create_task(asked.ask(b"r"))

    def answer() -> None:
        for _ in range(2):
            found = theirs.recv(1) * 2
            theirs.sendall(child.LENGTH.pack(len(found)) + found)

    await asyncio.to_thread(answer)
    assert await second == b"rr"
    ours.close()
    theirs.close()
