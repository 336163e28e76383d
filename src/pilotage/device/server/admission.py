"""What the server takes: names, provider ids, and how much of everything. Decided on documents; no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.device.v1alpha1 import GPU
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import BadRequest, Cause, DecodeError, RequestTooLarge
from pilotage.meta import jsontext
from pilotage.meta.causes import duplicate, invalid_error, required, too_many
from pilotage.meta.documents import Document

MAX_PROVIDER = 128
_GVK = GPU.__resource__.gvk


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a server keeps. The defaults have room for the largest nodes in about 128 MiB."""

    objects: int = 1024
    """How many GPUs are kept."""
    labels: int = 64
    """How many labels one GPU may have."""
    object_bytes: int = 64 * 1024
    """One GPU with all its conditions, as it is kept."""
    providers: int = 1024
    """That are known to send heartbeats."""


def check_provider(provider: str) -> None:
    """Raises BadRequest for what cannot be the id of a provider."""
    if not 0 < len(provider) <= MAX_PROVIDER or not provider.isprintable():
        raise BadRequest(
            f"{provider[:40]!r} cannot be a provider's id: it has 1 to {MAX_PROVIDER} characters, all of them printable"
        )


def read(body: bytes, name: str = "") -> Document:
    """The document of a write, with metadata, of the one kind there is, named `name` where a name is given."""
    if not body:
        raise BadRequest("the request has no GPU in it")
    try:
        document = jsontext.read(body)
    except DecodeError as error:
        raise BadRequest(f"the GPU cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise BadRequest("the request has no GPU in it: a JSON object is needed")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata:
        raise BadRequest("the GPU has no metadata: metadata.name at least must be there")
    document.setdefault("apiVersion", _GVK.api_version)
    document.setdefault("kind", _GVK.kind)
    if name:
        metadata.setdefault("name", name)
    if metadata.get("name") or not metadata.get("generateName"):
        check_name(_text(metadata.get("name"), "metadata.name"))
    return document


def status_of(document: Document, name: str) -> Document:
    """The status that a caller has sent, as far as it can be merged. Raises Invalid."""
    status = document.get("status")
    if status is None:
        return {}
    causes: list[Cause] = []
    conditions = status.get("conditions") if isinstance(status, dict) else None
    if not isinstance(status, dict) or not isinstance(conditions or [], list):
        raise BadRequest("the status is an object, and its conditions are a list")
    seen: set[str] = set()
    for index, condition in enumerate(conditions or []):
        kind = condition.get("type") if isinstance(condition, dict) else None
        if not isinstance(kind, str) or not kind:
            causes.append(required(f"status.conditions[{index}].type"))
        elif kind in seen:
            causes.append(duplicate(f"status.conditions[{index}]", {"type": kind}))
        else:
            seen.add(kind)
    if causes:
        raise invalid_error(_GVK.group_kind, name, causes[:10])
    action = status.get("recommendedAction")
    if action is not None and not isinstance(action, str):
        raise BadRequest("status.recommendedAction must be a text")
    return {
        "conditions": [
            {key: value for key, value in condition.items() if key != "provider"} for condition in conditions or []
        ],
        "recommendedAction": action,
    }


def unknown_status_fields(document: Document) -> list[str]:
    """The warnings about fields of a sent status that are not kept; those of its conditions the registry reports."""
    status = document.get("status")
    known = ("conditions", "recommendedAction")
    return [f'unknown field "status.{key}"' for key in sorted(status or ()) if key not in known]


def check(document: Document, encoded: bytes, limits: Limits) -> None:
    """What an object may have at most. Raises Invalid and RequestTooLarge."""
    metadata = document["metadata"]
    labels = metadata.get("labels")
    name = str(metadata.get("name", ""))
    if isinstance(labels, dict) and len(labels) > limits.labels:
        raise invalid_error(_GVK.group_kind, name, [too_many("metadata.labels", len(labels), limits.labels)])
    if len(encoded) > limits.object_bytes:
        raise RequestTooLarge(
            f"the GPU {name!r} would have {len(encoded)} bytes, and at most {limits.object_bytes} are kept of one"
        )


def _text(value: object, field: str) -> str:
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{field} must be a text")
    return value or ""
