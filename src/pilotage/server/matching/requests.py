"""A request in the form of AdmissionReviews and CEL expressions, and its objects at the version of a match."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.rest.request import APIRequest, DeleteOptions, User
from pilotage.rest.users import user_info
from pilotage.server import records
from pilotage.server.admission import Attributes, Operation
from pilotage.server.matching.criteria import Match
from pilotage.server.resources import ResourceInfo

IN_PROCESS = User("system:apiserver", ("system:authenticated", "system:masters"))
"""The user of requests of this program without a user: kube-apiserver's own user, with all permissions."""
_OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}
Convert = Callable[[Document, ResourceInfo], Awaitable[Document]]
"""Converts a document of one version of a resource to another version; the given document is not changed."""


def admission_request(attributes: Attributes, match: Match) -> Document:
    """The AdmissionRequest of a request, without its uid and its objects."""
    info = attributes.info
    assert info is not None, "verbs set the resource info before admission"
    request: Document = {"kind": _kind(match.kind), "resource": _resource(match.resource)}
    if attributes.subresource:
        request["subResource"] = attributes.subresource
    request["requestKind"] = _kind(attributes.kind)
    request["requestResource"] = _resource(info.gvr)
    if attributes.subresource:
        request["requestSubResource"] = attributes.subresource
    for field, value in (("name", attributes.name), ("namespace", attributes.namespace)):
        if value:
            request[field] = value
    request["operation"] = attributes.operation.value
    request["userInfo"] = user_info(attributes.user if attributes.user.name else IN_PROCESS)
    request["dryRun"] = attributes.dry_run
    request["options"] = _options(attributes)
    return request


def _kind(kind: GroupVersionKind) -> Document:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> Document:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _options(attributes: Attributes) -> Document | None:
    """The options of the request; a connection has no options."""
    kind = _OPTIONS.get(attributes.operation)
    if kind is None:
        return None
    head = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if attributes.operation is Operation.DELETE:
        return head | _delete_options(attributes.request.delete)
    return head | _write_options(attributes.request)


def _write_options(request: APIRequest) -> Document:
    write, options = request.write, Document()
    if write.dry_run:
        options["dryRun"] = ["All"]
    if write.field_manager:
        options["fieldManager"] = write.field_manager
    if write.field_validation:
        options["fieldValidation"] = write.field_validation
    return options


def _delete_options(delete: DeleteOptions) -> Document:
    preconditions = {
        name: value for name, value in (("uid", delete.uid), ("resourceVersion", delete.resource_version)) if value
    }
    options: dict[str, Any] = {
        "gracePeriodSeconds": delete.grace_period_seconds,
        "preconditions": preconditions or None,
        "orphanDependents": delete.orphan_dependents,
        "propagationPolicy": delete.propagation_policy or None,
        "dryRun": ["All"] if delete.dry_run else None,
    }
    return {name: value for name, value in options.items() if value is not None}


class VersionedObjects:
    """The new and the old object of a request at the versions of matches, as they are on the wire."""

    def __init__(self, attributes: Attributes, convert: Convert) -> None:
        self._attributes = attributes
        self._convert = convert
        self._new: dict[GroupVersionKind, Document] = {}
        self._old: dict[GroupVersionKind, Document] = {}

    async def at(self, match: Match) -> tuple[Document | None, Document | None]:
        """The new and the old object. They are shared: readers must not change them."""
        new, old = self._attributes.new, self._attributes.old
        if new is not None and match.kind not in self._new:
            self._new[match.kind] = await self._versioned(new, match)
        if old is not None and match.kind not in self._old:
            self._old[match.kind] = await self._versioned(old, match)
        return self._new.get(match.kind), self._old.get(match.kind)

    def forget_new(self) -> None:
        """Drop the converted forms of the new object of the request, which has changed."""
        self._new.clear()

    async def _versioned(self, document: Document, match: Match) -> Document:
        written = wire(document, self._attributes.body or self._attributes.info or match.info)
        return written if match.kind == self._attributes.kind else await self._convert(written, match.info)


def wire(document: Document, info: ResourceInfo) -> Document:
    """The wire form of a document in the internal form."""
    if info.codec is None:
        return document
    written = records.decode(records.to_json(document))  # the fastest copy
    info.codec.encode(written)
    return written
