"""Compares the name, namespace, uid and version in a body with the path and with the stored object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilotage.errors import (
    BadRequest,
    InternalError,
    Status,
)
from pilotage.meta.causes import invalid, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.rest.request import APIRequest

if TYPE_CHECKING:
    from pilotage.server.resources import ResourceInfo

_UINT64 = range(2**64)
_LAST_REVISION = 2**63 - 1
"""The highest revision of a storage. Any higher version is treated as this one."""
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def set_namespace(info: ResourceInfo, request: APIRequest, metadata: Document) -> None:
    """The namespace of the path is the object's; another one in the object is an error."""
    if not info.namespaced:
        metadata.pop("namespace", None)
    elif (metadata.get("namespace") or request.namespace) != request.namespace:
        raise BadRequest(_OTHER_NAMESPACE)
    else:
        metadata["namespace"] = request.namespace


def check_identity(info: ResourceInfo, request: APIRequest, document: Document) -> None:
    """The name and the namespace in a body must agree with the path; without a namespace, it gets the namespace of the
    path."""
    metadata = document["metadata"]
    name = metadata.get("name", "")
    if name != request.name:
        if not name:
            raise no_name(request.name)
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({request.name})")
    set_namespace(info, request, metadata)


def no_name(name: str) -> BadRequest:
    """The 400 for a body without a name; `name` is the name in the path."""
    return BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


def check_uid(info: ResourceInfo, request: APIRequest, document: Document, current: Document) -> None:
    """The uid in a body must be the uid of the stored object."""
    uid = document["metadata"].get("uid")
    if uid and uid != (known := current["metadata"]["uid"]) and info.rules.uid_precondition:
        message = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {known}"
        raise info.conflict(request.name, message)


def check_version(info: ResourceInfo, document: Document, current: Document, name: str) -> None:
    """The resource version that the writer gave must be the current one; some kinds require one."""
    given = document["metadata"].get("resourceVersion", "")
    if not given or given == "0":
        if not info.rules.unconditional_update:
            cause = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_error(GroupKind(*info.group_resource), name, [cause])  # the resource, not the kind
        return
    if given == current["metadata"]["resourceVersion"]:
        return
    from pilotage.rest.query import parse_int  # imported on use: a read without a version does not need it

    try:
        parse_int(given, "ParseUint", _UINT64)
    except ValueError as error:
        raise InternalError(status=Status(500, "", str(error))) from None
    raise info.conflict(name)


def version_number(text: str) -> int:
    """The resource version of a query as the revision that it is; anything but a number is a 500, as in Kubernetes."""
    from pilotage.rest.query import parse_int  # imported on use: a read without a version does not need it

    try:
        return min(parse_int(text, "ParseUint", _UINT64), _LAST_REVISION)
    except ValueError as error:
        raise InternalError(
            status=Status(500, "", f'resourceVersion: Invalid value: "{text[:100]}": {error}')
        ) from None
