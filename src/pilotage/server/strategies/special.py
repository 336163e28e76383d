"""Kinds with a mind of their own: what the server does beyond the schema for Namespace, Secret, ConfigMap and others.

Each is a few plain functions over documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, type_invalid
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.names import NameForm
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import apiextensions, events, secrets

PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
SYSTEM_NAMESPACES = (*PROTECTED_NAMESPACES, "kube-node-lease")
NAMESPACE = GroupVersionResource("", "v1", "namespaces")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


class Special(NamedTuple):
    """What a kind adds to the general rules."""

    prepare: Callable[[Document, Document | None, str], None] | None = None
    """Fill in, in place: the document, its old state or None, and the time."""
    causes: Callable[[Document, Document | None], list[Cause]] | None = None
    """What is wrong. Where a kind has this, the schema is asked for wrong types alone."""
    mismatch: Callable[[Document], str] | None = None
    """Why the content cannot be decoded, beyond what the schema says of types; empty if it can."""
    mark: Callable[[Document, str], None] | None = None
    """What a deletion does to an object beside marking it, in place."""
    name: NameForm = "subdomain"
    keeps_status: bool = False
    """A create may set the status."""
    micro_times: tuple[tuple[str, ...], ...] = ()
    """Where times stand that must be to the microsecond."""
    hurried: bool = True
    """A deletion counts as a change and has a grace period."""
    shown_when_gone: bool = False
    """A deletion is answered with the object, even when it is gone."""


def prepare(info: ResourceInfo, document: Document, old: Document | None, now: str) -> None:
    """Fill in what the server knows of this kind. `old` is None for a new object."""
    rule = of(info)
    if rule.prepare is not None:
        rule.prepare(document, old, now)


def causes(info: ResourceInfo, document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with the object beyond its schema."""
    rule = of(info)
    return rule.causes(document, old) if rule.causes is not None else []


def mismatch(info: ResourceInfo, document: Document) -> str:
    """Why the kind cannot hold this content, as a decoder says it; empty if it can."""
    rule = of(info)
    return rule.mismatch(document) if rule.mismatch is not None else ""


def time_causes(info: ResourceInfo, document: Document) -> list[Cause]:
    """Times that are not to the microsecond where they must be."""
    values = {path: _at(document, path) for path in of(info).micro_times}
    return [
        type_invalid(".".join(path), value, f'{".".join(path)} in body must be of type microsecond-time: "{value}"')
        for path, value in values.items()
        if isinstance(value, str) and not _MICRO_TIME.fullmatch(value)
    ]


def of(info: ResourceInfo) -> Special:
    """The rules of a kind; plain ones where it has none of its own."""
    return (_CUSTOM if info.custom else _SPECIAL).get(info.group_resource, _PLAIN)


def held(document: Document) -> bool:
    """Whether an object waits for more than its finalizers: a namespace has another list of them."""
    if document["kind"] != "Namespace" or document["apiVersion"] != "v1":
        return False
    return bool(_mapping(document.get("spec")).get("finalizers"))


def system_namespace(info: ResourceInfo, name: str, *, uid: str, now: str) -> Document:
    """One of the namespaces that are always there."""
    metadata = {"name": name, "uid": uid, "creationTimestamp": now}
    document: Document = {"apiVersion": info.gvk.api_version, "kind": info.gvk.kind, "metadata": metadata}
    _prepare_namespace(document, None, now)
    return document


def _prepare_namespace(document: Document, old: Document | None, now: str) -> None:
    metadata = document["metadata"]
    name = metadata.get("name", "")
    if name:
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    if old is None:
        spec = document["spec"] = _mapping(document.get("spec"))
        spec["finalizers"] = list(dict.fromkeys([*spec.get("finalizers", []), "kubernetes"]))
        document["status"] = {"phase": "Active"}
    else:  # only /finalize changes these
        document["spec"] = old.get("spec", {})


def _mark_namespace(document: Document, now: str) -> None:
    document["status"] = _mapping(document.get("status")) | {"phase": "Terminating"}


def _lease_causes(document: Document, old: Document | None) -> list[Cause]:
    spec = _mapping(document.get("spec"))
    found = []
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if isinstance(seconds, int) and seconds <= 0:
        found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if isinstance(transitions, int) and transitions < 0:
        found.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return found


def _nothing_wrong(document: Document, old: Document | None) -> list[Cause]:
    return []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = _mapping(document).get(key)
    return document


_PLAIN = Special()
_EVENT_TIMES = (("eventTime",), ("series", "lastObservedTime"))
_RBAC = "rbac.authorization.k8s.io"
_SPECIAL: dict[tuple[str, str], Special] = {
    ("", "namespaces"): Special(
        _prepare_namespace,
        _nothing_wrong,
        mark=_mark_namespace,
        name="label",
        keeps_status=True,
        hurried=False,
        shown_when_gone=True,
    ),
    ("", "pods"): Special(shown_when_gone=True),
    ("", "secrets"): Special(secrets.prepare_secret, secrets.secret_causes, secrets.secret_mismatch),
    ("", "configmaps"): Special(secrets.prepare_config_map, secrets.config_map_causes, secrets.config_map_mismatch),
    ("", "events"): Special(events.prepare_event, events.core_causes, micro_times=_EVENT_TIMES),
    ("", "services"): Special(name="dns1035"),
    ("events.k8s.io", "events"): Special(causes=events.new_causes, micro_times=_EVENT_TIMES),
    ("coordination.k8s.io", "leases"): Special(
        causes=_lease_causes, micro_times=(("spec", "acquireTime"), ("spec", "renewTime"))
    ),
    **{
        (_RBAC, resource): Special(name="path")
        for resource in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    },
    ("apiextensions.k8s.io", "customresourcedefinitions"): Special(
        apiextensions.prepare, apiextensions.causes, mark=apiextensions.mark, keeps_status=True, hurried=False
    ),
}
_CUSTOM: dict[tuple[str, str], Special] = {
    # The Device API names GPUs by their UUIDs as they stand, and providers create them with what they know of them.
    ("device.nvidia.com", "gpus"): Special(name="path", keeps_status=True),
}
