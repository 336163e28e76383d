"""The rows of the rest of the core group, of Events, Leases and the objects that describe nodes."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, Cell, Printer
from pilotage.server.tables.rows import AGE, NAME, condition, count, flag, row, size, text

_ROLE = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _component_status(document: Document, now: datetime) -> list[Cell]:
    healthy: Document = next((each for each in items(document, "conditions") if each.get("type") == "Healthy"), {})
    state = {"True": "Healthy", "False": "Unhealthy"}.get(healthy.get("status", ""), "Unknown")
    return [cells.name(document), state, healthy.get("message", ""), healthy.get("error", "")]


def _kernel(document: Document) -> str:
    """The version of the kernel, and the architecture it runs on."""
    system = part(document, "status", "nodeInfo")
    architecture = system.get("architecture")
    return cells.text(system.get("kernelVersion"), UNKNOWN) + (f" ({architecture})" if architecture else "")


def _node_status(document: Document) -> str:
    ready = condition(document, "Ready")
    states = ["Ready" if ready.get("status") == "True" else "NotReady"] if ready else ["Unknown"]
    if part(document, "spec").get("unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _roles(document: Document) -> str:
    labels = document["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if labels.get(_ROLE_LABEL):
        roles.add(labels[_ROLE_LABEL])
    return ",".join(sorted(roles)) or NONE


def _node_address(document: Document, kind: str) -> str:
    for address in items(document, "status", "addresses"):
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return NONE


def _event(document: Document, now: datetime) -> list[Cell]:
    """Of the core group; one of events.k8s.io is converted before it is printed."""
    first, last = document.get("firstTimestamp"), document.get("lastTimestamp")
    first_seen = cells.since(first or document.get("eventTime"), now)
    last_seen = cells.since(last, now) if last else first_seen
    times, series = document.get("count", 0), part(document, "series")
    if series:
        times = series.get("count", 0)
        last_seen = cells.since(series.get("lastObservedTime"), now)
    elif times == 0:
        times = 1
    target = part(document, "involvedObject")
    place = f"{target.get('kind', '').lower()}/{target.get('name', '')}" if target.get("name") else ""
    return [
        last_seen,
        document.get("type", ""),
        document.get("reason", ""),
        place or target.get("kind", "").lower(),
        target.get("fieldPath", ""),
        _event_source(document),
        document.get("message", "").strip(),
        first_seen,
        times,
        cells.name(document),
    ]


def _event_source(document: Document) -> str:
    source = part(document, "source")
    component = source.get("component") or document.get("reportingComponent", "")
    instance = source.get("host") or document.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else str(component)


def _used(document: Document, *, limits: bool) -> str:
    """What is used of a quota's limits, or of all that it counts besides."""
    hard, used = part(document, "status", "hard"), part(document, "status", "used")
    names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


PRINTERS: dict[str, Printer] = {
    "componentstatuses": _component_status,
    "configmaps": row(NAME, size("data", "binaryData"), AGE),
    "events": _event,
    "events.events.k8s.io": _event,
    "leases.coordination.k8s.io": row(NAME, "spec.holderIdentity", AGE),
    "namespaces": row(NAME, "status.phase", AGE),
    "nodes": row(
        NAME,
        _node_status,
        _roles,
        AGE,
        "status.nodeInfo.kubeletVersion",
        lambda document: _node_address(document, "InternalIP"),
        lambda document: _node_address(document, "ExternalIP"),
        text("status.nodeInfo.osImage", UNKNOWN),
        _kernel,
        text("status.nodeInfo.containerRuntimeVersion", UNKNOWN),
    ),
    "priorityclasses.scheduling.k8s.io": row(NAME, count("value"), flag("globalDefault"), AGE, "preemptionPolicy"),
    "resourcequotas": row(
        NAME, lambda document: _used(document, limits=False), lambda document: _used(document, limits=True), AGE
    ),
    "runtimeclasses.node.k8s.io": row(NAME, "handler", AGE),
    "secrets": row(NAME, "type", size("data"), AGE),
    "serviceaccounts": row(NAME, AGE),
}
