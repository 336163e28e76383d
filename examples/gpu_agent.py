"""A node agent: taints a node whose GPUs need a reset or have failed, and removes the taints when they are healthy.

    pilotage device serve --provider fake --failures 0.5 --storage sqlite:gpus.db &    # GPUs that fail and are repaired
    python gpu_agent.py memory:                                # an embedded cluster in this process, with one Node
    NODE_NAME=worker-1 python gpu_agent.py cluster             # a real cluster: GPUs from the node, the Node from there

GPUs come from the Device API of this node (NVIDIA_DEVICE_API_TARGET), the Node from the API server. For each type of
condition that is True for any GPU the node gets a taint. A type that is Unknown, or a node that shows no GPU at all,
changes nothing.

An annotation of the Node lists the taints of this agent, and is written together with them. Only these are removed: a
taint of another client is kept, even if it has the same key.
"""

import asyncio
import os
import sys
from collections.abc import Collection, Iterable

import pilotage as pt
from pilotage.device.v1alpha1 import GPU
from pilotage.types.core.v1 import Node, NodeSpec, Taint

TAINTS = {
    "ResetRequired": Taint(key="gpu.nvidia.com/reset-required", effect="NoSchedule"),
    "HardwareFailure": Taint(key="gpu.nvidia.com/hardware-failure", effect="NoSchedule"),
    "Degraded": Taint(key="gpu.nvidia.com/degraded", effect="PreferNoSchedule"),
}
OURS = "gpu-agent.pilotage.dev/taints"
"""The annotation with the taints of this agent."""


def wanted(gpus: Collection[GPU], held: Collection[str]) -> set[str]:
    """The keys of our taints that a node with these GPUs should have; `held` are those that it has."""
    if not gpus:
        return set(held)
    keys: set[str] = set()
    for type_, taint in TAINTS.items():
        found = [pt.find_status_condition(gpu.status.conditions, type_) for gpu in gpus]
        statuses = {condition.status for condition in found if condition is not None}
        if "True" in statuses or ("Unknown" in statuses and taint.key in held):
            keys.add(taint.key)
    return keys


def noted_on(node: Node) -> set[str]:
    """The keys of the taints that were ours when we last wrote the node."""
    return set(filter(None, (node.metadata.annotations or {}).get(OURS, "").split(",")))


def held_by(node: Node) -> set[str]:
    """Those of them that the node still has: another client may have removed some."""
    taints = node.spec.taints if node.spec is not None else []
    return noted_on(node) & {taint.key for taint in taints if _name(taint) in map(_name, TAINTS.values())}


def retaint(node: Node, keys: Collection[str]) -> None:
    """Set our taints of a node to these keys; other taints and their order do not change."""
    spec = node.spec if node.spec is not None else NodeSpec()
    held = held_by(node)
    ours = {_name(taint): taint for taint in TAINTS.values()}
    dropped = {name for name in ours if name[0] in held - set(keys)}
    taints = [taint for taint in spec.taints if _name(taint) not in dropped]
    present = {_name(taint) for taint in taints}
    added = [taint for name, taint in ours.items() if name[0] in keys and name not in present]
    spec.taints, node.spec = [*taints, *added], spec
    _note(node, (held & set(keys)) | {taint.key for taint in added})


class GPUAgent:
    """Reconciles one Node with the GPUs of this machine."""

    def __init__(self, manager: pt.Manager, node: str) -> None:
        self.client = manager.client
        self.recorder = manager.event_recorder_for("gpu-agent")
        self.node = node

    async def reconcile(self, request: pt.Request) -> pt.Result:
        gpus = await self.client.list(GPU)
        node = await self.client.find(Node, request.name)
        if node is None:
            pt.logger().warning("Node not found; check NODE_NAME", node=request.name)
        elif not wanted(gpus, held_by(node)) == held_by(node) == noted_on(node):
            await pt.retry_on_conflict(lambda: self.change(request.name, gpus))
        return pt.Result()

    async def change(self, name: str, gpus: Collection[GPU]) -> None:
        """Other clients write taints too, and a patch replaces the list: so it requires the version that was read."""
        node = await self.client.api_reader.get(Node, name)
        before, patch = held_by(node), pt.merge_from(node, optimistic_lock=True)
        retaint(node, wanted(gpus, before))
        await self.client.patch(node, patch)
        for key in sorted(held_by(node) - before):
            self.recorder.event(node, "Warning", "GPUTainted", f"{key}: {', '.join(sick(gpus, key))}")
        for key in sorted(before - held_by(node)):
            self.recorder.event(node, "Normal", "GPUUntainted", f"{key}: no GPU has it any more")
        pt.logger().info("tainted", node=name, taints=sorted(held_by(node)))

    def requests(self, _: GPU) -> Iterable[pt.Request]:
        """An event of any GPU reconciles the Node."""
        return [pt.Request(name=self.node)]

    def setup_with_manager(self, manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).named("gpu-agent").for_(Node)
        builder.watches(GPU, pt.enqueue_requests_from(self.requests)).complete(self)


def sick(gpus: Iterable[GPU], key: str) -> list[str]:
    """The names of the GPUs that cause a taint with this key."""
    types = [type_ for type_, taint in TAINTS.items() if taint.key == key]
    return [
        gpu.metadata.name
        for gpu in gpus
        if any(pt.is_status_condition_true(gpu.status.conditions, type_) for type_ in types)
    ]


def _name(taint: Taint) -> tuple[str, str]:
    return taint.key, taint.effect


def _note(node: Node, keys: set[str]) -> None:
    annotations = {name: value for name, value in (node.metadata.annotations or {}).items() if name != OURS}
    node.metadata.annotations = annotations | ({OURS: ",".join(sorted(keys))} if keys else {})


def setup(manager: pt.Manager) -> None:
    """The program, for `pilotage run` and `pilotage manifests --device`."""
    manager.add_device_api()
    GPUAgent(manager, os.environ.get("NODE_NAME", "this-node")).setup_with_manager(manager)


async def main(environment: str, node: str) -> None:
    cluster = pt.Cluster.connect() if environment == "cluster" else pt.Cluster.embedded(environment)
    only_ours = pt.CacheOptions(by_object={Node: pt.ByObject(field_selector={"metadata.name": node})})
    async with pt.Manager(cluster, pt.ManagerOptions(cache=only_ours)) as manager:
        if environment != "cluster" and await cluster.client.find(Node, node) is None:
            await cluster.client.create(Node(metadata=pt.ObjectMeta(name=node)))
        manager.add_device_api()
        GPUAgent(manager, node).setup_with_manager(manager)
        await manager.start()


if __name__ == "__main__":
    where, name = sys.argv[1] if len(sys.argv) > 1 else "cluster", os.environ.get("NODE_NAME", "")
    if where == "cluster" and not name:
        sys.exit("NODE_NAME is not set: it names the Node that this runs on")
    if where != "cluster" and not where.startswith(("memory:", "sqlite:")):
        sys.exit(f"gpu_agent: {where!r} is not supported: write cluster, memory: or sqlite:PATH")
    pt.configure_logging()
    try:
        asyncio.run(main(where, name or "this-node"))
    except pt.PilotageError as error:  # no cluster, no Device API server, a file that cannot be written
        sys.exit(f"gpu_agent: {error}")
