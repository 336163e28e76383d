"""Admission requests and responses: what an API server asks about a write, and what a webhook answers."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import msgspec

from pilotage.errors import DecodeError, Status
from pilotage.meta import objects
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import KindOf, O
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.manifests import check_kind
from pilotage.meta.models import Resource
from pilotage.meta.patches import json_diff
from pilotage.meta.unstructured import Unstructured
from pilotage.types.authentication.v1 import UserInfo

_NO_KIND = GroupVersionKind("", "", "")
_NO_RESOURCE = GroupVersionResource("", "", "")
_NO_STATUS = Status(0, "", "")

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
"""The operations of requests."""


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A write that an API server asks about. `object` and `old_object` are documents, with all their fields."""

    uid: str = ""
    operation: str = ""
    """CREATE, UPDATE, DELETE or CONNECT."""
    kind: GroupVersionKind = _NO_KIND
    """The kind of `object`. For a subresource it may be another one than the resource's: Scale for `scale`."""
    resource: GroupVersionResource = _NO_RESOURCE
    subresource: str = ""
    """The part of the object that is written, as `status` or `scale`; empty: the object."""
    name: str = ""
    """Empty in a create with `generateName`."""
    namespace: str = ""
    object: Document | None = None
    """The new state; None in a delete."""
    old_object: Document | None = None
    """The stored state; None in a create."""
    dry_run: bool = False
    """Nothing will be stored: the webhook must have no side effects."""
    user_info: UserInfo = field(default_factory=UserInfo)
    """The user of the request."""
    options: Document | None = None
    """The options of the operation, as CreateOptions."""
    request_kind: GroupVersionKind = _NO_KIND
    """The kind that the client sent; it differs from `kind` if the API server has converted the object."""
    request_resource: GroupVersionResource = _NO_RESOURCE
    request_subresource: str = ""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> AdmissionRequest:
        """Read the `request` of an AdmissionReview. Raises DecodeError."""
        try:
            wire = msgspec.convert(document, _WireRequest)
        except msgspec.ValidationError as error:
            raise DecodeError(f"the request of the AdmissionReview cannot be read: {error}") from error
        fields = msgspec.structs.asdict(wire)
        fields |= {"kind": wire.kind.gvk(), "resource": wire.resource.gvr(), "dry_run": bool(wire.dry_run)}
        fields["request_kind"] = (wire.request_kind or wire.kind).gvk()
        fields["request_resource"] = (wire.request_resource or wire.resource).gvr()
        return cls(**fields)

    def decode(self, kind: KindOf[O]) -> O:
        """The new state as an object of a class, or as `Unstructured` for a GroupVersionKind. Raises DecodeError."""
        return decoded(self.object, kind, "object")

    def decode_old(self, kind: KindOf[O]) -> O:
        """The stored state: of a deleted object, or before an update. Raises DecodeError."""
        return decoded(self.old_object, kind, "oldObject")


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The answer to an AdmissionRequest. `allowed`, `denied`, `errored` and `patched` make it."""

    allowed: bool
    status: Status = _NO_STATUS
    """Why it was denied, or a message. The code 0 becomes 200."""
    patches: Sequence[Mapping[str, Any]] = ()
    """Operations of a JSON patch, which a mutating webhook applies to the object."""
    warnings: Sequence[str] = ()
    """Shown to the client, up to 256 characters each."""
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    """Added to the audit log of the API server, under the name of the webhook."""

    def with_warnings(self, *warnings: str) -> AdmissionResponse:
        """The same with more warnings."""
        return replace(self, warnings=(*self.warnings, *warnings))

    def document(self, uid: str) -> Document:
        """The `response` of an AdmissionReview to the request with this uid."""
        document: Document = {"uid": uid, "allowed": self.allowed, "status": _status_document(self.status)}
        if self.patches:
            document["patch"] = base64.b64encode(msgspec.json.encode(list(self.patches))).decode()
            document["patchType"] = "JSONPatch"
        if self.audit_annotations:
            document["auditAnnotations"] = dict(self.audit_annotations)
        if self.warnings:
            document["warnings"] = list(self.warnings)
        return document


AdmissionHandler: TypeAlias = Callable[[AdmissionRequest], Awaitable[AdmissionResponse] | AdmissionResponse]
"""Answers admission requests. A function that is not async runs in a thread."""


def allowed(message: str = "") -> AdmissionResponse:
    """Allow the request."""
    return AdmissionResponse(True, Status(200, "", message))


def denied(message: str = "") -> AdmissionResponse:
    """Deny the request with 403. Raise `Invalid` or another ApiError for another status."""
    return AdmissionResponse(False, Status(403, "Forbidden", message))


def errored(code: int, error: Exception | str) -> AdmissionResponse:
    """Deny the request with an HTTP status code and the text of an error."""
    return AdmissionResponse(False, Status(code, "", str(error)))


def patched(message: str = "", *patches: Mapping[str, Any]) -> AdmissionResponse:
    """Allow the request with a changed object: `patches` are operations of a JSON patch."""
    return AdmissionResponse(True, Status(200, "", message), patches)


def patch_response(original: Document, current: Document) -> AdmissionResponse:
    """Allow the request with `current` instead of `original`, the object of the request."""
    return AdmissionResponse(True, Status(200, "", ""), json_diff(original, current))


def _status_document(status: Status) -> Document:
    document: Document = {"metadata": {}}
    if not status.code or status.code < 400:
        document["code"] = status.code or 200
        if status.message:
            document["message"] = status.message
        return document
    full = status.document()
    return {key: value for key, value in full.items() if key not in ("kind", "apiVersion")}


class _WireName(msgspec.Struct):
    """A kind or a resource."""

    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""

    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.resource)


class _WireRequest(msgspec.Struct, rename="camel", gc=False):
    """The fields of an AdmissionRequest as a review has them. A field that is absent counts as empty."""

    uid: str = ""
    kind: _WireName = msgspec.field(default_factory=_WireName)
    resource: _WireName = msgspec.field(default_factory=_WireName)
    subresource: str = msgspec.field(default="", name="subResource")
    request_kind: _WireName | None = None
    request_resource: _WireName | None = None
    request_subresource: str = msgspec.field(default="", name="requestSubResource")
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = msgspec.field(default_factory=UserInfo)
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool | None = None
    options: dict[str, Any] | None = None


def decoded(document: Document | None, kind: KindOf[O], field: str = "object") -> O:
    """An object of a class, which remembers its document, or `Unstructured` with a copy of it for a GroupVersionKind.

    Raises DecodeError if there is no document (`field` is its place in the review), if it is of another kind than the
    class, or if the class cannot hold it.
    """
    if not document:
        raise DecodeError(f"there is no content to decode: the request has no {field}")
    if not (isinstance(kind, type) and issubclass(kind, Resource)):
        return cast("O", Unstructured(copied(document)))  # so that the request still has the state before
    check_kind(document, kind.__resource__.gvk, f"the {field} of the request")
    return cast("O", objects.decode(kind, msgspec.json.encode(document)))
