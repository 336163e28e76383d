"""The object in the body of a request, as the audit log shows it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pilotage.errors import PilotageError
from pilotage.meta.documents import Document
from pilotage.meta.text import gojson, yamltext
from pilotage.rest.request import APIRequest, PatchType, Verb
from pilotage.server import records
from pilotage.server.audit.events import ObjectReference
from pilotage.server.decoding import bodies
from pilotage.server.resources import ResourceInfo
from pilotage.server.writes import steps

_BODIES = {
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "scale": ("autoscaling/v1", "Scale"),
    "token": ("authentication.k8s.io/v1", "TokenRequest"),
}
"""The kinds of bodies of subresources that differ from the kind of the resource."""


def request_object(request: APIRequest, info: ResourceInfo, body: bytes) -> Any:
    """The body of a write as JSON; None if there is no body, or if it cannot be read."""
    if not body:
        return None
    try:
        if request.verb is Verb.PATCH:
            is_yaml = request.content_type == PatchType.APPLY.value
            return yamltext.read(request.body) if is_yaml else gojson.read(request.body)
        if request.verb in (Verb.DELETE, Verb.DELETE_COLLECTION):
            return _delete_options(gojson.read(body))
        if request.subresource not in ("", "status", "finalize", "approval"):
            return _complete(gojson.read(request.body), *_BODIES.get(request.subresource, ("", "")))
        document, problems = bodies.read(request, info)
        steps.default(info, request, document, problems)  # kube-apiserver sets defaults when it decodes
        if info.codec is not None:
            document = records.decode(records.to_json(document))
            info.codec.encode(document)
        return _complete(document, info.gvk.api_version, info.gvk.kind)
    except (PilotageError, UnicodeDecodeError):
        return None


def referred(reference: ObjectReference | None, found: Any) -> ObjectReference | None:
    """The reference of a request, completed by the object in its body."""
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if reference is None or not isinstance(metadata, dict):
        return reference
    fields = (("namespace", "namespace"), ("name", "name"), ("uid", "uid"), ("resource_version", "resourceVersion"))
    texts = {field: metadata.get(key) for field, key in fields if not getattr(reference, field)}
    return replace(reference, **{field: text for field, text in texts.items() if isinstance(text, str) and text})


def _complete(document: Any, api_version: str, kind: str) -> Any:
    if not isinstance(document, dict):
        return document
    head: Document = {"kind": document.get("kind") or kind, "apiVersion": document.get("apiVersion") or api_version}
    return head | {key: value for key, value in document.items() if key not in head}


def _delete_options(document: Any) -> Any:
    """Kube-apiserver logs its internal version of these options."""
    if not isinstance(document, dict):
        return document
    options = {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
    return {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal"} | options
