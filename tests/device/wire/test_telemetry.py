"""The messages of TelemetryService."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.telemetry import ECCErrors, Telemetry
from pilotage.device.wire import telemetry as messages
from pilotage.device.wire.descriptors import descriptors
from pilotage.device.wire.generation import Generation
from pilotage.errors import BadRequest, DecodeError

from ..handmade import field, number

WHOLE = Telemetry(
    name="gpu-1",
    uuid="GPU-1",
    provider="nvml",
    time=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    temperature_celsius=31,
    temperature_margin_celsius=-2,
    power_usage_watts=76.5,
    power_limit_watts=700.0,
    gpu_utilization_percent=0,
    memory_utilization_percent=3,
    memory_used_bytes=600_000_000,
    memory_free_bytes=150_154_820_096,
    memory_total_bytes=150_754_820_096,
    clocks_megahertz={"sm": 345, "memory": 3201},
    ecc_errors=ECCErrors(0, 1, 2, 3),
    xid_errors={31: 2, 48: 1},
    processes=0,
)


def test_a_reading_comes_back_as_it_was_sent() -> None:
    assert messages.decode_got(messages.encode_got(WHOLE)) == WHOLE
    assert messages.decode_listed(messages.encode_listed([WHOLE, Telemetry("b")])) == [WHOLE, Telemetry("b")]
    assert messages.decode_report(messages.encode_report("nvml", [WHOLE])) == ("nvml", [WHOLE])


def test_the_bytes_are_those_of_the_published_numbers() -> None:
    reading = Telemetry("a", temperature_celsius=0, xid_errors={31: 2})
    inner = field(1, b"a") + b"\x30\x00" + field(16, b"") + field(17, field(1, b"\x08\x1f\x10\x02"))
    assert messages.decode_got(field(1, inner)) == reading
    assert messages.encode_get("gpu-1") == field(1, b"gpu-1")


def test_values_that_a_gpu_does_not_have_are_absent_and_zero_is_a_value() -> None:
    bare = messages.decode_got(messages.encode_got(Telemetry("gpu-1", temperature_celsius=0, xid_errors={})))
    assert (bare.temperature_celsius, bare.xid_errors) == (0, {})
    assert bare.power_usage_watts is None
    assert bare.ecc_errors == ECCErrors()
    assert messages.decode_got(messages.encode_got(Telemetry("gpu-1"))).xid_errors is None


def test_a_counter_that_no_message_can_hold_is_left_out_alone() -> None:
    odd = Telemetry("gpu-1", memory_used_bytes=2**64, temperature_celsius=31)
    assert messages.decode_got(messages.encode_got(odd)) == Telemetry("gpu-1", temperature_celsius=31)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (messages.encode_report("nvml", [Telemetry("a/b")]), "may not contain '/'"),
        (messages.encode_report("nvml", [Telemetry(f"gpu-{n}") for n in range(257)]), "the limit is 256"),
        (messages.encode_report("nvml", [Telemetry("a", unavailable="x" * 9000)]), "the limit is 8192"),
        (field(2, field(1, b"a") + field(4, number(1, 2**62))), "invalid time of the reading of 'a'"),
        (b"\xff", "as ReportTelemetryRequest"),
    ],
)
def test_a_report_that_cannot_be_kept_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        messages.decode_report(data)


@given(st.binary(max_size=64))
def test_whatever_a_caller_sends_is_read_or_refused(data: bytes) -> None:
    for decode in (messages.decode_get, messages.check_list, messages.decode_report):
        with contextlib.suppress(BadRequest):
            decode(data)
    for answer in (messages.decode_got, messages.decode_listed):
        with contextlib.suppress(DecodeError):
            answer(data)


@pytest.mark.parametrize("generation", list(Generation))
def test_reflection_describes_the_service_in_every_generation(generation: Generation) -> None:
    known = descriptors(generation)
    assert f"{messages.PACKAGE}.{messages.SERVICE}" in known.services
    assert known.containing(f"{messages.PACKAGE}.GpuTelemetry")
