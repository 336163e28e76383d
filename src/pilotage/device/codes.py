"""Conversion between gRPC codes and Kubernetes errors: a table for the server, one for the client, one for watches.

A Kubernetes Status has more information than a gRPC code, so it is sent beside the code and takes precedence. The
tables are for clients and servers that know only the codes, such as NVIDIA's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pilotage.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    ConnectionLost,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotSupported,
    NotAcceptable,
    NotFound,
    PilotageError,
    RequestTooLarge,
    ServiceUnavailable,
    Status,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
    from_status,
)
from pilotage.grpc.rpc import Code, RPCError

STATUS_METADATA = "kubernetes-status-bin"
"""Trailing metadata of a failed call: the Kubernetes Status as JSON, so that nothing of it is lost in a gRPC code."""

LONGEST_MESSAGE = 1024
"""Characters of a message that are sent: many clients limit metadata to 8 KiB."""

LONGEST_STATUS = 3600
"""Bytes of a Status that are sent; the causes of a longer one are omitted."""

UNSUPPORTED_MEDIA_TYPE = "unsupported media type:"
UNPROCESSABLE_CONTENT = "unprocessable content:"
"""Prefixes of the message of INVALID_ARGUMENT for 415 and 422: NVIDIA's clients and servers of V8 distinguish them from
400 by these."""

NO_TELEMETRY = (
    "the Device API server does not serve telemetry: TelemetryService is an extension of Pilotage that NVIDIA's "
    "servers do not have. Use `pilotage device serve`, or the node's DCGM exporter"
)

_CODES: Mapping[type[ApiError], Code] = {
    BadRequest: Code.INVALID_ARGUMENT,
    Unauthorized: Code.UNAUTHENTICATED,
    Forbidden: Code.PERMISSION_DENIED,
    NotFound: Code.NOT_FOUND,
    MethodNotSupported: Code.UNIMPLEMENTED,
    NotAcceptable: Code.INVALID_ARGUMENT,
    Conflict: Code.ABORTED,
    AlreadyExists: Code.ALREADY_EXISTS,
    Gone: Code.OUT_OF_RANGE,
    RequestTooLarge: Code.INVALID_ARGUMENT,  # not RESOURCE_EXHAUSTED, which clients retry
    UnsupportedMediaType: Code.INVALID_ARGUMENT,
    Invalid: Code.INVALID_ARGUMENT,
    TooManyRequests: Code.RESOURCE_EXHAUSTED,
    InternalError: Code.INTERNAL,
    ServiceUnavailable: Code.UNAVAILABLE,
    Timeout: Code.UNAVAILABLE,
}
"""The server's code for each class of errors."""

_READ_ONLY = "servers of the wire generations V1, V2 and V3 are read-only (get, list and watch)"
_MISSING: Mapping[str, str] = {
    "CreateGpu": _READ_ONLY,
    "UpdateGpu": _READ_ONLY,
    "DeleteGpu": _READ_ONLY,
    "UpdateGpuStatus": f"{_READ_ONLY}, and servers of V5 have no UpdateGpuStatus",
    "PatchGpu": f"{_READ_ONLY}, and servers of V5 and V6 have no PatchGpu: update the whole GPU instead",
    "Heartbeat": "no server of NVIDIA's has heartbeats",
}
"""Why a server may lack a method."""
_MISSING_ANY = f"{_READ_ONLY}, servers of V5 have no UpdateGpuStatus, servers of V5 and V6 no PatchGpu"

_PREFIXES: Mapping[type[ApiError], str] = {
    UnsupportedMediaType: UNSUPPORTED_MEDIA_TYPE,
    Invalid: UNPROCESSABLE_CONTENT,
}

_CODES_BY_STATUS = {error.code: code for error, code in _CODES.items() if error is not AlreadyExists}
"""The same by status code, for errors without a class of their own."""

_ERRORS: Mapping[Code, type[ApiError]] = {
    Code.UNKNOWN: InternalError,
    Code.INVALID_ARGUMENT: BadRequest,
    Code.DEADLINE_EXCEEDED: ServiceUnavailable,
    Code.NOT_FOUND: NotFound,
    Code.ALREADY_EXISTS: AlreadyExists,
    Code.PERMISSION_DENIED: Forbidden,
    Code.RESOURCE_EXHAUSTED: TooManyRequests,
    Code.FAILED_PRECONDITION: Conflict,
    Code.ABORTED: Conflict,
    Code.OUT_OF_RANGE: Gone,
    Code.UNIMPLEMENTED: MethodNotSupported,
    Code.INTERNAL: InternalError,
    Code.UNAVAILABLE: ServiceUnavailable,
    Code.DATA_LOSS: InternalError,
    Code.UNAUTHENTICATED: Unauthorized,
}
"""The client's error for a code without a Status."""

_WATCH_ERRORS: Mapping[Code, type[ApiError]] = {
    Code.INVALID_ARGUMENT: Gone,
    Code.RESOURCE_EXHAUSTED: Gone,
}
"""The differences for watches: the version may have expired, or the watch has fallen behind. A list fixes both."""


def rpc_error(error: ApiError) -> RPCError:
    """The gRPC error for a Kubernetes error, with the Status in its trailers."""
    status = error.status
    code = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), None)
    if code is None:
        code = _CODES_BY_STATUS.get(status.code, Code.INTERNAL)
    prefix = next((text for kind, text in _PREFIXES.items() if isinstance(error, kind)), "")
    return RPCError(code, _shortened(f"{prefix} {status.message}".lstrip()), trailers=_trailers(status))


def api_error(error: RPCError, *, watch: bool = False, method: str = "") -> PilotageError:
    """The error that a client raises for a gRPC error; `watch` if it ended or refused a watch. `method` is the bare
    name of the method.

    A Status in the trailers takes precedence. CANCELLED without one is ConnectionLost: the server dropped the call, and
    how much of it was done is unknown. INVALID_ARGUMENT is 415 or 422 by its prefix.
    """
    status = _status_of(error.trailers.get(STATUS_METADATA, b""))
    if status is not None:
        return from_status(status)
    if error.code is Code.CANCELLED:
        return ConnectionLost(f"the Device API server cancelled the call: {error.message or 'cancelled'}")
    if error.code is Code.INVALID_ARGUMENT:
        for kind, prefix in _PREFIXES.items():
            if error.message.startswith(prefix):
                return kind(error.message.removeprefix(prefix).strip() or kind.__name__)
    if error.code is Code.UNIMPLEMENTED:
        return _missing(method, error.message or error.code.name)
    leaf = (_WATCH_ERRORS.get(error.code) if watch else None) or _ERRORS.get(error.code, InternalError)
    return leaf(error.message or f"the Device API server returned {error.code.name} without a message")


def _missing(method: str, message: str) -> MethodNotSupported:
    if method in ("GetGpu", "ListGpus", "WatchGpus"):
        return MethodNotSupported(f"the server has no {method}: is it a Device API server? ({message})")
    what, why = f"method {method}" if method else "such method", _MISSING.get(method, _MISSING_ANY)
    advice = "Write through a server that has it, such as `pilotage device serve`"
    return MethodNotSupported(f"the Device API server has no {what}: {why}. {advice} ({message})")


def _trailers(status: Status) -> dict[str, bytes]:
    data = _portable(status)
    return {STATUS_METADATA: data} if data else {}


def _portable(status: Status) -> bytes:
    """The Status as JSON, without its causes if it would not fit into metadata otherwise."""
    document = msgspec.json.encode(status.document())
    if len(document) <= LONGEST_STATUS:
        return document
    details = status.details.replace(causes=()) if status.details is not None else None
    for candidate in (details, None):
        short = status.replace(message=_shortened(status.message), details=candidate, continue_token="")
        document = msgspec.json.encode(short.document())
        if len(document) <= LONGEST_STATUS:
            return document
    return b""  # the reason itself is too long: only the code is sent


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"


def _status_of(data: bytes) -> Status | None:
    if not data:
        return None
    try:
        document: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("kind") != "Status" or document.get("status") == "Success":
        return None
    return Status.from_document(document)
