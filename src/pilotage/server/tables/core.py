"""The rows of the rest of the core group, of Events, Leases and the objects that describe nodes."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, Cell, Printer, items, part, text

_ROLE = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def config_map(document: Document, now: datetime) -> list[Cell]:
    count = len(part(document, "data")) + len(part(document, "binaryData"))
    return [cells.name(document), count, cells.age(document, now)]


def secret(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), document.get("type", ""), len(part(document, "data")), cells.age(document, now)]


def namespace(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), part(document, "status").get("phase", ""), cells.age(document, now)]


def component_status(document: Document, now: datetime) -> list[Cell]:
    healthy: Document = next((each for each in items(document, "conditions") if each.get("type") == "Healthy"), {})
    state = {"True": "Healthy", "False": "Unhealthy"}.get(healthy.get("status", ""), "Unknown")
    return [cells.name(document), state, healthy.get("message", ""), healthy.get("error", "")]


def node(document: Document, now: datetime) -> list[Cell]:
    system = part(document, "status", "nodeInfo")
    return [
        cells.name(document),
        _node_status(document),
        _roles(document["metadata"].get("labels") or {}),
        cells.age(document, now),
        system.get("kubeletVersion", ""),
        _node_address(document, "InternalIP"),
        _node_address(document, "ExternalIP"),
        text(system.get("osImage"), UNKNOWN),
        _kernel(system),
        text(system.get("containerRuntimeVersion"), UNKNOWN),
    ]


def _kernel(system: Document) -> str:
    """The version of the kernel, and the architecture it runs on."""
    architecture = system.get("architecture")
    return text(system.get("kernelVersion"), UNKNOWN) + (f" ({architecture})" if architecture else "")


def _node_status(document: Document) -> str:
    ready = [
        condition.get("status")
        for condition in items(part(document, "status"), "conditions")
        if condition.get("type") == "Ready"
    ]
    states = ["Ready" if ready[-1] == "True" else "NotReady"] if ready else ["Unknown"]
    if part(document, "spec").get("unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _roles(labels: dict[str, str]) -> str:
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if labels.get(_ROLE_LABEL):
        roles.add(labels[_ROLE_LABEL])
    return ",".join(sorted(roles)) or NONE


def _node_address(document: Document, kind: str) -> str:
    for address in items(part(document, "status"), "addresses"):
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return NONE


def event(document: Document, now: datetime) -> list[Cell]:
    """Of the core group; one of events.k8s.io is converted before it is printed."""
    first, last = document.get("firstTimestamp"), document.get("lastTimestamp")
    first_seen = cells.since(first or document.get("eventTime"), now)
    last_seen = cells.since(last, now) if last else first_seen
    count, series = document.get("count", 0), part(document, "series")
    if series:
        count = series.get("count", 0)
        last_seen = cells.since(series.get("lastObservedTime"), now)
    elif count == 0:
        count = 1
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
        count,
        cells.name(document),
    ]


def _event_source(document: Document) -> str:
    source = part(document, "source")
    component = source.get("component") or document.get("reportingComponent", "")
    instance = source.get("host") or document.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else str(component)


def resource_quota(document: Document, now: datetime) -> list[Cell]:
    hard, used = part(document, "status", "hard"), part(document, "status", "used")
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        row = f"{resource}: {used.get(resource, '0')}/{hard[resource]}"
        (limits if resource.startswith("limits.") else requests).append(row)
    return [cells.name(document), ", ".join(requests), ", ".join(limits), cells.age(document, now)]


def lease(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), part(document, "spec").get("holderIdentity", ""), cells.age(document, now)]


def priority_class(document: Document, now: datetime) -> list[Cell]:
    return [
        cells.name(document),
        document.get("value", 0),
        bool(document.get("globalDefault")),
        cells.age(document, now),
        document.get("preemptionPolicy", ""),
    ]


def runtime_class(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), document.get("handler", ""), cells.age(document, now)]


CORE: dict[str, Printer] = {
    "componentstatuses": component_status,
    "configmaps": config_map,
    "events": event,
    "namespaces": namespace,
    "nodes": node,
    "resourcequotas": resource_quota,
    "secrets": secret,
    "serviceaccounts": cells.name_and_age,
}
COORDINATION: dict[str, Printer] = {"leases": lease}
EVENTS: dict[str, Printer] = {"events": event}
NODE: dict[str, Printer] = {"runtimeclasses": runtime_class}
SCHEDULING: dict[str, Printer] = {"priorityclasses": priority_class}
