"""What a write means, decided on plain documents: which fields are the server's, what counts as a change. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pilotage.errors import ApiError, BadRequest, Cause, Status
from pilotage.meta.causes import invalid, invalid_error
from pilotage.meta.documents import Document, canonical
from pilotage.meta.kinds import GroupKind
from pilotage.meta.validation import finalizers_causes, object_meta_causes, object_meta_update_causes
from pilotage.rest.request import Request
from pilotage.server.records import same
from pilotage.server.resources import MAX_CAUSES, ResourceInfo
from pilotage.server.strategies import special
from pilotage.server.verbs import bodies

_SERVER_OWNED = (
    "creationTimestamp",
    "uid",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
)
_KEPT_ON_UPDATE = ("creationTimestamp", "generation", "selfLink")
_KEPT_IF_ABSENT = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_PATH = " including a path (/)"
_WRONG_TYPE = re.compile(r"in body must be of type ([\w-]+): (.*)", re.DOTALL)
DOUBLED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def prepare_create(info: ResourceInfo, request: Request, document: Document, *, now: str, uid: str) -> list[str]:
    """Make a document into a new object, in place, but for its name and what its kind fills in. The warnings."""
    metadata = document["metadata"]
    if metadata.pop("resourceVersion", "") not in ("", "0"):
        message = "resourceVersion should not be set on objects to be created"
        raise ApiError(status=Status(500, "", message))
    for key in _SERVER_OWNED:
        metadata.pop(key, None)
    set_namespace(info, request, metadata)
    if info.has_status and not special.of(info).keeps_status:
        document.pop("status", None)
    if info.generation:
        metadata["generation"] = 1
    metadata["uid"] = uid
    metadata["creationTimestamp"] = now
    return deduplicate_owners(metadata) + finalizer_warnings(info, metadata, ())


def set_namespace(info: ResourceInfo, request: Request, metadata: Document) -> None:
    """The namespace of the path is the object's; another one in the object is an error."""
    if not info.namespaced:
        metadata.pop("namespace", None)
    elif metadata.setdefault("namespace", request.namespace) != request.namespace:
        if metadata["namespace"]:
            raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = request.namespace


def deduplicate_owners(metadata: Document) -> list[str]:
    """Drop owner references that are there already. The warnings."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: dict[bytes, Any] = {}  # by what they say: a body can hold tens of thousands, too many to compare in pairs
    doubled: set[str] = set()
    for owner in owners:
        if kept.setdefault(canonical(owner), owner) is not owner:
            doubled.add(str(owner.get("uid")))
    metadata["ownerReferences"] = list(kept.values())
    return [DOUBLED_OWNERS + ", ".join(sorted(doubled))] if doubled else []


def finalizer_warnings(info: ResourceInfo, metadata: Document, known: Sequence[str]) -> list[str]:
    """Custom kinds may have finalizers without a domain, but that is not wise."""
    if not info.custom or "finalizers" not in metadata:
        return []
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name{_PATH if "." in name else ""}'
        " to avoid accidental conflicts with other finalizer writers"
        for name in metadata["finalizers"][:MAX_CAUSES]
        if name not in known and not _qualified(name)
    ]


def prepare_update(info: ResourceInfo, document: Document, old: Document, *, now: str) -> list[str]:
    """Make a document into the next state of `old`, in place: what only the server sets stays. The warnings."""
    metadata, was = document["metadata"], old["metadata"]
    for key in _KEPT_ON_UPDATE:
        if key in was:
            metadata[key] = was[key]
        else:
            metadata.pop(key, None)
    for key in _KEPT_IF_ABSENT:
        if key in was:
            metadata.setdefault(key, was[key])
    if info.namespaced:
        metadata.setdefault("namespace", was.get("namespace", ""))
    else:
        metadata.pop("namespace", None)
    if info.has_status:
        _take(document, old, "status")
    special.prepare(info, document, old, now)
    warnings = deduplicate_owners(metadata) + finalizer_warnings(info, metadata, was.get("finalizers", ()))
    count_generation(info, document, old)
    return warnings


def prepare_status(info: ResourceInfo, document: Document, old: Document) -> Document:
    """The next state of `old` when only its status is written."""
    result = dict(old)
    _take(result, document, "status")
    if not info.custom:  # built-in kinds let a status write set labels and annotations too
        metadata = dict(old["metadata"])
        for key in ("labels", "annotations", "finalizers", "ownerReferences"):
            _take(metadata, document["metadata"], key)
        result["metadata"] = metadata
    return result


def prepare_finalize(document: Document, old: Document) -> Document:
    """The next state of `old` when only its list of finalizers in the spec is written."""
    spec = document.get("spec") or {}
    return old | {"spec": {key: value for key, value in spec.items() if value}}


def count_generation(info: ResourceInfo, document: Document, old: Document) -> None:
    """A change outside metadata (and the status, where it is written apart) makes a new generation."""
    if not info.generation:
        return
    ignored = {"metadata", "status"} if info.has_status else {"metadata"}
    one = {key: value for key, value in document.items() if key not in ignored}
    other = {key: value for key, value in old.items() if key not in ignored}
    if not same(one, other):
        document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def create_causes(info: ResourceInfo, request: Request, document: Document) -> list[Cause]:
    """Everything that is wrong with a new object."""
    metadata = document["metadata"]
    causes = object_meta_causes(metadata, namespaced=info.namespaced, name=special.of(info).name)
    return causes + _finalizer_causes(info, metadata) + content_causes(info, request, document, None)


def update_causes(info: ResourceInfo, request: Request, document: Document, old: Document) -> list[Cause]:
    """Everything that is wrong with the next state of an object."""
    metadata, was = document["metadata"], old["metadata"]
    causes = object_meta_update_causes(metadata, was)
    if metadata.get("finalizers") != was.get("finalizers"):
        causes += finalizers_causes(metadata.get("finalizers", [])) + _finalizer_causes(info, metadata)
    return causes + content_causes(info, request, document, old)


def _finalizer_causes(info: ResourceInfo, metadata: Document) -> list[Cause]:
    """Built-in kinds insist on finalizers with a domain."""
    if info.custom or "finalizers" not in metadata:
        return []
    message = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", name, message)
        for index, name in enumerate(metadata["finalizers"][:MAX_CAUSES])
        if not _qualified(name)
    ]


def content_causes(info: ResourceInfo, request: Request, document: Document, old: Document | None) -> list[Cause]:
    """What the schema and the kind's own rules say. A built-in kind's wrong types are a 400 of their own."""
    status = request.subresource == "status"
    if reason := special.mismatch(info, document):
        raise bodies.undecodable(info, request, reason)
    causes = _schema_causes(info, document, old, status=status)
    if info.custom:
        return causes
    for cause in (*causes, *special.time_causes(info, document)):
        if cause.reason == "FieldValueTypeInvalid":
            raise bodies.undecodable(info, request, _mismatch(cause))
    if special.of(info).causes is None:
        return causes
    return special.causes(info, document, old) if not status else []


def _schema_causes(info: ResourceInfo, document: Document, old: Document | None, *, status: bool) -> list[Cause]:
    if info.schema is None:
        return []
    return info.schema.validate_status(document, old) if status else info.schema.validate(document, old)


def _mismatch(cause: Cause) -> str:
    match = _WRONG_TYPE.search(cause.message)
    wanted, found = match.groups() if match else ("another type", "a value")
    if found.strip('"') in bodies.JSON_TYPES:
        found = found.strip('"')
    return f"json: cannot unmarshal {found} into field {cause.field} of type {wanted}"


def check_version(info: ResourceInfo, document: Document, current: Document, name: str) -> None:
    """The resource version that the writer gave must be the current one; some kinds insist on getting one."""
    given = document["metadata"].get("resourceVersion", "")
    if not given or given == "0":
        if not info.unconditional_update:
            cause = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_error(GroupKind(*info.group_resource), name, [cause])  # the resource, not the kind
        return
    version_number(given)
    if given != current["metadata"]["resourceVersion"]:
        raise info.conflict(name)


def check_identity(info: ResourceInfo, request: Request, document: Document, current: Document | None) -> None:
    """The name and the uid in a body must be those of the object that the path names."""
    metadata = document["metadata"]
    name = metadata.get("name", "")
    if name != request.name:
        if not name:
            raise BadRequest(
                f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
            )
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({request.name})")
    if info.namespaced and metadata.get("namespace", request.namespace) != request.namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    uid = metadata.get("uid")
    if uid and current is not None and uid != current["metadata"]["uid"]:
        raise info.conflict(
            request.name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {current['metadata']['uid']}",
        )


def version_number(text: str) -> int:
    """A resource version as the revision that it is; anything but a number is a 500, as Kubernetes has it."""
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    message = f'resourceVersion: Invalid value: "{text[:50]}": a decimal number is needed'
    raise ApiError(status=Status(500, "", message))


def _qualified(finalizer: str) -> bool:
    return "/" in finalizer or finalizer in _STANDARD_FINALIZERS


def _take(target: Document, source: Document, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
