"""SIGTERM at any moment: no reconcile begins, what runs ends in the grace period, and the lease is released last."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

import pilotage as pt
from pilotage.cluster import Cluster
from pilotage.rest import APIRequest, Transport, WatchEvent
from pilotage.testing import loop as virtual
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap
from tests.manager.apiserver import TOKEN, api_server

from .network import Link, R, Send, cluster_on

GRACE = 30.0
FEW, MANY = range(20), [range(first, first + 100) for first in range(0, 1000, 100)]


class Recording(Link):
    """Records what the program wrote, and which watches it has open."""

    def __init__(self, server: Transport) -> None:
        super().__init__(server)
        self.written: list[tuple[float, str]] = []
        self.open = 0

    async def write(self, request: APIRequest, send: Send[R]) -> R:
        self.written.append((asyncio.get_running_loop().time(), request.resource.resource))
        return await send()

    @asynccontextmanager
    async def _watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with super()._watch(request) as events:
            self.open += 1
            try:
                yield events
            finally:
                self.open -= 1


@dataclass
class Run:
    """Times of one run of an operator that is terminated."""

    signalled: float = 0.0
    again: float | None = None
    ended: float = 0.0
    begun: list[float] = field(default_factory=list)
    error: BaseException | None = None


OPTIONS = pt.ManagerOptions(
    leader_election=True,
    leader_election_id="termination",
    leader_election_namespace="default",
    leader_election_release_on_cancel=True,
    graceful_shutdown_timeout=GRACE,
    handle_signals=False,
)


async def story(seed: int) -> str:
    """An operator whose reconciles write three times each, terminated at a random moment; some of them twice."""
    chance, run = random.Random(seed), Run()
    time = asyncio.get_running_loop().time
    async with Cluster.embedded() as server:
        client = server.client.with_namespace("default")
        link = Recording(server.registry)
        slowest = chance.choice((1.0, 10.0, 60.0))
        async with pt.Manager(cluster_on(link), OPTIONS) as manager:

            async def reconcile(request: pt.Request) -> None:
                run.begun.append(time())
                found = await manager.client.get(ConfigMap, request)
                for number in range(3):
                    await asyncio.sleep(slowest * chance.random() / 3)
                    await manager.client.patch(found, {"data": {"step": str(number)}})

            builder = pt.ControllerBuilder(manager).for_(ConfigMap, predicates=[pt.generation_changed])
            builder.with_options(pt.ControllerOptions(max_concurrent_reconciles=2)).complete(reconcile)
            running = asyncio.ensure_future(manager.start())
            until = chance.random() * chance.choice((0.1, 5.0, 100.0))
            number = 0
            while time() < until:
                await client.create(ConfigMap(metadata=pt.ObjectMeta(name=f"object-{number}")))
                number += 1
                await asyncio.sleep(min(until - time(), chance.random() * 2) if until > time() else 0)
            run.signalled = time()
            manager._lifecycle.on_signal(signal.SIGTERM)
            if chance.random() < 0.3:
                await asyncio.sleep(chance.random() * 5)
                run.again = time()
                manager._lifecycle.on_signal(signal.SIGTERM)
            try:
                await running
            except (pt.manager.ShutdownTimeout, pt.manager.ShutdownForced) as error:
                run.error = error
            run.ended = time()
        return await check(run, link, client)


async def check(run: Run, link: Recording, client: pt.Client) -> str:
    """Check a run, and return how it ended."""
    limit = (run.again if run.again is not None else run.signalled + GRACE) + 1.5  # cancelled tasks have a second
    assert run.signalled <= run.ended <= limit, "it did not end within the grace period"
    assert all(begun <= run.signalled for begun in run.begun), "a reconcile began after the signal"
    assert link.open == 0, "a watch is still open"
    lease = await client.find(Lease, "termination")
    if lease is None:
        return "before the lease"
    assert lease.spec is not None
    if run.error is not None:  # work was cut: the lease expires
        assert lease.spec.holder_identity
        return type(run.error).__name__
    assert not lease.spec.holder_identity, "the lease was not released"
    assert link.written[-1][1] == "leases", "something was written after the release"
    return "released"


def run_all(seeds: Iterable[int]) -> set[str]:
    return {virtual.run(story(seed), seed=seed) for seed in seeds}


@pytest.mark.covers("F31")
def test_sigterm_at_any_moment_ends_in_order() -> None:
    assert run_all(FEW) >= {"released", "ShutdownForced"}


@pytest.mark.covers("F31")
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
def test_sigterm_at_any_moment_ends_in_order_in_1000_simulations(seeds: range) -> None:
    assert run_all(seeds) >= {"released", "ShutdownForced", "ShutdownTimeout"}


PROGRAM = f"""
import asyncio, sys
import pilotage as pt
from pilotage.types.core.v1 import ConfigMap

async def main(url):
    options = pt.ManagerOptions(
        leader_election=True,
        leader_election_id="termination",
        leader_election_namespace="default",
        leader_election_release_on_cancel=True,
    )
    async with pt.Manager(pt.Cluster.connect(url, token={TOKEN!r}), options) as manager:
        async def reconcile(request):
            found = await manager.client.get(ConfigMap, request)
            await manager.client.patch(found, {{"data": {{"step": "begun"}}}})
            await asyncio.sleep(0.05)
            await manager.client.patch(found, {{"data": {{"step": "done"}}}})
        pt.ControllerBuilder(manager).for_(ConfigMap, predicates=[pt.generation_changed]).complete(reconcile)
        asyncio.get_running_loop().call_soon(lambda: print("starts", flush=True))  # signals are handled by then
        await manager.start()

asyncio.run(main(sys.argv[1]))
"""


async def terminate(url: str, seconds: float) -> tuple[int, str]:
    """Start the program, send SIGTERM some time after its manager starts, and wait for its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, url, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"starts\n"
    await asyncio.sleep(seconds)  # the moment at random is the point
    process.terminate()
    _, errors = await asyncio.wait_for(process.communicate(), GRACE)
    assert process.returncode is not None
    return process.returncode, errors.decode()


async def check_processes(moments: Iterable[float]) -> None:
    with api_server() as server:

        async def create() -> None:
            client = server.cluster.client.with_namespace("default")
            for number in range(20):
                await client.create(ConfigMap(metadata=pt.ObjectMeta(name=f"object-{number}")))

        async def state() -> tuple[str, set[str]]:
            client = server.cluster.client.with_namespace("default")
            lease = await client.find(Lease, "termination")
            holder = (lease.spec.holder_identity or "") if lease is not None and lease.spec is not None else ""
            return holder, {one.data.get("step", "") for one in await client.list(ConfigMap)}

        server.call(create())
        for moment in moments:
            code, errors = await terminate(server.url, moment)
            assert code == 0, errors
            holder, steps = server.call(state())
            assert holder == "", "the lease was not released"
            assert steps <= {"", "done"}, "a reconcile was cut"


@pytest.mark.covers("F31")
async def test_sigterm_ends_a_real_process_in_order() -> None:
    await check_processes([0.0, 0.15])


@pytest.mark.covers("F31")
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100))
async def test_sigterm_at_random_moments_ends_1000_real_processes_in_order(seed: int) -> None:
    chance = random.Random(seed)
    await check_processes([chance.random() * chance.choice((0.05, 0.5, 1.0)) for _ in range(10)])
