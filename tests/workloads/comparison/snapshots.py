"""What a server has after a step, in a form in which two servers can be compared: no uids, times, addresses or nodes,
and names of Pods by their role."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pilotage.client.client import Client
from pilotage.meta.kinds import GroupVersionKind

KINDS = (
    *(("apps/v1", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision")),
    *(("batch/v1", kind) for kind in ("Job", "CronJob")),
    *(("v1", kind) for kind in ("Pod", "PersistentVolumeClaim", "Service", "Endpoints", "ReplicationController")),
    ("policy/v1", "PodDisruptionBudget"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
)
Leaf = tuple[str, str, str]
"""The role of an object, the path of a field, and its value."""
Snapshot = Counter[Leaf]

_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_GENERATED = re.compile(r"\b([a-z0-9][a-z0-9.-]*-)([bcdfghjklmnpqrstvwxz2456789]{5})\b")
_NODE = re.compile(r"\bnode-[1-5]\b")
_SECONDS = re.compile(r"\b\d+(?:\.\d+)?(?:ms|s)\b")
_DROPPED = (
    *("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"),
    *("containerID", "imageID", "clusterIP", "clusterIPs", "nodeName", "hostIP", "hostIPs"),
)
_PULLS = ("Pulling", "Pulled")
"""Events of the kubelet, which is ours on both sides. They depend on the images that a node has."""


async def snapshot(client: Client, namespace: str) -> Snapshot:
    """All leaves of all objects of a namespace."""
    found: Snapshot = Counter()
    for api_version, kind in KINDS:
        for obj in await client.list(GroupVersionKind(*_group_version(api_version), kind), namespace=namespace):
            found.update(leaves(f"{kind} {role(obj.metadata.name)}", obj.document))
    for obj in await client.list(GroupVersionKind("", "v1", "PersistentVolume")):
        if _scenario(obj.document) == namespace:
            found.update(leaves(f"PersistentVolume {role(obj.metadata.name)}", obj.document))
    return found


def _scenario(volume: dict[str, Any]) -> str:
    """The scenario that a volume belongs to: by its label, or by its claim."""
    labels, claim = volume["metadata"].get("labels") or {}, volume["spec"].get("claimRef") or {}
    found: str = labels.get("scenario") or claim.get("namespace") or ""
    return found


async def events(client: Client, namespace: str) -> Snapshot:
    """The Events of a namespace: about what, by whom, and their text. How often is left out: it depends on timing."""
    found: set[Leaf] = set()
    for event in await client.list(GroupVersionKind("", "v1", "Event"), namespace=namespace):
        document = event.document
        regarding, source = document["involvedObject"], document.get("source") or {}
        component = source.get("component") or document.get("reportingComponent") or ""
        if document.get("reason") in _PULLS:
            continue
        about = f"{regarding['kind']} {role(regarding['name'])}"
        text = f"{document.get('type')} {document.get('reason')} {plain(document.get('message') or '')}"
        found.add((about, component, text))
    return Counter(found)


def _group_version(text: str) -> tuple[str, str]:
    group, _, version = text.rpartition("/")
    return group, version


def role(name: str) -> str:
    """A name without its random end."""
    return _GENERATED.sub(r"\1*", _UID.sub("UID", name))


def plain(text: str) -> str:
    """A text without what differs between two runs."""
    text = _UID.sub("UID", text)
    text = _NODE.sub("NODE", _ADDRESS.sub("IP", text))
    return _SECONDS.sub("SECONDS", role(text))


def leaves(name: str, value: Any, path: str = "") -> Iterator[Leaf]:
    """Each value in a document that is not a map or a list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _DROPPED:
                yield from leaves(name, inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(name, inner, f"{path}[{number}]")
    else:
        yield name, path, _value(value)


def _value(value: object) -> str:
    text = str(value)
    return "TIME" if _TIME.match(text) else plain(text)
