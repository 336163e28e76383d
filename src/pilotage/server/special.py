"""Kinds with a mind of their own: what the server does beyond the schema for Namespace, Secret, ConfigMap and others.

Each is two plain functions over documents: `prepare` (fill in, in place) and `causes` (what is wrong).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.names import NameForm
from pilotage.server import definitions
from pilotage.server.records import Document
from pilotage.server.served import Served

PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
SYSTEM_NAMESPACES = (*PROTECTED_NAMESPACES, "kube-node-lease")
NAMESPACE = GroupVersionResource("", "v1", "namespaces")
MAX_SECRET = 1024 * 1024


class Special(NamedTuple):
    """What a kind adds to the general rules."""

    prepare: Callable[[Document, Document | None, str], None] | None = None
    causes: Callable[[Document, Document | None], list[Cause]] | None = None
    name: NameForm = "subdomain"
    keeps_status: bool = False
    """A create may set the status."""


def prepare(served: Served, document: Document, old: Document | None, now: str) -> None:
    """Fill in what the server knows of this kind. `old` is None for a new object."""
    rule = _rule(served)
    if rule.prepare is not None:
        rule.prepare(document, old, now)


def causes(served: Served, document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with the object beyond its schema."""
    rule = _rule(served)
    return rule.causes(document, old) if rule.causes is not None else []


def name_rule(served: Served) -> NameForm:
    """Which names objects of this kind may have."""
    return _rule(served).name


def keeps_status(served: Served) -> bool:
    return _rule(served).keeps_status


def system_namespace(served: Served, name: str, *, uid: str, now: str) -> Document:
    """One of the namespaces that are always there."""
    metadata = {"name": name, "uid": uid, "creationTimestamp": now}
    document: Document = {"apiVersion": served.gvk.api_version, "kind": served.gvk.kind, "metadata": metadata}
    _prepare_namespace(document, None, now)
    return document


def _rule(served: Served) -> Special:
    return _PLAIN if served.custom else _SPECIAL.get(served.group_resource, _PLAIN)


def _prepare_namespace(document: Document, old: Document | None, now: str) -> None:
    metadata = document["metadata"]
    name = metadata.get("name", "")
    if name:
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    if old is None:
        spec = document["spec"] = _mapping(document.get("spec"))
        spec["finalizers"] = list(dict.fromkeys(["kubernetes", *spec.get("finalizers", [])]))
        document["status"] = {"phase": "Active"}
    else:  # only /finalize changes these
        document["spec"] = old.get("spec", {})


def _prepare_secret(document: Document, old: Document | None, now: str) -> None:
    texts = document.pop("stringData", None)
    if isinstance(texts, dict):
        data = document["data"] = _mapping(document.get("data"))
        for key, text in texts.items():
            data[key] = base64.b64encode(str(text).encode()).decode()
    document.setdefault("type", "Opaque")


def _secret_causes(document: Document, old: Document | None) -> list[Cause]:
    found = _data_causes(_mapping(document.get("data")), "data", encoded=True)
    if old is not None:
        if document.get("type") != old.get("type", "Opaque"):
            found.append(invalid("type", document.get("type"), "field is immutable"))
        found += _frozen_causes(document, old, ("data",))
    return found


def _config_map_causes(document: Document, old: Document | None) -> list[Cause]:
    data, binary = _mapping(document.get("data")), _mapping(document.get("binaryData"))
    found = _data_causes(data, "data", encoded=False) + _data_causes(binary, "binaryData", encoded=True)
    for key in sorted(data.keys() & binary.keys()):
        found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    if old is not None:
        found += _frozen_causes(document, old, ("data", "binaryData"))
    return found


def _data_causes(data: Mapping[str, Any], field: str, *, encoded: bool) -> list[Cause]:
    found: list[Cause] = []
    size = 0
    for key, value in data.items():
        if len(key) > 253 or not key or key in (".", "..") or not all(c.isalnum() or c in "-_." for c in key):
            detail = (
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
            )
            found.append(invalid(f"{field}[{key[:260]}]", key[:260], detail))
        size += len(value)
        if encoded:
            try:
                base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError) as error:
                found.append(invalid(f"{field}[{key[:260]}]", "", f"illegal base64 data: {error}"))
    if size > MAX_SECRET:
        found.append(Cause("FieldValueTooLong", f"Too long: may not be more than {MAX_SECRET} bytes", field))
    return found


def _frozen_causes(document: Document, old: Document, fields: tuple[str, ...]) -> list[Cause]:
    if old.get("immutable") is not True:
        return []
    found = [
        forbidden(field, "field is immutable when `immutable` is set")
        for field in fields
        if _mapping(document.get(field)) != _mapping(old.get(field))
    ]
    if document.get("immutable") is not True:
        found.append(forbidden("immutable", "field is immutable when `immutable` is set"))
    return found


def _event_causes(document: Document, old: Document | None) -> list[Cause]:
    subject = document.get("involvedObject") or document.get("regarding") or {}
    namespace = document["metadata"].get("namespace", "")
    about = subject.get("namespace", "") if isinstance(subject, dict) else ""
    if about == namespace or (not about and namespace == "default"):
        return []
    field = "involvedObject.namespace" if "involvedObject" in document else "regarding.namespace"
    return [invalid(field, about, "does not match event.namespace")]


def _new_event_causes(document: Document, old: Document | None) -> list[Cause]:
    found = _event_causes(document, old)
    if old is None:
        needed = ("eventTime", "reportingController", "reportingInstance", "action", "reason")
        found += [required(field) for field in needed if not document.get(field)]
        if document.get("type") not in ("Normal", "Warning"):
            found.append(invalid("type", document.get("type", ""), "has invalid value: must be Normal or Warning"))
    return found


def _lease_causes(document: Document, old: Document | None) -> list[Cause]:
    spec = _mapping(document.get("spec"))
    found = []
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if isinstance(seconds, int) and seconds <= 0:
        found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if isinstance(transitions, int) and transitions < 0:
        found.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return found


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_PLAIN = Special()
_SPECIAL: dict[tuple[str, str], Special] = {
    ("", "namespaces"): Special(_prepare_namespace, name="label", keeps_status=True),
    ("", "secrets"): Special(_prepare_secret, _secret_causes),
    ("", "configmaps"): Special(causes=_config_map_causes),
    ("", "events"): Special(causes=_event_causes),
    ("", "services"): Special(name="dns1035"),
    ("events.k8s.io", "events"): Special(causes=_new_event_causes),
    ("coordination.k8s.io", "leases"): Special(causes=_lease_causes),
    ("rbac.authorization.k8s.io", "roles"): Special(name="path"),
    ("rbac.authorization.k8s.io", "rolebindings"): Special(name="path"),
    ("rbac.authorization.k8s.io", "clusterroles"): Special(name="path"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): Special(name="path"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): Special(
        definitions.prepare, definitions.causes, keeps_status=True
    ),
}
