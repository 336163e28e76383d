"""The rows of Tables of the core group, but Pods, and of Events."""

from __future__ import annotations

from datetime import datetime

from pilotage.kubernetes.cells import REPLICAS, containers, images, load_balancer
from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part, value_at
from pilotage.net.sockets import address_text
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, UNSET, Cell, Printer
from pilotage.server.tables.rows import AGE, NAME, condition, field, pair, row, size, text

_ROLE = "node-role.kubernetes.io/"

_ROLE_LABEL = "kubernetes.io/role"


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
    at = f"{target.get('kind', '').lower()}/{target.get('name', '')}" if target.get("name") else ""
    return [
        last_seen,
        document.get("type", ""),
        document.get("reason", ""),
        at or target.get("kind", "").lower(),
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


def _cluster_address(document: Document) -> str:
    spec = part(document, "spec")
    addresses = items(spec, "clusterIPs")
    return cells.text(addresses[0] if addresses else spec.get("clusterIP"))


def _external_addresses(document: Document) -> str:
    spec = part(document, "spec")
    given = items(spec, "externalIPs")
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            return ",".join([*load_balancer(document), *given]) or "<pending>"
        case None | "":
            return UNKNOWN  # of the empty object in a bookmark
    return ",".join(given) or NONE


def _service_ports(document: Document) -> str:
    return ",".join(map(_service_port, items(document, "spec", "ports"))) or NONE


def _service_port(port: Document) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def _endpoints(document: Document) -> str:
    subsets = items(document, "subsets")
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses, ports = items(subset, "addresses"), items(subset, "ports")
        if not ports:
            found += [address.get("ip", "") for address in addresses]
        for port in ports:
            found += [address_text(address.get("ip", ""), port.get("port", 0)) for address in addresses]
    return cells.shortened(found)


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _phase(document: Document) -> str:
    terminating = document["metadata"].get("deletionTimestamp")
    return "Terminating" if terminating else str(part(document, "status").get("phase", ""))


def _access_modes(holder: Document) -> str:
    given = items(holder, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _storage_class(document: Document) -> str:
    annotations = document["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return str(part(document, "spec").get("storageClassName") or "")


def _claim(volume: Document) -> str:
    has_claim = part(volume, "spec").get("claimRef") is not None
    return str(pair("spec.claimRef", "namespace", "name")(volume)) if has_claim else ""


def _bound_status(claim: Document) -> Document:
    """The status of a claim that has a volume; nothing of any other."""
    return part(claim, "status") if part(claim, "spec").get("volumeName") else {}


def _bound_capacity(claim: Document) -> str:
    has_volume = part(claim, "spec").get("volumeName")
    return str(part(claim, "status", "capacity").get("storage", "0")) if has_volume else ""


PRINTERS: dict[str, Printer] = {
    "configmaps": row(NAME, size("data", "binaryData"), AGE),
    "endpoints": row(NAME, _endpoints, AGE),
    "events": _event,
    "events.events.k8s.io": _event,
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
    "persistentvolumeclaims": row(
        NAME,
        _phase,
        "spec.volumeName",
        _bound_capacity,
        lambda claim: _access_modes(_bound_status(claim)),
        _storage_class,
        text("spec.volumeAttributesClassName", UNSET),
        AGE,
        text("spec.volumeMode", UNSET),
    ),
    "persistentvolumes": row(
        NAME,
        field("spec.capacity.storage", "0"),
        lambda volume: _access_modes(part(volume, "spec")),
        "spec.persistentVolumeReclaimPolicy",
        _phase,
        _claim,
        _storage_class,
        text("spec.volumeAttributesClassName", UNSET),
        "status.reason",
        AGE,
        text("spec.volumeMode", UNSET),
    ),
    "replicationcontrollers": row(
        *REPLICAS, containers, images, lambda document: cells.labels(value_at(document, ("spec", "selector")))
    ),
    "resourcequotas": row(
        NAME, lambda document: _used(document, limits=False), lambda document: _used(document, limits=True), AGE
    ),
    "secrets": row(NAME, "type", size("data"), AGE),
    "serviceaccounts": row(NAME, AGE),
    "services": row(
        NAME,
        "spec.type",
        _cluster_address,
        _external_addresses,
        _service_ports,
        AGE,
        lambda document: cells.labels(value_at(document, ("spec", "selector"))),
    ),
}
