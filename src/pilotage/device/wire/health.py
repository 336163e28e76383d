"""The messages of gRPC's health service: whether a service, or the whole server, is up."""

from __future__ import annotations

import enum

from pilotage.device.wire.generation import method_path
from pilotage.device.wire.messages import GRPC, classes, parsed

_PACKAGE = "grpc.health.v1"
SERVICE = f"{_PACKAGE}.Health"
CHECK = method_path("Check", _PACKAGE, "Health")
WATCH = method_path("Watch", _PACKAGE, "Health")
"""A stream: the status now, and each time it changes."""


class ServingStatus(enum.IntEnum):
    """How a service is. Check answers NOT_FOUND for one that it does not know, Watch SERVICE_UNKNOWN."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3


def encode_request(service: str = "") -> bytes:
    """A question about a service; an empty name asks about the server."""
    data: bytes = classes(GRPC)[f"{_PACKAGE}.HealthCheckRequest"](service=service).SerializeToString()
    return data


def decode_request(message: bytes) -> str:
    """The name of the service that is asked about. Raises DecodeError."""
    service: str = parsed(classes(GRPC)[f"{_PACKAGE}.HealthCheckRequest"], message).service
    return service


def encode_response(status: ServingStatus) -> bytes:
    """The answer."""
    data: bytes = classes(GRPC)[f"{_PACKAGE}.HealthCheckResponse"](status=status.value).SerializeToString()
    return data


def decode_response(message: bytes) -> ServingStatus:
    """What was answered; UNKNOWN for a status that is not known here. Raises DecodeError."""
    status: int = parsed(classes(GRPC)[f"{_PACKAGE}.HealthCheckResponse"], message).status
    return ServingStatus(status) if status in list(ServingStatus) else ServingStatus.UNKNOWN
