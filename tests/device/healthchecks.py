"""The client's side of gRPC's health service: the server has no need for it."""

from __future__ import annotations

from pilotage.device.wire.health import ServingStatus


def health_request(service: str = "") -> bytes:
    """A request for a service; the empty name is the server."""
    return bytes((0x0A, len(service))) + service.encode() if service else b""


def health_status(message: bytes) -> ServingStatus:
    """The status in a response, which has no other field; zero is left out."""
    return ServingStatus(message[1] if message else 0)
