"""The operators of the examples: each is recorded as it stands, and its reconciles send the same bytes again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import pilotage as pt
from examples import (
    builtin_kinds,
    chaospod,
    controller_shim,
    database,
    several_clusters,
    test_greetings,
    wait_for_network,
    wait_for_secret,
    why,
)
from examples.cronjob import __main__ as cronjob
from examples.gpu_agent import GPUAgent
from examples.inventory import inventory
from examples.inventory.inventory.reconcilers import setup as inventory_setup
from pilotage.device.client.target import Target
from pilotage.device.providers.fake import FakeOptions, FakeProvider
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.history import HistoryOptions
from pilotage.manager.manager import Manager
from pilotage.recording import read
from pilotage.replay import Verdict, replay
from pilotage.testing import Environment, loop
from pilotage.types.core.v1 import ConfigMap, Node, Pod

from ..kit.tools import Console
from ..recording.programs import FILE_BYTES


@contextmanager
def recorded(path: Path, **others: Any) -> Iterator[None]:
    """Every manager that is made in the block records to the file."""
    made = Manager.__init__

    def record(self: Manager, cluster: pt.Cluster, options: pt.ManagerOptions | None = None) -> None:
        history = HistoryOptions(file=str(path), max_file_bytes=FILE_BYTES, record_secrets=True)
        made(self, cluster, replace(options or pt.ManagerOptions(), history=history, **others))

    with mock.patch.object(Manager, "__init__", record):
        yield


def why_setup(manager: pt.Manager) -> None:
    """The reconciler of why.py, which is a closure there."""

    async def reconcile(request: pt.Request) -> None:
        greeting = await manager.client.get(why.Greeting, request)
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        config = ConfigMap(metadata=meta, data={"text": greeting.spec.text})
        await pt.create_or_patch(manager.client, config, owner=greeting)

    pt.ControllerBuilder(manager).for_(why.Greeting).owns(ConfigMap).complete(reconcile)


def chaospod_setup(manager: pt.Manager) -> None:
    reconciler = chaospod.ChaosPodReconciler(manager, random.SystemRandom())
    pt.ControllerBuilder(manager).for_(chaospod.ChaosPod).owns(Pod).complete(reconciler)


class NoCloud(wait_for_network.Cloud):
    """A replay asks no cloud."""

    looks = property(lambda self: pytest.fail("the cloud was asked"), lambda self, looks: None)


PROGRAMS: dict[str, tuple[Callable[[], Awaitable[None]], Callable[[pt.Manager], Any], Callable[[Any], Any]]] = {
    "builtin_kinds": (lambda: builtin_kinds.main("memory:"), builtin_kinds.setup_with_manager, asyncio.run),
    "chaospod": (lambda: chaospod.main("memory:", 10), chaospod_setup, loop.run),
    "cronjob": (lambda: cronjob.main("memory:"), cronjob.setup_with_manager, loop.run),
    "database": (
        lambda: database.main("memory:"),
        lambda manager: database.DatabaseReconciler(manager).setup_with_manager(manager),
        asyncio.run,
    ),
    "several_clusters": (
        lambda: several_clusters.main("memory:", []),
        lambda manager: several_clusters.setup_with_manager(manager, {"target": pt.Cluster.embedded()}),
        asyncio.run,
    ),
    "wait_for_network": (
        wait_for_network.main,
        lambda manager: wait_for_network.SubnetReconciler(manager, NoCloud()).setup_with_manager(manager),
        loop.run,
    ),
    "wait_for_secret": (
        wait_for_secret.main,
        lambda manager: wait_for_secret.AppReconciler(manager).setup_with_manager(manager),
        asyncio.run,
    ),
    "why": (why.main, why_setup, asyncio.run),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_reconcile_sends_the_same_bytes(program: str, tmp_path: Path) -> None:
    main, setup, run = PROGRAMS[program]
    path = tmp_path / "history.rec"
    with recorded(path):
        run(main())
    (session,) = read(str(path)).sessions
    outcomes = replay(session, setup)
    assert [str(outcome) for outcome in outcomes if outcome.verdict is not Verdict.IDENTICAL] == []
    assert len(outcomes) >= 2
    assert any(recorded.calls for recorded in session.runs)


def test_a_node_agent_is_replayed_without_its_gpus(tmp_path: Path) -> None:
    path = tmp_path / "history.rec"

    async def main() -> None:
        target = f"unix://{tmp_path}/api/device.sock"
        provider = FakeProvider(FakeOptions(count=2, period=0, seed=1))
        server = DeviceServer(DeviceServerOptions(targets=[Target.parse(target)], providers=[provider]))
        async with server, pt.Manager(pt.Cluster.embedded()) as manager:
            await manager.cluster.client.create(Node(metadata=pt.ObjectMeta(name="worker-1")))
            manager.add_device_api(target)
            GPUAgent(manager, "worker-1").setup_with_manager(manager)
            await manager.run_until_idle(timeout=60)

    with recorded(path):
        asyncio.run(main())

    def setup(manager: pt.Manager) -> None:
        manager.add_device_api()
        GPUAgent(manager, "worker-1").setup_with_manager(manager)

    (session,) = read(str(path)).sessions
    outcomes = replay(session, setup)
    assert Counter(outcome.verdict for outcome in outcomes) == {Verdict.IDENTICAL: len(outcomes)}
    assert outcomes


def test_injected_gpus_are_replayed_without_their_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, target = tmp_path / "history.rec", f"unix://{tmp_path}/api/device.sock"
    monkeypatch.setenv("NVIDIA_DEVICE_API_TARGET", target)

    async def main() -> None:
        provider = FakeProvider(FakeOptions(count=2, period=0, seed=1))
        async with DeviceServer(DeviceServerOptions(targets=[Target.parse(target)], providers=[provider])):
            program = asyncio.create_task(controller_shim.main("none"))
            while not path.exists() or sum(len(one.runs) for one in read(str(path)).sessions) < 2:
                assert not program.done(), program
                await asyncio.sleep(0.05)
            program.cancel()
            await asyncio.gather(program, return_exceptions=True)

    with recorded(path, metrics_bind_address=""):
        asyncio.run(main())
    (session,) = read(str(path)).sessions
    outcomes = replay(session, lambda manager: controller_shim.GPUReconciler(manager).setup_with_manager(manager))
    assert [outcome.verdict for outcome in outcomes] == [Verdict.IDENTICAL] * 2


TESTS = {name: test for name, test in vars(test_greetings).items() if name.startswith("test_")}


@pytest.mark.parametrize("name", TESTS)
def test_the_reconciles_of_a_test_are_replayed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "history.rec"
    history = HistoryOptions(file=str(path), max_file_bytes=FILE_BYTES)

    def setup(manager: pt.Manager) -> None:
        test_greetings.GreetingReconciler(manager).setup_with_manager(manager)

    async def main() -> None:
        async with Environment(options=pt.ManagerOptions(history=history)) as env:
            await env.cluster.install(test_greetings.Greeting)
            setup(env.manager)
            await TESTS[name](env)

    loop.run(main())
    (session,) = read(str(path)).sessions
    outcomes = replay(session, setup)
    assert [str(outcome) for outcome in outcomes if outcome.verdict is not Verdict.IDENTICAL] == []
    assert outcomes


def test_the_reconciles_of_a_tool_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVENTORY_STORAGE", f"sqlite:{tmp_path}/inventory.db")
    path, samples = tmp_path / "history.rec", Path(inventory.__file__).parents[1] / "samples"
    console = Console(inventory.tool)
    with recorded(path):
        console.output("apply", "-f", str(samples))
        console.output("patch", "item", "phone-456", "--set", "spec.quantity=3")
        console.output("delete", "item", "monitor-789")
    sessions = read(str(path)).sessions
    outcomes = [outcome for session in sessions for outcome in replay(session, inventory_setup)]
    assert [str(outcome) for outcome in outcomes if outcome.verdict is not Verdict.IDENTICAL] == []
    assert len(outcomes) >= 8
