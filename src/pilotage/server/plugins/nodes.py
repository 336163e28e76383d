"""The plugin for new Nodes."""

from __future__ import annotations

from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, section

NOT_READY = "node.kubernetes.io/not-ready"


class TaintNodesByCondition(Plugin):
    """A new Node has the taint `not-ready`, until a controller removes it."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec = section(attributes.new, "spec")
        taints = list(spec.get("taints") or ())
        if not any(one.get("key") == NOT_READY and one.get("effect") == "NoSchedule" for one in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]
