"""The messages of gRPC's health service: whether a service, or the whole server, is up."""

from __future__ import annotations

import enum

from pilotage.device.wire.generation import method_path
from pilotage.device.wire.messages import GRPC, classes, parsed

_PACKAGE = "grpc.health.v1"
CHECK = method_path("Check", _PACKAGE, "Health")
WATCH = method_path("Watch", _PACKAGE, "Health")
"""A stream: the status now, and each time it changes."""


class ServingStatus(enum.IntEnum):
    """The status of a service. For an unknown service, Check fails with NOT_FOUND and Watch sends SERVICE_UNKNOWN."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3


def decode_request(message: bytes) -> str:
    """Decode the service name of a request. Raises DecodeError."""
    service: str = parsed(classes(GRPC)[f"{_PACKAGE}.HealthCheckRequest"], message).service
    return service


def encode_response(status: ServingStatus) -> bytes:
    """Encode a response."""
    data: bytes = classes(GRPC)[f"{_PACKAGE}.HealthCheckResponse"](status=status.value).SerializeToString()
    return data
