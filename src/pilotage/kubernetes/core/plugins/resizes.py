"""The plugin that rejects a resize for which the node of the pod has too few allocatable resources."""

from __future__ import annotations

from pilotage.codec.defaults.resources import amounts, total
from pilotage.errors import Cause, Forbidden
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, forbidden

_NODES = "core/nodes/"
_SYSTEM = "kubernetes.io/os"
_ZERO = Quantity(0)


class PodResizeValidator(Plugin):
    """A pod is resized on a Linux node that can allocate as much."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource != "resize" or attributes.operation is not Operation.UPDATE:
            return
        pod, old = attributes.new or {}, attributes.old or {}
        name = pod["spec"].get("nodeName") or ""
        if not name or pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        node = await self.context.get(_NODES, "", name)
        if node is None:
            raise forbidden(attributes, f'node "{name}" not found')
        system = (node["metadata"].get("labels") or {}).get(_SYSTEM, "linux")
        if system != "linux":
            message = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _refused(attributes, message, "UnsupportedPlatform")
        if missing := _missing(pod["spec"], (node.get("status") or {}).get("allocatable") or {}):
            message = f"node didn't have enough allocatable resources: {'; '.join(missing)}"
            raise _refused(attributes, message, "NodeCapacity")


def _missing(spec: Document, allocatable: Document) -> list[str]:
    """The resources of which a pod requests more than there is."""
    requests = total(spec, "requests") | amounts(spec, "requests")
    overhead = {name: Quantity(value) for name, value in (spec.get("overhead") or {}).items()}
    found = []
    for name in ("cpu", "memory"):
        wanted = requests.get(name, _ZERO) + overhead.get(name, _ZERO)
        present = Quantity(allocatable.get(name, 0))
        if wanted > present:
            counts = [each.milli_value() if name == "cpu" else each.value() for each in (wanted, present)]
            found.append(f"{name}, requested: {counts[0]}, allocatable: {counts[1]}")
    return found


def _refused(attributes: Attributes, message: str, reason: str) -> Forbidden:
    error = forbidden(attributes, message)
    assert error.status.details is not None
    details = error.status.details.replace(causes=(Cause(reason),))
    return Forbidden(error.status.message, details=details)
