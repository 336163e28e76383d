"""A Node as controllers see it: what decides which Pods may run on it."""

from __future__ import annotations

import msgspec

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.objects import Bytes
from pilotage.meta.values import Value
from pilotage.types.core.v1 import Node, Taint

_MOST_NODES = 10_000


class NodeView(Value, frozen=True):
    """The fields of a Node that decide which Pods may run on it."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()


class NodeViews:
    """Views of Nodes in their JSON form, which a cache returns again while a Node does not change."""

    def __init__(self) -> None:
        self._known: Recent[int, tuple[Bytes, NodeView]] = Recent(_MOST_NODES)

    def of(self, data: Bytes) -> NodeView:
        """The view of a Node, decoded once for the same bytes."""
        known = self._known.get(id(data))
        if known is not None and known[0] is data:
            return known[1]
        node = _NODE.decode(data)
        made = NodeView(node.metadata.name, node.metadata.labels or {}, tuple(node.spec.taints or ()))
        self._known[id(data)] = data, made
        return made


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
