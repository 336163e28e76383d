"""GPUs as table rows and as descriptions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.cli.device.description import description
from pilotage.cli.device.display import HEADINGS, WIDE_HEADINGS, name_of, row, telemetry_cells
from pilotage.cli.table import Table
from pilotage.device.providers.conditions import Status
from pilotage.device.telemetry import ECCErrors, Telemetry
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.meta.models import Condition, ObjectMeta

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
READY = Condition(type="Ready", status="True", reason="DriverReady", message="driver is posting ready status")


def gpu(*conditions: Condition, action: str | None = None) -> GPU:
    meta = ObjectMeta(name="gpu-0", resource_version="42", creation_timestamp=NOW - timedelta(seconds=90))
    status = GPUStatus(conditions=list(conditions), recommended_action=action)
    return GPU(metadata=meta, spec=GPUSpec(uuid="GPU-1"), status=status)


def test_a_good_gpu_shows_no_conditions() -> None:
    good = [Condition(type=kind, status="False", reason="Fine") for kind in ("Degraded", "ResetRequired")]
    watched = Condition(type="NVMLReady", status="True", reason="Initialized")
    assert row(gpu(READY, *good, watched), NOW) == ("gpu-0", "True", "", "90s", "")


def test_a_bad_gpu_shows_what_is_wrong_and_what_to_do() -> None:
    reset = Condition(type="ResetRequired", status="True", reason="DoubleBitECCError", message="XID 48")
    unknown = Condition(type="NVMLReady", status="Unknown", reason="")
    shown = row(gpu(READY, reset, unknown, action="COMPONENT_RESET"), NOW)
    assert shown[2:] == ("COMPONENT_RESET", "90s", "ResetRequired=True(DoubleBitECCError),NVMLReady=Unknown")


def test_a_gpu_without_conditions_is_unknown() -> None:
    assert row(gpu(), NOW) == ("gpu-0", "Unknown", "", "90s", "")


def test_a_gpu_that_is_only_not_ready_shows_why() -> None:
    assert row(gpu(Condition(type="Ready", status="False", reason="DriverNotReady")), NOW)[-1] == (
        "Ready=False(DriverNotReady)"
    )


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("XidError", "False", "True"),
        ("MemoryPressure", "False", "True"),
        ("MemoryHealthy", "True", "False"),
        ("DCGMHealth", "True", "Unknown"),
    ],
)
def test_a_fault_that_another_provider_reports_is_shown(kind: str, good: Status, bad: Status) -> None:
    assert row(gpu(READY, Condition(type=kind, status=good, reason="Fine")), NOW)[-1] == ""
    assert row(gpu(READY, Condition(type=kind, status=bad, reason="XID79")), NOW)[-1] == f"{kind}={bad}(XID79)"


def test_the_rows_of_gpus_that_are_well_fit_80_columns_with_uuids_as_names() -> None:
    named = gpu(READY)
    named.metadata.name = "gpu-00000000-0000-4000-8000-000000000000"
    lines = Table(HEADINGS).begin([row(named, NOW), row(gpu(READY), NOW)])
    assert max(map(len, lines)) <= 80
    broken = gpu(Condition(type="ResetRequired", status="True", reason="DoubleBitECCError"), action="COMPONENT_RESET")
    assert max(map(len, Table(HEADINGS).begin([row(broken, NOW)]))) <= 80


@pytest.mark.parametrize("word", ["gpu-1", "gpu/gpu-1", "gpus/gpu-1", "gpu.device.nvidia.com/gpu-1"])
def test_a_gpu_is_named_as_output_and_kubectl_name_it(word: str) -> None:
    assert name_of(word) == "gpu-1"
    assert name_of("other/gpu-1") == "other/gpu-1"


def test_the_wide_form_has_every_condition_the_version_and_the_message_that_matters() -> None:
    good = Condition(type="Degraded", status="False", reason="NotDegraded", message="fine")
    bad = Condition(type="ResetRequired", status="True", reason="NVLinkError", message="XID 74")
    shown = row(gpu(READY, good, bad), NOW, wide=True)
    assert shown[4] == "Degraded=False(NotDegraded),ResetRequired=True(NVLinkError)"
    assert shown[7:] == ("", "", "", "", "", "", "42", "XID 74")  # it has no telemetry
    assert row(gpu(READY, good), NOW, wide=True)[-1] == "driver is posting ready status"
    assert (len(row(gpu(), NOW)), len(shown)) == (len(HEADINGS), len(WIDE_HEADINGS))


READING = Telemetry(
    "gpu-0",
    provider="nvml",
    time=NOW - timedelta(seconds=2),
    temperature_celsius=31,
    power_usage_watts=76.5,
    power_limit_watts=700.0,
    gpu_utilization_percent=0,
    memory_used_bytes=2 * 1024**3,
    memory_total_bytes=140 * 1024**3,
    ecc_errors=ECCErrors(corrected_volatile=3, uncorrected_volatile=0),
    xid_errors={48: 1, 31: 2},
)


def test_the_wide_form_has_what_the_gpu_reads() -> None:
    shown = row(gpu(READY), NOW, wide=True, telemetry=READING)
    assert shown[7:13] == ("31C", "76/700W", "0%", "2/140GiB", "3/0", "31x2,48x1")


def test_what_a_gpu_does_not_read_is_not_shown_as_zero() -> None:
    assert telemetry_cells(Telemetry("gpu-0", power_limit_watts=700.0)) == ("", "?/700W", "", "", "", "")
    assert telemetry_cells(Telemetry("gpu-0", xid_errors={}))[5] == "0"


def test_a_description_has_the_object_its_conditions_and_what_it_reads() -> None:
    assert description(gpu(READY, action="RESTART_BM"), READING, NOW).splitlines() == [
        "Name:                     gpu-0",
        "UUID:                     GPU-1",
        "Labels:                   <none>",
        "Annotations:              <none>",
        "Created:                  2026-08-01T11:58:30Z (90s ago)",
        "Resource Version:         42",
        "Recommended Action:       RESTART_BM",
        "Conditions:",
        "  TYPE    STATUS   SINCE   REASON        MESSAGE",
        "  Ready   True     -       DriverReady   driver is posting ready status",
        "Telemetry:                read by nvml at 2026-08-01T11:59:58Z (2s ago)",
        "  Temperature:            31 C, <unknown> below the limit",
        "  Power:                  76.5 W of 700.0 W",
        "  GPU utilization:        0 %",
        "  Memory utilization:     <unknown>",
        "  Memory:                 2.0 GiB used, <unknown> free, 140.0 GiB total",
        "  Clocks:                 <unknown>",
        "  Corrected ECC errors:   3 since the last reset, <unknown> ever",
        "  Uncorrected ECC errors: 0 since the last reset, <unknown> ever",
        "  XID errors:             XID 31: 2, XID 48: 1",
        "  Processes:              <unknown>",
    ]


def test_a_description_has_the_reason_where_nothing_can_be_read() -> None:
    last = description(gpu(), Telemetry("gpu-0", unavailable="the GPU is lost"), NOW).splitlines()[-1]
    assert last == "Telemetry:                not available: the GPU is lost"
