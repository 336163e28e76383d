"""The messages of gRPC's health service."""

from __future__ import annotations

import pytest

from pilotage.device.wire import health
from pilotage.device.wire.health import ServingStatus
from pilotage.errors import DecodeError


def test_the_bytes_are_those_of_the_protocol() -> None:
    assert health.decode_request(b"\x0a\x01a") == "a"
    assert health.encode_response(ServingStatus.SERVING) == b"\x08\x01"
    assert (health.CHECK, health.WATCH) == ("/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch")


def test_the_whole_server_is_asked_about_without_a_name() -> None:
    assert health.decode_request(b"") == ""


def test_nonsense_cannot_be_read() -> None:
    with pytest.raises(DecodeError, match="as HealthCheckRequest"):
        health.decode_request(b"\xff")
