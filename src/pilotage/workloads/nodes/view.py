"""A Node as controllers see it: what decides which Pods may run on it."""

from __future__ import annotations

import msgspec

from pilotage.meta.values import Value
from pilotage.types.core.v1 import Node, Taint


class NodeView(Value, frozen=True):
    """The fields of a Node that decide which Pods may run on it."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()


def node_view(data: bytes | memoryview) -> NodeView:
    """The view of a Node in its JSON form."""
    node = _NODE.decode(data)
    return NodeView(node.metadata.name, node.metadata.labels or {}, tuple(node.spec.taints or ()))


def view_of(node: Node) -> NodeView:
    taints = node.spec.taints if node.spec is not None else []
    return NodeView(node.metadata.name, node.metadata.labels, tuple(taints))


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct, gc=False):
    taints: list[Taint] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)


_NODE = msgspec.json.Decoder(_Node)
