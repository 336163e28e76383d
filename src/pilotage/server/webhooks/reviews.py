"""AdmissionReviews: the request to a webhook, and its checked answer."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.errors import ApiError, Status, from_status
from pilotage.meta.documents import Document
from pilotage.meta.text.jsontext import WRONG_TYPE

GROUP = "admission.k8s.io"
KIND = "AdmissionReview"
JSON_PATCH = "JSONPatch"
_GO_TYPES = {"bool": "bool", "str": "string", "array": "[]string", "object": "map[string]string"}
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


class _Response(msgspec.Struct, rename="camel"):
    uid: str | None = None
    allowed: bool | None = None
    status: dict[str, Any] | None = None
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
        raise ReviewError(_go_message(str(error))) from None


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
        status=response.status,
        patch=patch,
        patch_type=(response.patch_type or JSON_PATCH) if patch else "",
        warnings=tuple(response.warnings or ()),
        annotations=tuple((response.audit_annotations or {}).items()),
    )


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
    code = given.get("code")
    given["code"] = code if isinstance(code, int) and code >= 400 else 400
    return from_status(Status.from_document(given | {"message": message}))


def _go_message(message: str) -> str:
    found = WRONG_TYPE.fullmatch(message)
    if found is None:
        return f"json: {message}"
    wanted, got, path = found.groups()
    where = (path or "").lstrip(".").replace("[...]", "")
    go_type = _GO_TYPES.get(wanted.split(" | ")[0], wanted)
    target = f"Go struct field AdmissionResponse.{where} of type {go_type}"
    return f"json: cannot unmarshal {_JSON_TYPES.get(got, got)} into {target}"
