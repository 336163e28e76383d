"""The Node objects of simulated nodes, as a kubelet registers them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.quantity import Quantity
from pilotage.types.core.v1 import Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo
from pilotage.workloads.pods.network import host_ip

ANNOTATION = "workloads.pilotage.dev/node"
"""Nodes with `simulated` in this annotation are simulated, and so are those that kwok would simulate."""
_KWOK = ("kwok.x-k8s.io/node", "fake")
CAPACITY: Mapping[str, str] = MappingProxyType(
    {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
)
VERSION = "v1.36.0"


def is_simulated(node: Node) -> bool:
    """Whether the annotations of a Node ask for its simulation."""
    annotations = node.metadata.annotations
    return annotations.get(ANNOTATION) == "simulated" or annotations.get(_KWOK[0]) == _KWOK[1]


def node_named(name: str, capacity: Mapping[str, str] = CAPACITY) -> Node:
    """A Node as a kubelet registers it, without its status."""
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    return Node(
        metadata=ObjectMeta(name=name, labels=labels, annotations={ANNOTATION: "simulated"}),
        spec=NodeSpec(),
        status=NodeStatus(capacity={key: Quantity(value) for key, value in capacity.items()}),
    )


def reported(node: Node, now: datetime) -> NodeStatus:
    """The status that a running kubelet reports: its capacity, its addresses, and that it is ready."""
    status = node.status if node.status is not None else NodeStatus()
    name = node.metadata.name
    capacity = status.capacity or {key: Quantity(value) for key, value in CAPACITY.items()}
    status.capacity = {**{key: Quantity(value) for key, value in CAPACITY.items()}, **capacity}
    status.allocatable = {**status.capacity, **status.allocatable}
    status.addresses = status.addresses or [
        NodeAddress(type="InternalIP", address=host_ip(name)),
        NodeAddress(type="Hostname", address=name),
    ]
    status.node_info = status.node_info or _info(name)
    own = [_condition(status, condition, now) for condition in _CONDITIONS]
    others = [one for one in status.conditions if one.type not in {each.type for each in own}]
    status.conditions = [*own, *others]
    return status


_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def _condition(status: NodeStatus, wanted: tuple[str, str, str, str], now: datetime) -> NodeCondition:
    name, value, reason, message = wanted
    before = next((one for one in status.conditions if one.type == name), None)
    kept = before is not None and before.status == value
    since = before.last_transition_time if before is not None and kept else now
    return NodeCondition(
        type=name,
        status=value,
        reason=reason,
        message=message,
        last_heartbeat_time=now,
        last_transition_time=since,
    )


def is_reported(node: Node) -> bool:
    """Whether the status of a Node is that of a running kubelet already."""
    found = {one.type: (one.status, one.reason) for one in node.status.conditions} if node.status is not None else {}
    return all(found.get(name) == (value, reason) for name, value, reason, _ in _CONDITIONS)


def _info(name: str) -> NodeSystemInfo:
    identity = hashlib.sha256(name.encode()).hexdigest()[:32]
    return NodeSystemInfo(
        architecture="amd64",
        boot_id=identity,
        container_runtime_version="containerd://2.0.0",
        kernel_version="6.12.0",
        kube_proxy_version="",
        kubelet_version=VERSION,
        machine_id=identity,
        operating_system="linux",
        os_image="Pilotage simulated node",
        system_uuid=identity,
    )
