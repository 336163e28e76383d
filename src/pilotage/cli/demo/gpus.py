"""The node's part of `pilotage demo`: fake GPUs behind a Device API server, and a reconciler of Nodes and GPUs."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

from pilotage import device
from pilotage.cli.demo.output import IDLE_SECONDS, say
from pilotage.client.client import Client
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Event, Request, Result, enqueue_requests_from
from pilotage.device.v1alpha1 import GPU, GPUStatus
from pilotage.errors import MissingExtra
from pilotage.manager.manager import Manager
from pilotage.meta.conditions import is_status_condition_true
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.types.core.v1 import Node, Taint

NODE = "this-machine"
TAINT = "gpu.nvidia.com/reset-required"
LIVELY_SECONDS = 5.0


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
            need = "needs" if len(broken) == 1 else "need"
            say(f"  reconcile {request}: {len(gpus)} GPUs, {len(broken)} {need} a reset; nothing to change")
            return Result()
        wanted = [*others, Taint(key=TAINT, effect="NoSchedule")] if broken else others
        said = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in wanted]
        await self.client.patch(node, {"spec": {"taints": said}})
        outcome = f"taint added, because {', '.join(broken)} needs a reset" if broken else "taint removed"
        say(f"  reconcile {request}: {outcome}")
        return Result()

    def setup_with_manager(self, manager: Manager) -> None:
        (
            ControllerBuilder(manager)
            .for_(Node)
            .watches(GPU, enqueue_requests_from(lambda gpu: [Request(NODE)]))
            .with_event_filter(_shown)
            .complete(self)
        )


class GPUs:
    """A Device API server with eight fake GPUs on a socket of its own; nothing at all without the extra `device`."""

    def __init__(self, *, lively: bool) -> None:
        self._period = LIVELY_SECONDS if lively else 0.0
        self._exits = AsyncExitStack()
        self._target = ""

    async def __aenter__(self) -> GPUs:
        async with AsyncExitStack() as exits:
            try:
                await self._open(exits)
            except MissingExtra as error:
                say(f"  (the GPUs are left out: {error})")
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exits.aclose()

    async def _open(self, exits: AsyncExitStack) -> None:
        from pilotage.device.client.target import Target
        from pilotage.device.providers.fake import FakeOptions, FakeProvider
        from pilotage.device.server.serving import DeviceServer, DeviceServerOptions

        folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="pilotage-demo-"))
        target = Target(path=str(Path(folder) / "device-api" / "device-api.sock"))
        providers = [FakeProvider(FakeOptions(period=self._period))]
        await exits.enter_async_context(DeviceServer(DeviceServerOptions(targets=[target], providers=providers)))
        self._target = str(target)
        say("A Device API server starts beside it: eight fake GPUs, gRPC over a Unix socket.")

    def join(self, manager: Manager) -> None:
        """Let the manager see the GPUs beside the objects of its cluster."""
        if self._target:
            manager.add_device_api(self._target)
            NodeReconciler(manager.client).setup_with_manager(manager)

    async def story(self, cluster: Cluster, manager: Manager) -> None:
        """A GPU breaks and is reset; the operator taints the Node meanwhile."""
        if not self._target:
            return
        say(f"The Node {NODE} joins the cluster. The operator watches its GPUs at the Device API, in the same loop.")
        await cluster.client.create(Node(metadata=ObjectMeta(name=NODE)))
        await manager.run_until_idle(timeout=IDLE_SECONDS)
        async with device.connect(self._target, provider_id="watchdog") as devices:
            gpus = devices.v1alpha1.gpus
            say("A watchdog on the node finds a memory error and reports it to the Device API: gpu-3 needs a reset.")
            gpu = await gpus.get("gpu-3")
            reset = Condition(type="ResetRequired", status="True", reason="DoubleBitECCError", message="XID 48")
            gpu.status = GPUStatus(conditions=[reset], recommended_action="COMPONENT_RESET")
            gpu = await gpus.update_status(gpu)
            await _followed(manager, gpu)
            say("gpu-3 has been reset, and the watchdog reports that too.")
            gpu.status = GPUStatus(conditions=[Condition(type="ResetRequired", status="False", reason="ResetDone")])
            await _followed(manager, await gpus.update_status(gpu))


async def _followed(manager: Manager, gpu: GPU) -> None:
    """Wait until the operator has heard of what somebody else wrote, and is at rest."""
    for informer in await manager.cache.informers_for(GPU):
        await informer.reached(int(gpu.metadata.resource_version), timeout=IDLE_SECONDS)
    await manager.run_until_idle(timeout=IDLE_SECONDS)


def _shown(event: Event) -> bool:
    """A predicate that accepts every event and prints the changes of GPUs: the reason for what is reconciled next."""
    if event.type == "update" and isinstance(event.object, GPU):
        conditions = {condition.type: condition.status for condition in event.object.status.conditions}
        said = ", ".join(f"{name} {status}" for name, status in conditions.items())
        say(f"  because   GPU {event.object.metadata.name}: {said}")
    return True
