"""gRPC codes and Kubernetes errors, each as the other: one table for the server, one for the client, one for watches.

An error of an API server says more than a gRPC code can, so its Status travels beside the code, and is what counts
where it came along. The tables are for the others: clients and servers of NVIDIA's, which know the codes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
"""Characters of a message that travel: metadata are small (8 KiB with many a client), and a message is shown whole."""

LONGEST_STATUS = 3600
"""Bytes of a Status that travel; of a longer one the causes are left out."""

UNSUPPORTED_MEDIA_TYPE = "unsupported media type:"
UNPROCESSABLE_CONTENT = "unprocessable content:"
"""How the message of INVALID_ARGUMENT begins where 415 and 422 are meant: so NVIDIA's clients and servers of V8 tell
them from 400."""

NO_TELEMETRY = (
    "the Device API server does not serve telemetry: it is a service of Pilotage's own, which NVIDIA's servers do not "
    "have. Read it from `pilotage device serve`, or from the node's DCGM exporter"
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
    RequestTooLarge: Code.INVALID_ARGUMENT,  # not RESOURCE_EXHAUSTED, upon which clients try again
    UnsupportedMediaType: Code.INVALID_ARGUMENT,
    Invalid: Code.INVALID_ARGUMENT,
    TooManyRequests: Code.RESOURCE_EXHAUSTED,
    InternalError: Code.INTERNAL,
    ServiceUnavailable: Code.UNAVAILABLE,
    Timeout: Code.UNAVAILABLE,
}
"""What the server says, by the class of the error."""

_READ_ONLY = "servers of the wire generations V1, V2 and V3 are read-only (get, list and watch)"
_MISSING: Mapping[str, str] = {
    "CreateGpu": _READ_ONLY,
    "UpdateGpu": _READ_ONLY,
    "DeleteGpu": _READ_ONLY,
    "UpdateGpuStatus": f"{_READ_ONLY}, and those of V5 have no UpdateGpuStatus",
    "PatchGpu": f"{_READ_ONLY}, and those of V5 and V6 have no PatchGpu: update the whole GPU instead",
    "Heartbeat": "no server of NVIDIA's has heartbeats",
}
"""Why a server may lack a method."""
_MISSING_ANY = f"{_READ_ONLY}, those of V5 have no UpdateGpuStatus, those of V5 and V6 no PatchGpu"

_PREFIXES: Mapping[type[ApiError], str] = {
    UnsupportedMediaType: UNSUPPORTED_MEDIA_TYPE,
    Invalid: UNPROCESSABLE_CONTENT,
}

_CODES_BY_STATUS = {error.code: code for error, code in _CODES.items() if error is not AlreadyExists}
"""The same for errors whose reason has no class."""

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
"""What a client makes of a code that came without a Status."""

_WATCH_ERRORS: Mapping[Code, type[ApiError]] = {
    Code.INVALID_ARGUMENT: Gone,
    Code.RESOURCE_EXHAUSTED: Gone,
}
"""Where a watch differs: what may be wrong is the version to go on from, or how far one has fallen behind, and both are
mended by a list."""


def rpc_error(error: ApiError) -> RPCError:
    """What a gRPC server says to a client that was refused something, the Status with it."""
    status = error.status
    code = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), None)
    if code is None:
        code = _CODES_BY_STATUS.get(status.code, Code.INTERNAL)
    prefix = next((text for kind, text in _PREFIXES.items() if isinstance(error, kind)), "")
    return RPCError(code, _shortened(f"{prefix} {status.message}".lstrip()), trailers=_trailers(status))


def api_error(error: RPCError, *, watch: bool = False, method: str = "") -> PilotageError:
    """What a client raises for an answer that is not OK; `watch` where it ended a watch, or kept one from beginning.
    `method` is the bare name of what was called.

    The Status that came along is what counts. CANCELLED without one is ConnectionLost: the server let go of the call
    before it was answered, and nobody knows how far it had come. INVALID_ARGUMENT is 415 or 422 by its prefix.
    """
    status = _status_of(error.trailers.get(STATUS_METADATA, b""))
    if status is not None:
        return from_status(status)
    if error.code is Code.CANCELLED:
        return ConnectionLost(f"the Device API server gave up the call: {error.message or 'cancelled'}")
    if error.code is Code.INVALID_ARGUMENT:
        for kind, prefix in _PREFIXES.items():
            if error.message.startswith(prefix):
                return kind(error.message.removeprefix(prefix).strip() or kind.__name__)
    if error.code is Code.UNIMPLEMENTED:
        return _missing(method, error.message or error.code.name)
    leaf = (_WATCH_ERRORS.get(error.code) if watch else None) or _ERRORS.get(error.code, InternalError)
    return leaf(error.message or f"the Device API server answered {error.code.name} without a message")


def _missing(method: str, said: str) -> MethodNotSupported:
    if method in ("GetGpu", "ListGpus", "WatchGpus"):
        return MethodNotSupported(f"the server has no {method}: is it a Device API server? ({said})")
    what, why = f"method {method}" if method else "such method", _MISSING.get(method, _MISSING_ANY)
    advice = "Write through a server that has it, such as `pilotage device serve`"
    return MethodNotSupported(f"the Device API server has no {what}: {why}. {advice} ({said})")


def _trailers(status: Status) -> dict[str, bytes]:
    data = _portable(status)
    return {STATUS_METADATA: data} if data else {}


def _portable(status: Status) -> bytes:
    """The Status as JSON, if need be without its causes, so that it fits into metadata."""
    document = msgspec.json.encode(status.document())
    if len(document) <= LONGEST_STATUS:
        return document
    details = replace(status.details, causes=()) if status.details is not None else None
    for candidate in (details, None):
        short = replace(status, message=_shortened(status.message), details=candidate, continue_token="")
        document = msgspec.json.encode(short.document())
        if len(document) <= LONGEST_STATUS:
            return document
    return b""  # even the reason is a novel: the code has to do


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
