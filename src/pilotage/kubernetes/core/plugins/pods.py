"""Plugins that complete new Pods (priority, tolerations, labels, runtime class, pull policy) and Nodes (a taint)."""

from __future__ import annotations

from typing import Any

from pilotage.codec.defaults.containers import containers
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, forbidden, section

_PRIORITY_CLASSES = "scheduling.k8s.io/priorityclasses/"
_MAY_BE_DEFAULT = b'"globalDefault":true'
_RUNTIME_CLASSES = "node.k8s.io/runtimeclasses/"
_NODES = "core/nodes/"
_TOLERATION_SECONDS = 300
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"


class Priority(Plugin):
    """Sets the priority of a Pod by its class, and admits one default class."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.resource.resource != "pods" or attributes.subresource or attributes.new is None:
            return
        spec = section(attributes.new, "spec")
        if attributes.operation is Operation.UPDATE:
            before = section(attributes.old, "spec")
            for field in ("priority", "preemptionPolicy"):
                if field in before:
                    spec.setdefault(field, before[field])
            return
        found = await self._class(attributes, spec.get("priorityClassName", ""))
        if found["name"]:
            spec["priorityClassName"] = found["name"]
        _check_priority(attributes, spec, found)
        spec["priority"] = found["value"]
        if found["policy"]:
            spec["preemptionPolicy"] = found["policy"]

    async def _class(self, attributes: Attributes, name: str) -> dict[str, Any]:
        if not name:
            default = await self._default()
            return _priority(default) if default else {"name": "", "value": 0, "policy": "PreemptLowerPriority"}
        found = await self.context.get(_PRIORITY_CLASSES, "", name)
        if found is None:
            raise forbidden(attributes, f"no PriorityClass with name {name} was found")
        return _priority(found)

    async def _default(self) -> Document | None:
        entries = await self.context.entries(_PRIORITY_CLASSES)
        candidates = [records.decode(each.value) for each in entries if _MAY_BE_DEFAULT in each.value]
        defaults = [one for one in candidates if one.get("globalDefault")]
        return min(defaults, key=lambda one: one.get("value", 0), default=None)

    async def validate(self, attributes: Attributes) -> None:
        new = attributes.new
        if attributes.resource.resource != "priorityclasses" or new is None or not new.get("globalDefault"):
            return
        default = await self._default()
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation is Operation.CREATE or name != new["metadata"].get("name"):
            raise forbidden(
                attributes, f"PriorityClass {name} is already marked as default. Only one default can exist"
            )


def _priority(found: Document) -> dict[str, Any]:
    return {
        "name": found["metadata"]["name"],
        "value": found.get("value", 0),
        "policy": found.get("preemptionPolicy", ""),
    }


def _check_priority(attributes: Attributes, spec: Document, found: Document) -> None:
    computed = "must not be provided in pod spec; priority admission controller computed"
    value, policy = spec.get("priority"), spec.get("preemptionPolicy")
    if value is not None and value != found["value"]:
        reason = (
            f"the integer value of priority ({value}) {computed} {found['value']} from the given PriorityClass name"
        )
        raise forbidden(attributes, reason)
    if policy is not None and found["policy"] and policy != found["policy"]:
        reason = f"the string value of PreemptionPolicy ({policy}) {computed} {found['policy']} "
        raise forbidden(attributes, f"{reason}from the given PriorityClass name")


class DefaultTolerationSeconds(Plugin):
    """A Pod stays on a node that is not ready or not reachable for five minutes, unless its tolerations set another
    time."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.new is None:
            return
        spec = section(attributes.new, "spec")
        tolerations = list(spec.get("tolerations") or ())
        added = [key for key in (NOT_READY, _UNREACHABLE) if not any(_tolerates(one, key) for one in tolerations)]
        if added:
            spec["tolerations"] = [*tolerations, *map(_five_minutes, added)]


def _five_minutes(key: str) -> Document:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}


def _tolerates(toleration: Document, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


class PodTopologyLabels(Plugin):
    """A Pod has the zone and the region of its node as labels, from when it is assigned to it."""

    async def mutate(self, attributes: Attributes) -> None:
        new = attributes.new
        if new is None or attributes.operation is not Operation.CREATE:
            return
        if not attributes.subresource:
            node = section(new, "spec").get("nodeName")
        elif attributes.subresource == "binding" and section(new, "target").get("kind") == "Node":
            node = new["target"].get("name")  # the Pod gets the labels of the binding
        else:
            return
        found = await self.context.get(_NODES, "", node) if node else None
        labels = (found or {}).get("metadata", {}).get("labels") or {}
        if copied := {key: labels[key] for key in _TOPOLOGY if key in labels}:
            metadata = section(new, "metadata")
            metadata["labels"] = (metadata.get("labels") or {}) | copied


class RuntimeClass(Plugin):
    """A Pod has the overhead and the scheduling of its runtime class."""

    async def mutate(self, attributes: Attributes) -> None:
        found = await self._class(attributes)
        if found is None or attributes.new is None:
            return
        spec = section(attributes.new, "spec")
        overhead = _overhead(found)
        if overhead is not None:
            if spec.get("overhead") and spec["overhead"] != overhead:
                raise forbidden(attributes, _OVERHEAD_DIFFERS)
            spec["overhead"] = overhead
        scheduling = found.get("scheduling")
        if scheduling:
            _schedule(attributes, spec, scheduling)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        found = await self._class(attributes)
        overhead = _overhead(found) if found is not None else None
        actual = section(attributes.new, "spec").get("overhead")
        if overhead is not None and actual != overhead:
            raise forbidden(attributes, _OVERHEAD_DIFFERS)
        if overhead is None and actual is not None:
            raise forbidden(
                attributes, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )

    async def _class(self, attributes: Attributes) -> Document | None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return None
        name = section(attributes.new, "spec").get("runtimeClassName")
        if name is None:
            return None
        found = await self.context.get(_RUNTIME_CLASSES, "", name)
        if found is None:
            raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return found


_OVERHEAD_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def _overhead(runtime_class: Document) -> Document | None:
    overhead = runtime_class.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _schedule(attributes: Attributes, spec: Document, scheduling: Document) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise forbidden(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = list(spec.get("tolerations") or ())
    tolerations += [one for one in scheduling.get("tolerations") or () if one not in tolerations]
    if tolerations:
        spec["tolerations"] = tolerations


class AlwaysPullImages(Plugin):
    """Every container pulls its image, so that private images need credentials."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource not in ("", "ephemeralcontainers") or attributes.new is None:
            return
        for container in containers(section(attributes.new, "spec")):
            container["imagePullPolicy"] = "Always"


class TaintNodesByCondition(Plugin):
    """A new Node has the taint `not-ready`, until a controller removes it."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec = section(attributes.new, "spec")
        taints = list(spec.get("taints") or ())
        if not any(one.get("key") == NOT_READY and one.get("effect") == "NoSchedule" for one in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]
