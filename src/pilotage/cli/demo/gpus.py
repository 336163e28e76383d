"""The node's part of `pilotage demo`: fake GPUs behind a Device API server, and a reconciler of Nodes and GPUs."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pilotage import device
from pilotage.client.client import Client
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request, Result, enqueue_requests_from
from pilotage.device.v1alpha1 import GPU, GPUStatus
from pilotage.errors import MissingExtra
from pilotage.kit.console.terminal import BOLD, YELLOW, standard_output
from pilotage.manager.manager import Manager
from pilotage.meta.conditions import is_status_condition_true
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.types.core.v1 import Node, Taint

NODE = "this-machine"
TAINT = "gpu.nvidia.com/reset-required"
CHANGE_SECONDS = 5.0
IDLE_SECONDS = 30
"""How long to wait until the operator is idle."""


class NodeReconciler:
    """Keeps Pods away from a Node while one of its GPUs needs a reset: adds a taint, and removes it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def reconcile(self, request: Request) -> Result:
        node = await self.client.get(Node, request.name)  # from the API server
        gpus = await self.client.list(GPU)  # from the node's Device API
        broken = [gpu.metadata.name for gpu in gpus if is_status_condition_true(gpu.status.conditions, "ResetRequired")]
        taints = node.spec.taints if node.spec is not None else []
        others = [taint for taint in taints if taint.key != TAINT]
        if bool(broken) == (len(others) < len(taints)):
            return Result()
        wanted = [*others, Taint(key=TAINT, effect="NoSchedule")] if broken else others
        document = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in wanted]
        await self.client.patch(node, {"spec": {"taints": document}})
        return Result()

    def setup_with_manager(self, manager: Manager) -> None:
        builder = ControllerBuilder(manager).for_(Node)
        builder.watches(GPU, enqueue_requests_from(lambda gpu: [Request(NODE)])).complete(self)


class DemoGPUs:
    """A Device API server with eight fake GPUs on its own socket. Without the extra `device` it does nothing."""

    def __init__(self) -> None:
        self._target = ""

    @classmethod
    @asynccontextmanager
    async def serving(cls, *, changing: bool) -> AsyncIterator[DemoGPUs]:
        """The server runs inside the block."""
        gpus = cls()
        async with AsyncExitStack() as exits:
            try:
                await gpus._open(exits, CHANGE_SECONDS if changing else 0.0)
            except MissingExtra as error:
                print_line(f"  (skipping the GPUs: {error})")
            yield gpus

    async def _open(self, exits: AsyncExitStack, period: float) -> None:
        from pilotage.device.client.target import Target
        from pilotage.device.providers.fake import FakeOptions, FakeProvider
        from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions

        folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="pilotage-demo-"))
        target = Target(path=str(Path(folder) / "device-api" / "device-api.sock"))
        providers = [FakeProvider(FakeOptions(period=period))]
        await exits.enter_async_context(DeviceServer(DeviceServerOptions(targets=[target], providers=providers)))
        self._target = str(target)
        print_line("A Device API server starts beside it: eight fake GPUs, gRPC over a Unix socket.")

    def add_to(self, manager: Manager) -> None:
        """Add the GPUs to the manager, beside the objects of its cluster."""
        if self._target:
            manager.add_device_api(self._target)
            NodeReconciler(manager.client).setup_with_manager(manager)

    async def run_steps(self, cluster: Cluster, manager: Manager) -> None:
        """A GPU fails and is reset; until then the operator taints the Node."""
        if not self._target:
            return
        print_line(
            f"The Node {NODE} joins the cluster. The operator watches its GPUs at the Device API, in the same loop."
        )
        await cluster.client.create(Node(metadata=ObjectMeta(name=NODE)))
        await manager.run_until_idle(timeout=IDLE_SECONDS)
        async with device.connect(self._target, provider_id="watchdog") as devices:
            gpus = devices.v1alpha1.gpus
            print_line(
                "A watchdog on the node finds a memory error and reports it to the Device API: gpu-3 needs a reset."
            )
            gpu = await gpus.get("gpu-3")
            reset = Condition(type="ResetRequired", status="True", reason="DoubleBitECCError", message="XID 48")
            gpu.status = GPUStatus(conditions=[reset], recommended_action="COMPONENT_RESET")
            gpu = await gpus.update_status(gpu)
            await _wait_until_idle(manager, gpu)
            print_line("gpu-3 has been reset, and the watchdog reports that too.")
            gpu.status = GPUStatus(conditions=[Condition(type="ResetRequired", status="False", reason="ResetDone")])
            await _wait_until_idle(manager, await gpus.update_status(gpu))


async def _wait_until_idle(manager: Manager, gpu: GPU) -> None:
    """Wait until the operator has received the GPU that another client wrote, and is idle."""
    for informer in await manager.cache.informers_for(GPU):
        await informer.wait_for_version(int(gpu.metadata.resource_version), timeout=IDLE_SECONDS)
    await manager.run_until_idle(timeout=IDLE_SECONDS)


def print_line(line: str) -> None:
    """Print one line: what happens to the operator in bold, and what the API server refuses with a coloured word."""
    output = standard_output()
    output.line(output.accented(line, YELLOW) if line.startswith(" ") else output.styled(line, BOLD))
