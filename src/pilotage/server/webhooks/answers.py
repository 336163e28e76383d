"""Decodes and checks the answers of webhook servers, with the messages of kube-apiserver."""

from __future__ import annotations

from typing import Any

import msgspec

from pilotage.codec.gonames import SCHEME, TYPE_META
from pilotage.errors import ConnectionLost, DecodeError
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.text import gojson, jsontext

_BY_STATUS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "the server does not allow access to the requested resource",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_MAX_TEXT = 2048


class AnswerError(Exception):
    """An answer that is not a review of the right kind."""


def decoded(body: bytes, status: int, content_type: str) -> Any:
    """The JSON of an answer. Raises AnswerError."""
    if not 200 <= status < 300:
        raise AnswerError(_failed(status, body, content_type))
    if not body:
        raise AnswerError(f"0-length response with status code: {status} and content type: {content_type}")
    try:
        return gojson.read(body)
    except (DecodeError, UnicodeDecodeError) as error:
        raise AnswerError(f"couldn't get version/kind; json parse error: {error}") from None


def checked(document: Any, kind: GroupVersionKind) -> Document:
    """An answered review of a kind, or of no kind, which some checks allow. Raises AnswerError."""
    if not isinstance(document, dict):
        reason = f"json: cannot unmarshal {jsontext.json_type(document)} into Go value of type {TYPE_META}"
        raise AnswerError(f"couldn't get version/kind; json parse error: {reason}")
    group, _, version = str(document.get("apiVersion") or "").rpartition("/")
    found = GroupVersionKind(group, version, str(document.get("kind") or ""))
    if found == kind or not (found.kind or found.version):
        return document
    if found.group == kind.group and found.kind == kind.kind and found.version in ("v1", "v1beta1"):
        raise AnswerError(
            f"converting ({found.version}.{kind.kind}) to ({kind.version}.{kind.kind}): unknown conversion"
        )
    raise AnswerError(f'no kind "{found.kind}" is registered for version "{found.api_version}" in scheme "{SCHEME}"')


def lost_connection(lost: ConnectionLost, address: str) -> str:
    """Why a webhook could not be reached, in Go's words where it has short ones for it."""
    from ssl import SSLCertVerificationError  # only a program that calls webhooks loads it

    cause: BaseException | None = lost
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    if lost.timed_out:
        return "context deadline exceeded"
    if isinstance(cause, ConnectionRefusedError):
        return f"dial tcp {address}: connect: connection refused"
    if isinstance(cause, SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {cause.verify_message}"
    if isinstance(cause, ConnectionLost) and "ended before the response" in str(cause):
        return "EOF"
    if isinstance(cause, ConnectionLost) and "ended in the middle of" in str(cause):
        return "unexpected EOF"
    return str(cause or lost)


def _failed(status: int, body: bytes, content_type: str) -> str:
    """The message of an answer with another status than success: the message of a Status, or the text for its code."""
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        document = None
    if isinstance(document, dict) and document.get("kind") == "Status" and document.get("message"):
        return str(document["message"])[:_MAX_TEXT]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        plain = body[:_MAX_TEXT].decode("utf-8", "replace").strip() if content_type.startswith("text/") else ""
        return f"an error on the server ({gojson.quoted(plain or 'unknown')}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"
