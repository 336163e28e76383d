"""AdmissionReviews: the request to a webhook, and its checked answer."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from pilotage.errors import ApiError, Status, from_status
from pilotage.meta.documents import Document
from pilotage.meta.paths import value_at

GROUP = "admission.k8s.io"
KIND = "AdmissionReview"
JSON_PATCH = "JSONPatch"
_GO_TYPES = {"bool": "bool", "str": "string", "array": "[]string", "object": "map[string]string", "int": "int32"}
_GO_STRUCTS = (
    ("response.status.details.causes.", "StatusCause"),
    ("response.status.details.", "StatusDetails"),
    ("response.status.", "Status"),
)
_WRONG_VALUE = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`| [<>]= -?\d+)(?: - at `\$([^`]*)`)?")
"""As jsontext.WRONG_TYPE, and a number out of range."""
_MAX_CODE = 999
"""The largest code that the status line of an HTTP response can have."""
_JSON_TYPES = {"str": "string", "int": "number", "float": "number", "bool": "bool"}


class ReviewError(Exception):
    """An answer that breaks the rules of AdmissionReview."""


@dataclass(frozen=True, slots=True)
class WebhookDecision:
    """The decision of a webhook about a request."""

    allowed: bool
    status: Document | None = None
    patch: bytes = field(default=b"", repr=False)
    patch_type: str = ""
    warnings: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """For the audit log."""


_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]


class _Cause(msgspec.Struct):
    reason: str | None = None
    message: str | None = None
    field: str | None = None


class _Details(msgspec.Struct, rename="camel"):
    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    causes: list[_Cause] | None = None
    retry_after_seconds: _Int32 | None = None


class _Status(msgspec.Struct):
    """The types of a Status. Its fields are read by `Status.from_document`."""

    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None
    code: _Int32 | None = None


class _Response(msgspec.Struct, rename="camel"):
    uid: str | None = None
    allowed: bool | None = None
    status: _Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: list[str] | None = None
    audit_annotations: dict[str, str] | None = None


class _Review(msgspec.Struct):
    response: _Response | None = None


def review(version: str, uid: str, request: Document, new: Document | None, old: Document | None) -> Document:
    """The review that asks a webhook about a request."""
    asked = {"uid": uid} | request
    options = asked.pop("options", None)
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{version}",
        "request": asked | {"object": new, "oldObject": old, "options": options},
    }


def read_types(answer: Document) -> None:
    """Raise ReviewError if a field of an answer has a wrong type."""
    try:
        msgspec.convert(answer, _Review)
    except msgspec.ValidationError as error:
        raise ReviewError(_go_message(str(error), answer)) from None


def verdict(answer: Document, version: str, uid: str, *, mutating: bool) -> WebhookDecision:
    """The verdict of an answer whose types are right. Raises ReviewError."""
    response = msgspec.convert(answer, _Review).response
    if response is None:
        raise ReviewError("webhook response was absent")
    strict = version == "v1"  # the checks that v1beta1 does not have
    if strict:
        _check_identity(answer, response, uid)
    patch = _patch(response, mutating=mutating, strict=strict)
    return WebhookDecision(
        allowed=bool(response.allowed),
        status=_status(answer),
        patch=patch,
        patch_type=(response.patch_type or JSON_PATCH) if patch else "",
        warnings=tuple(response.warnings or ()),
        annotations=tuple((response.audit_annotations or {}).items()),
    )


def _status(answer: Document) -> Document | None:
    """The Status of an answer. Raises ReviewError if an HTTP response cannot have its code."""
    status: Document | None = answer["response"].get("status")
    code = (status or {}).get("code") or 0
    if code > _MAX_CODE:
        raise ReviewError(f"response.status.code is {code}, and the code of an HTTP response is at most {_MAX_CODE}")
    return status


def _check_identity(answer: Document, response: _Response, uid: str) -> None:
    if (response.uid or "") != uid:
        raise ReviewError(f'expected response.uid="{uid}", got "{response.uid or ""}"')
    api_version, kind = answer.get("apiVersion") or "", answer.get("kind") or ""
    if not api_version or not kind:
        group, _, version = api_version.rpartition("/")
        raise ReviewError(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {group}/{version}, Kind={kind}")


def _patch(response: _Response, *, mutating: bool, strict: bool) -> bytes:
    if not mutating:
        for name, value in (("patch", response.patch), ("patchType", response.patch_type)):
            if value is not None and strict and (value or name == "patchType"):
                raise ReviewError(f"validating webhook may not return response.{name}")
        return b""
    try:
        patch = base64.b64decode(response.patch or "", validate=True)
    except binascii.Error:
        raise ReviewError("illegal base64 data in response.patch") from None
    if strict:
        if patch and response.patch_type is None:
            raise ReviewError("webhook returned response.patch but not response.patchType")
        if not patch and response.patch_type is not None:
            raise ReviewError("webhook returned response.patchType but not response.patch")
        if response.patch_type == "":
            raise ReviewError('webhook returned invalid response.patchType of ""')
    return patch


def rejection(name: str, status: Document | None) -> ApiError:
    """The error of a request that a webhook has refused."""
    given = dict(status or {})
    prefix = f'admission webhook "{name}" denied the request'
    if given.get("message") or given.get("reason"):
        message = f"{prefix}: {given.get('message') or given['reason']}"
    else:
        message = f"{prefix} without explanation"
    given["code"] = max(given.get("code") or 0, 400)
    return from_status(Status.from_document(given | {"message": message}))


def _go_message(message: str, answer: Document) -> str:
    found = _WRONG_VALUE.fullmatch(message)
    if found is None:
        return f"json: {message}"
    wanted, got, path = found.groups()
    where = (path or "").lstrip(".").replace("[...]", "")
    go_type = _GO_TYPES.get(wanted.split(" | ")[0], wanted)
    shown = _JSON_TYPES.get(got, got) or "number"
    if go_type == "int32" and shown == "number":
        shown = f"{shown} {value_at(answer, where.split('.'))}"
    struct = next((name for place, name in _GO_STRUCTS if where.startswith(place)), "AdmissionResponse")
    return f"json: cannot unmarshal {shown} into Go struct field {struct}.{where} of type {go_type}"
