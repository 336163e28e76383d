"""A blocked event loop: reported, survived by the lease and the probes, and ended as early as possible.

The loop is blocked for real here, by code that waits for what the supervisor's thread does.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from hack.cluster.running import RealCluster
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request
from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import AddressUnavailable, LeaderElectionLost
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.supervision.supervisor import THREAD_NAME
from pilotage.meta.models import ObjectMeta
from pilotage.telemetry.metrics import REGISTRY
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap

from ..apiserver import TOKEN, ApiServer, api_server
from ..fakes import FakeCluster

THRESHOLD = 0.1
BLOCKED = "Event loop is blocked"
AGAIN = "Event loop runs again"


class Lines(logging.Handler):
    """Log lines, as they come from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[str] = []
        self._expected: dict[str, threading.Event] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.all.append(record.getMessage())
        for words, event in self._expected.items():
            if self.all[-1].startswith(BLOCKED) and words in self.all[-1]:
                event.set()

    def expect(self, words: str) -> threading.Event:
        """Set when a block is reported with these words. On a busy machine, other code may be slow too."""
        return self._expected.setdefault(words, threading.Event())

    def having(self, *words: str) -> list[str]:
        return [line for line in self.all if all(each in line for each in words)]


@contextmanager
def logged() -> Iterator[Lines]:
    lines, target = Lines(), logging.getLogger("pilotage")
    level = target.level
    target.addHandler(lines)
    target.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        target.removeHandler(lines)
        target.setLevel(level)


def block_until(condition: Callable[[], bool]) -> None:
    """Block the calling thread until something holds that another thread brings about."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def supervisors() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD_NAME]


def metric(name: str, controller: str) -> float:
    for _, samples in REGISTRY.collect():
        for sample in samples:
            if sample.name == name and dict(sample.labels) == {"controller": controller}:
                return sample.value
    return 0.0


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


@pytest.mark.covers("F22")
@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_a_block_is_logged_with_the_reconcile_and_the_line_when_noticed_and_when_it_ends_and_is_counted(
    kind: str,
) -> None:
    loops = pytest.importorskip(kind)
    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
        runner.run(check_that_a_block_is_reported(f"blocking-{kind}"))


async def check_that_a_block_is_reported(name: str) -> None:
    options = ManagerOptions(blocked_loop_threshold=THRESHOLD)
    line = 0

    async def reconcile(request: Request) -> None:
        nonlocal line
        line = sys._getframe().f_lineno + 1
        noticed.wait(60)

    with logged() as lines:
        noticed = lines.expect(f"controller={name} ")
        async with Manager(Cluster.embedded(), options) as manager:
            ControllerBuilder(manager).for_(ConfigMap).named(name).complete(reconcile)
            await manager.cluster.client.create(config_map("a"))
            await manager.run_until_idle(60)
    [first], [last] = (lines.having(words, f"controller={name} ") for words in (BLOCKED, AGAIN))
    for text in (first, last):
        assert f"controller={name} namespace=default name=a reconcileID=" in text
        assert f"{__file__}:{line} in " in text
        assert ".reconcile, which called " in text
        assert " seconds=" in text
    assert metric("pilotage_event_loop_blocked_total", name) == 1
    assert metric("pilotage_event_loop_blocked_seconds_total", name) >= THRESHOLD


async def test_a_block_is_reported_once_where_two_managers_share_the_loop() -> None:
    async def reconcile(request: Request) -> None:
        lines.expect("controller=second ").wait(60)
        watchdogs = [one._supervision._watchdog for one in (first, second) if one._supervision is not None]
        block_until(lambda: all(one.blocked_seconds > 4 * THRESHOLD for one in watchdogs))  # both have checked again

    options = ManagerOptions(blocked_loop_threshold=THRESHOLD)
    with logged() as lines:
        lines.expect("controller=second ")
        async with Manager(FakeCluster(), options) as first, Manager(Cluster.embedded(), options) as second:
            ControllerBuilder(second).for_(ConfigMap).named("second").complete(reconcile)
            await first.run_until_idle(60)
            await second.cluster.client.create(config_map("a"))
            await second.run_until_idle(60)
    assert len(lines.having(BLOCKED, "controller=second namespace=default name=a")) == 1
    assert metric("pilotage_event_loop_blocked_total", "second") == 1


@pytest.mark.covers("F22")
async def test_what_blocks_the_loop_outside_of_a_reconcile_is_named_by_its_task() -> None:
    async def runnable() -> None:
        noticed.wait(60)

    with logged() as lines:
        noticed = lines.expect('task="leader-election: test_what_blocks')
        async with Manager(FakeCluster(), ManagerOptions(blocked_loop_threshold=THRESHOLD)) as manager:
            manager.add(runnable)
            await manager.run_until_idle(60)
    [line] = lines.having(BLOCKED, 'task="leader-election: test_what_blocks')
    assert __file__ in line


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a task shows its context since Python 3.12")
async def test_a_task_that_a_reconcile_has_started_is_reported_as_that_reconcile() -> None:
    async def child() -> None:
        noticed.wait(60)

    async def reconcile(request: Request) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child())

    with logged() as lines:
        noticed = lines.expect("controller=parent ")
        async with Manager(Cluster.embedded(), ManagerOptions(blocked_loop_threshold=THRESHOLD)) as manager:
            ControllerBuilder(manager).for_(ConfigMap).named("parent").complete(reconcile)
            await manager.cluster.client.create(config_map("a"))
            await manager.run_until_idle(60)
    assert len(lines.having(BLOCKED, "controller=parent namespace=default name=a")) == 1


async def test_a_program_that_blocks_before_its_manager_has_started_is_not_bothered() -> None:
    with logged() as lines:
        async with Manager(FakeCluster(), ManagerOptions(blocked_loop_threshold=THRESHOLD)) as manager:
            supervision = manager._supervision
            assert supervision is not None
            block_until(lambda: supervision._watchdog.blocked_seconds > 2 * THRESHOLD)
    assert lines.having(BLOCKED) == []


async def test_start_with_a_timeout_begins_no_reconcile_after_it_and_logs_why_it_is_late() -> None:
    names: list[str] = []

    async def reconcile(request: Request) -> None:
        names.append(request.name)
        block_until(lambda: not manager.work.accepting)  # the timeout is over
        noticed.wait(60)
        end = time.monotonic() + 2 * THRESHOLD
        block_until(lambda: time.monotonic() > end)

    with logged() as lines:
        noticed = lines.expect("controller=late ")
        async with Manager(Cluster.embedded(), ManagerOptions(blocked_loop_threshold=THRESHOLD)) as manager:
            ControllerBuilder(manager).for_(ConfigMap).named("late").complete(reconcile)
            for name in "abcd":
                await manager.cluster.client.create(config_map(name))
            await manager.start(timeout=5)
    assert len(names) == 1
    [late] = lines.having("Timeout was noticed late")
    assert f"controller late, namespace default, name {names[0]}" in late
    assert __file__ in late


@pytest.mark.covers("F22")
async def test_probes_are_answered_while_the_loop_is_blocked_and_fail_after_the_deadline() -> None:
    options = ManagerOptions(
        blocked_loop_threshold=THRESHOLD, blocked_loop_deadline=1000, health_probe_bind_address="127.0.0.1:0"
    )
    answers: list[tuple[int, str]] = []

    def get(path: str) -> tuple[int, str]:
        host, port = manager.health_probe_address
        try:
            with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    async def probing() -> None:
        answers.append(get("/healthz?verbose"))
        answers.append(get("/readyz?verbose"))
        answers.append(get("/readyz?verbose&exclude=eventLoop"))
        answers.append(get("/healthz/eventLoop"))
        assert manager._supervision is not None
        manager._supervision._deadline = 0.1  # the loop is blocked for longer than that
        answers.append(get("/healthz"))

    async with Manager(FakeCluster(), options) as manager:
        manager.add_healthz_check("disk", lambda: None)
        await asyncio.to_thread(get, "/healthz")
        await asyncio.to_thread(get, "/readyz")
        manager.add(probing)
        await manager.run_until_idle(60)
        assert await asyncio.to_thread(get, "/healthz") == (200, "ok")
    assert answers == [
        (200, "[+]disk ok\n[+]eventLoop ok\nhealthz check passed\n"),
        (
            500,
            "[-]started failed: reason withheld\n[+]ping ok\n[+]cluster ok\n[+]permissions ok\n"
            "[-]eventLoop failed: reason withheld\nreadyz check failed\n",
        ),
        (
            500,
            "[-]started failed: reason withheld\n[+]ping ok\n[+]cluster ok\n[+]permissions ok\n"
            "[+]eventLoop excluded: ok\nreadyz check failed\n",
        ),
        (200, "ok"),
        (500, "[+]disk ok\n[-]eventLoop failed: reason withheld\nhealthz check failed\n"),
    ]


def election(**more: float) -> ManagerOptions:
    return ManagerOptions(
        leader_election=True,
        leader_election_id="leader",
        leader_election_namespace="default",
        lease_duration=15,
        renew_deadline=10,
        retry_period=0.1,
        graceful_shutdown_timeout=0,
        blocked_loop_threshold=THRESHOLD,
        **more,  # type: ignore[arg-type]  # times alone
    )


def lease(server: ApiServer) -> Lease:
    return server.call(server.cluster.client.get(Lease, "leader", namespace="default"))


@pytest.mark.covers("F22")
async def test_the_lease_of_a_leader_is_renewed_while_its_loop_is_blocked() -> None:
    async def write() -> None:
        elector = manager._lifecycle.elector
        assert elector is not None
        first, deadline = lease(server).metadata.resource_version, elector.deadline
        block_until(lambda: elector.deadline > deadline and lease(server).metadata.resource_version != first)
        await manager.client.create(config_map("written-after-the-block"))
        written.set()

    written = asyncio.Event()
    with api_server() as server:
        async with Manager(Cluster.connect(server.url, token=TOKEN), election()) as manager:
            manager.add(write)
            running = asyncio.ensure_future(manager.start())
            await asyncio.wait_for(written.wait(), 60)
            running.cancel()
            await asyncio.wait([running])
        assert server.call(server.cluster.client.find(ConfigMap, "written-after-the-block", namespace="default"))


async def test_the_lease_of_another_election_is_renewed_while_the_loop_is_blocked() -> None:
    async def lead() -> None:
        first = lease(server).metadata.resource_version
        block_until(lambda: lease(server).metadata.resource_version != first)
        await manager.cluster.client.create(config_map("written-after-the-block"))

    with api_server() as server:
        options = replace(election(), leader_election=False)
        async with Manager(Cluster.connect(server.url, token=TOKEN), options) as manager:
            await asyncio.wait_for(manager.run_while_leading("leader", lead, release_on_cancel=True), 60)
        assert server.call(server.cluster.client.find(ConfigMap, "written-after-the-block", namespace="default"))
        spec = lease(server).spec
        assert spec is not None
        assert not spec.holder_identity


@pytest.mark.covers("F22")
@pytest.mark.cluster
async def test_the_lease_is_renewed_on_a_real_cluster_while_the_loop_is_blocked(
    real_control_plane: RealCluster,
) -> None:
    async def block() -> None:
        elector = manager._lifecycle.elector
        assert elector is not None
        deadline = elector.deadline
        block_until(lambda: elector.deadline > deadline)
        leads.append(elector.is_leader)  # this loop has not had a turn in which it could have renewed it
        await manager.client.create(config_map("written-after-the-block"))
        written.set()

    leads: list[bool] = []
    written = asyncio.Event()
    cluster = Cluster.connect(kubeconfig=str(real_control_plane.kubeconfig))
    async with Manager(cluster, election()) as manager:
        manager.add(block)
        running = asyncio.ensure_future(manager.start())
        await asyncio.wait([running, asyncio.ensure_future(written.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert leads == [True]
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.covers("F22")
async def test_a_leader_that_loses_its_lease_while_its_loop_is_blocked_writes_nothing_afterwards() -> None:
    async def take_over() -> None:
        """Another replica, which does not wait for the lease to expire."""
        while True:
            found = await server.cluster.client.get(Lease, "leader", namespace="default")
            assert found.spec is not None
            found.spec.holder_identity = "other"
            try:
                await server.cluster.client.update(found)
            except Exception:  # it was renewed meanwhile
                continue
            return

    async def write() -> None:
        elector = manager._lifecycle.elector
        assert elector is not None
        assert elector.is_leader
        server.call(take_over())
        block_until(lambda: not elector.is_leader)
        with pytest.raises(LeaderElectionLost):
            await manager.client.create(config_map("forbidden"))
        refused.append(True)

    refused: list[bool] = []
    with api_server() as server:
        async with Manager(Cluster.connect(server.url, token=TOKEN), election()) as manager:
            manager.add(write)
            with pytest.raises(LeaderElectionLost, match="it is held by other"):
                await manager.start()
        assert refused == [True]
        assert not server.call(server.cluster.client.find(ConfigMap, "forbidden", namespace="default"))


@pytest.mark.covers("F22")
async def test_a_leader_that_hangs_stops_renewing_so_that_another_replica_can_lead() -> None:
    async def hang() -> None:
        elector = manager._lifecycle.elector
        assert elector is not None
        block_until(lambda: not elector.is_leader)

    with api_server() as server:
        async with Manager(Cluster.connect(server.url, token=TOKEN), election(blocked_loop_deadline=1)) as manager:
            manager.add(hang)
            with pytest.raises(
                LeaderElectionLost, match=r"it is not renewed: the event loop has been blocked .*hang at "
            ):
                await manager.start()


async def test_a_released_lease_is_released_on_the_supervisor_s_connection() -> None:
    with api_server() as server:
        options = replace(election(), leader_election_release_on_cancel=True)
        async with Manager(Cluster.connect(server.url, token=TOKEN), options) as manager:
            await manager.run_until_idle(60)
            assert (spec := lease(server).spec) is not None
            assert spec.holder_identity
        assert (spec := lease(server).spec) is not None
        assert not spec.holder_identity


async def test_the_supervisor_ends_with_its_manager_also_when_that_cannot_be_opened() -> None:
    async with Manager(FakeCluster()) as manager:
        assert len(supervisors()) == 1
        await manager.run_until_idle(60)
    assert supervisors() == []
    taken = ManagerOptions(metrics_bind_address="127.0.0.1:0")
    async with Manager(FakeCluster(), taken) as manager:
        host, port = manager.metrics_address
        with pytest.raises(AddressUnavailable):
            async with Manager(FakeCluster(), ManagerOptions(health_probe_bind_address=f"{host}:{port}")):
                pytest.fail("it was opened")
        assert len(supervisors()) == 1
    assert supervisors() == []


@pytest.mark.virtual_time
async def test_in_virtual_time_there_is_no_supervisor() -> None:
    async with Manager(FakeCluster()) as manager:
        await manager.run_until_idle(60)
        assert supervisors() == []


@pytest.mark.parametrize("name", ["blocked_loop_threshold", "blocked_loop_deadline"])
def test_times_that_cannot_work_are_refused(name: str) -> None:
    with pytest.raises(InvalidDefinition, match=name):
        ManagerOptions(**{name: 0})  # type: ignore[arg-type]  # it is the point
