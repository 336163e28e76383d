"""The messages of ProviderService: what is refused. Their bytes are in test_bytes."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.wire import providerservice
from pilotage.device.wire.providerservice import (
    Heartbeat,
    RegisterGPU,
    UnregisterGPU,
    UpdateGPUCondition,
    UpdateGPUStatus,
)
from pilotage.errors import BadRequest

from .samples import text

REQUESTS = [RegisterGPU, UnregisterGPU, UpdateGPUStatus, UpdateGPUCondition, Heartbeat]


def test_the_service_is_in_its_own_package() -> None:
    assert providerservice.provider_path("Heartbeat") == "/nvidia.device.v1alpha1.ProviderService/Heartbeat"


@pytest.mark.parametrize("message", [RegisterGPU, UnregisterGPU, UpdateGPUStatus, UpdateGPUCondition])
def test_a_request_without_a_name_is_refused(message: type[UnregisterGPU]) -> None:
    with pytest.raises(BadRequest, match="must not be empty"):
        message.decode(b"")


def test_a_heartbeat_may_name_no_gpu_but_not_nonsense() -> None:
    assert Heartbeat.decode(text(1, "p")) == Heartbeat("p", ())
    with pytest.raises(BadRequest, match="may not contain '/'"):
        Heartbeat.decode(text(1, "p") + text(2, "a/b"))


def test_an_update_needs_what_it_is_about() -> None:
    with pytest.raises(BadRequest, match="no status"):
        UpdateGPUStatus.decode(text(1, "gpu-0"))
    with pytest.raises(BadRequest, match="no condition with a type"):
        UpdateGPUCondition.decode(text(1, "gpu-0") + text(2, b""))


def test_an_empty_status_is_a_status() -> None:
    found = UpdateGPUStatus.decode(text(1, "gpu-0") + text(2, b""))
    assert found == UpdateGPUStatus("gpu-0", {"conditions": []}, "")
    assert UpdateGPUStatus.decode(found.encode()) == found


@given(st.sampled_from(REQUESTS), st.binary(max_size=48))
def test_whatever_a_provider_sends_is_read_or_refused(message: type[UnregisterGPU], data: bytes) -> None:
    with contextlib.suppress(BadRequest):
        message.decode(data)
