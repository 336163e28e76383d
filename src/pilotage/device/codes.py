"""gRPC codes and Kubernetes errors, each as the other: one table for the server, one for the client, one for watches.

An error of an API server says more than a gRPC code can, so its Status travels beside the code, and is what counts
where it came along. The tables are for the others: clients and servers of NVIDIA's, which know the codes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from pilotage.device.rpc import Code, RPCError
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

LONGEST_MESSAGE = 1024
"""Characters of a message that travel: metadata are small (8 KiB with many a client), and a message is shown whole."""

LONGEST_STATUS = 3600
"""Bytes of a Status that travel; of a longer one the causes are left out."""

READ_ONLY = (
    "the Device API server does not have this call: servers of the wire generations V2 and V3 are read-only (get, list "
    "and watch). Write through a server that has writes, such as `pilotage device serve`"
)

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
    return RPCError(code, _shortened(status.message), status=_portable(status))


def api_error(error: RPCError, *, watch: bool = False) -> PilotageError:
    """What a client raises for an answer that is not OK; `watch` where it ended a watch, or kept one from beginning.

    The Status that came along is what counts. CANCELLED without one is ConnectionLost: the server let go of the call
    before it was answered, and nobody knows how far it had come.
    """
    status = _status_of(error.status)
    if status is not None:
        return from_status(status)
    if error.code is Code.CANCELLED:
        return ConnectionLost(f"the Device API server gave up the call: {error.message or 'cancelled'}")
    leaf = (_WATCH_ERRORS.get(error.code) if watch else None) or _ERRORS.get(error.code, InternalError)
    message = error.message or f"the Device API server answered {error.code.name} and said nothing more"
    if leaf is MethodNotSupported:
        message = f"{READ_ONLY} ({error.message or error.code.name})"
    return leaf(message)


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
