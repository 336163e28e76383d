"""The node agent, on the embedded server and a Device API over its socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pilotage as pt
from examples import gpu_agent
from examples.gpu_agent import OURS, TAINTS, GPUAgent, held_by, noted_on, retaint, wanted
from pilotage import device
from pilotage.client.watching import WatchedEvent
from pilotage.device.client.target import Target
from pilotage.device.providers.fake import FakeOptions, FakeProvider
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.types.core.v1 import Event, Node, NodeSpec, Taint

from .. import forked
from ..cli.device.processes import serving

NOT_READY = "node.kubernetes.io/not-ready"
"""The server gives this taint to every new node."""
PROGRAM = Path(gpu_agent.__file__)
NODE = "worker-1"
KEYS = {type_: taint.key for type_, taint in TAINTS.items()}
Status = Literal["True", "False", "Unknown"]


def gpu(name: str = "gpu-0", **conditions: Status) -> GPU:
    states = [pt.Condition(type=type_, status=status, reason="Test") for type_, status in conditions.items()]
    return GPU(metadata=pt.ObjectMeta(name=name), spec=GPUSpec(uuid=name), status=GPUStatus(conditions=states))


@pytest.mark.parametrize(
    ("gpus", "held", "keys"),
    [
        ([gpu(ResetRequired="True")], set(), {KEYS["ResetRequired"]}),
        ([gpu(ResetRequired="False")], {KEYS["ResetRequired"]}, set()),
        ([gpu("a", ResetRequired="False"), gpu("b", ResetRequired="True")], set(), {KEYS["ResetRequired"]}),
        (
            [gpu("a"), gpu("b", HardwareFailure="True", Degraded="True")],
            set(),
            {KEYS["HardwareFailure"], KEYS["Degraded"]},
        ),
        ([gpu(ResetRequired="Unknown")], set(), set()),
        ([gpu(ResetRequired="Unknown")], {KEYS["ResetRequired"]}, {KEYS["ResetRequired"]}),
        ([], {KEYS["Degraded"]}, {KEYS["Degraded"]}),
        ([gpu(Ready="False")], set(), set()),
    ],
)
def test_taints_follow_what_is_known_of_the_gpus(gpus: list[GPU], held: set[str], keys: set[str]) -> None:
    assert wanted(gpus, held) == keys


taints = st.lists(
    st.builds(
        Taint, key=st.sampled_from(["a", "b", *KEYS.values()]), effect=st.sampled_from(["NoSchedule", "NoExecute"])
    ),
    max_size=5,
    unique_by=lambda taint: (taint.key, taint.effect),
)
keys = st.sets(st.sampled_from(sorted(KEYS.values())))


@given(taints, st.lists(keys, max_size=4), st.dictionaries(st.sampled_from(["x", "y"]), st.text(max_size=3)))
def test_what_is_done_is_undone_and_nothing_else(
    others: list[Taint], steps: list[set[str]], annotations: dict[str, str]
) -> None:
    node = Node(metadata=pt.ObjectMeta(name=NODE, annotations=dict(annotations)), spec=NodeSpec(taints=list(others)))
    for step in steps:
        retaint(node, step)
        assert node.spec is not None
        assert node.spec.taints[: len(others)] == others
        assert step <= {taint.key for taint in node.spec.taints}
        assert held_by(node) == noted_on(node)
        assert noted_on(node) <= step
    retaint(node, set())
    assert node.spec is not None
    assert node.spec.taints == others
    assert node.metadata.annotations == annotations


class Environment:
    """A cluster with one node, its Device API, and the agent between them."""

    def __init__(self, client: pt.Client, devices: device.Devices) -> None:
        self.client = client
        self.gpus = devices.v1alpha1.gpus

    async def tell(self, name: str, **conditions: Status) -> None:
        current = await self.gpus.get(name)
        current.status = gpu(name, **conditions).status
        await self.gpus.update_status(current)

    async def keys(self) -> set[str]:
        """The taints of the node, without the one that the server gives every new node."""
        node = await self.client.get(Node, NODE)
        return {taint.key for taint in (node.spec.taints if node.spec else [])} - {NOT_READY}

    async def becomes(self, keys: set[str]) -> None:
        """Wait until the node has just these taints."""

        async def has_them() -> bool:
            return await self.keys() == keys

        await self.until(has_them)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(60), self.client.watch(Node) as events:
            if await holds():
                return
            async for _ in events:
                if await holds():
                    return


@asynccontextmanager
async def environment(folder: Path, taints: list[Taint]) -> AsyncIterator[Environment]:
    target = f"unix://{folder}/api/device.sock"
    options = DeviceServerOptions(targets=[Target.parse(target)], gate_seconds=0)
    async with DeviceServer(options), device.connect(target, provider_id="test") as devices:
        for number in range(3):
            await devices.v1alpha1.gpus.create(gpu(f"gpu-{number}", ResetRequired="False"))
        cluster = pt.Cluster.embedded()
        async with pt.Manager(cluster) as manager:
            node = Node(metadata=pt.ObjectMeta(name=NODE), spec=NodeSpec(taints=taints))
            await cluster.client.create(node)
            manager.add_device_api(target)
            GPUAgent(manager, NODE).setup_with_manager(manager)
            running = asyncio.create_task(manager.start())
            try:
                yield Environment(cluster.client, devices)
            finally:
                running.cancel()
                await asyncio.wait({running})


async def test_node_is_tainted_while_any_gpu_needs_a_reset_and_as_before_afterwards(tmp_path: Path) -> None:
    others = [Taint(key="dedicated", effect="NoSchedule", value="training")]
    reset = KEYS["ResetRequired"]
    async with environment(tmp_path, others) as there:
        await there.tell("gpu-1", ResetRequired="True", Ready="False")
        await there.becomes({"dedicated", reset})
        await there.tell("gpu-2", ResetRequired="True", Degraded="True")
        await there.becomes({"dedicated", reset, KEYS["Degraded"]})
        await there.tell("gpu-1", ResetRequired="False")
        await there.tell("gpu-2", ResetRequired="Unknown")
        await there.becomes({"dedicated", reset})
        await there.gpus.delete("gpu-2")
        await there.becomes({"dedicated"})
        node = await there.client.get(Node, NODE)
        assert node.spec is not None
        assert [taint for taint in node.spec.taints if taint.key != NOT_READY] == others
        assert OURS not in (node.metadata.annotations or {})


async def test_taints_of_others_survive_although_the_list_is_written_as_a_whole(tmp_path: Path) -> None:
    async with environment(tmp_path, []) as there:

        async def add(number: int) -> None:
            node = await there.client.get(Node, NODE)
            node.spec = node.spec or NodeSpec()
            node.spec.taints = [*node.spec.taints, Taint(key=f"other-{number}", effect="NoSchedule")]
            await there.client.update(node)

        async def others() -> None:
            for number in range(10):
                await pt.retry_on_conflict(lambda number=number: add(number))  # type: ignore[misc]  # bound now

        async def flips() -> None:
            for number in range(20):
                await there.tell("gpu-0", ResetRequired="False" if number % 2 else "True")

        await asyncio.gather(others(), flips())
        await there.becomes({f"other-{number}" for number in range(10)})


async def test_taint_that_another_client_removes_is_set_again_and_one_of_the_same_key_that_is_theirs_stays(
    tmp_path: Path,
) -> None:
    reset = KEYS["ResetRequired"]
    async with environment(tmp_path, [Taint(key=reset, effect="NoExecute")]) as there:
        await there.tell("gpu-0", ResetRequired="True")
        await there.until(lambda: _count(there, reset, 2))
        await there.client.patch(Node, {"spec": {"taints": None}}, name=NODE)
        await there.until(lambda: _count(there, reset, 1))
        await there.client.patch(
            Node, [{"op": "add", "path": "/spec/taints/-", "value": {"key": reset, "effect": "NoExecute"}}], name=NODE
        )
        await there.tell("gpu-0", ResetRequired="False")
        await there.until(lambda: _count(there, reset, 1))
        node = await there.client.get(Node, NODE)
        assert node.spec is not None
        assert [taint.effect for taint in node.spec.taints] == ["NoExecute"]


async def test_actions_are_recorded_as_events_of_the_node(tmp_path: Path) -> None:
    async with environment(tmp_path, []) as there:
        async with there.client.watch(Event) as events, asyncio.timeout(60):
            await there.tell("gpu-1", HardwareFailure="True")
            event = (await anext(aiter(events))).object
        assert (event.reason, event.type) == ("GPUTainted", "Warning")
        assert event.message == f"{KEYS['HardwareFailure']}: gpu-1"


async def _count(there: Environment, key: str, count: int) -> bool:
    node = await there.client.get(Node, NODE)
    return [taint.key for taint in (node.spec.taints if node.spec else [])].count(key) == count


async def test_program_as_it_stands_taints_and_untaints_its_node(tmp_path: Path) -> None:
    target = Target.parse(f"unix://{tmp_path}/api/device.sock")
    provider = FakeProvider(FakeOptions(count=2, period=0.2, failures=1.0))
    async with DeviceServer(DeviceServerOptions(targets=[target], providers=[provider])):
        agent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", str(PROGRAM), "memory:"),
            env=os.environ | {"NVIDIA_DEVICE_API_TARGET": str(target), "NODE_NAME": NODE},
            stderr=asyncio.subprocess.PIPE,
        )
        assert agent.stderr is not None
        seen: list[list[str]] = []
        async with asyncio.timeout(60):
            async for line in agent.stderr:
                event = json.loads(line)
                if event["message"] == "tainted":
                    assert event["node"] == NODE
                    seen.append(event["taints"])
                if len(seen) == 4:
                    break
        agent.send_signal(signal.SIGTERM)
        await agent.stderr.read()
        assert await agent.wait() == 0
    assert seen == [[KEYS["ResetRequired"]], []] * 2 or seen == [[], [KEYS["ResetRequired"]]] * 2


async def _condition(target: str, name: str, **conditions: Status) -> None:
    """Another provider than the one in the server sets a condition, while that one writes, too."""
    async with device.connect(target, provider_id="test") as devices:
        async with devices.v1alpha1.gpus.watch() as events:
            async for event in events:  # the server adds its GPUs one by one
                if event.object.metadata.name == name:
                    break

        async def write() -> None:
            current = await devices.v1alpha1.gpus.get(name)
            current.status = gpu(name, **conditions).status
            await devices.v1alpha1.gpus.update_status(current)

        await pt.retry_on_conflict(write)


async def test_a_server_that_is_killed_keeps_its_conditions_and_the_node_its_taint(tmp_path: Path) -> None:
    path, storage = tmp_path / "api" / "device.sock", f"sqlite:{tmp_path}/gpus.db"
    options = ("--provider", "fake", "--count", "2", "--period", "0", "--storage", storage)
    reset, degraded = KEYS["ResetRequired"], KEYS["Degraded"]
    cluster = pt.Cluster.embedded()
    async with pt.Manager(cluster) as manager:
        await cluster.client.create(Node(metadata=pt.ObjectMeta(name=NODE)))
        manager.add_device_api(f"unix://{path}")
        GPUAgent(manager, NODE).setup_with_manager(manager)
        with serving(path, *options) as server:
            running = asyncio.create_task(manager.start())
            async with asyncio.timeout(60), cluster.client.watch(Node) as nodes:
                await _condition(f"unix://{path}", "gpu-1", ResetRequired="True")
                seen = [event.object async for event in _until(nodes, {reset})]
                server.stop(signal.SIGKILL)
                with serving(path, *options):
                    await _condition(f"unix://{path}", "gpu-2", Degraded="True")
                    seen = [event.object async for event in _until(nodes, {reset, degraded})]
        running.cancel()
        await asyncio.wait({running})
    assert all(reset in held_by(node) for node in seen)


async def _until(nodes: AsyncIterator[WatchedEvent[Node]], keys: set[str]) -> AsyncIterator[WatchedEvent[Node]]:
    """The events of the node, up to the one with which it has just these taints of the agent."""
    async for event in nodes:
        yield event
        if held_by(event.object) == keys:
            return


@pytest.mark.parametrize(("arguments", "said"), [((), "NODE_NAME"), (("--help",), "memory:")])
def test_program_reports_missing_arguments(arguments: tuple[str, ...], said: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NODE_NAME"}
    ended = forked.run(str(PROGRAM), *arguments, environment=environment)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_keys_are_those_of_the_vocabulary() -> None:
    assert set(KEYS.values()) == {
        f"gpu.nvidia.com/{name}" for name in ("reset-required", "hardware-failure", "degraded")
    }
