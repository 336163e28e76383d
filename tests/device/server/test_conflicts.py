from __future__ import annotations

import pytest

from pilotage.device.server import merging
from pilotage.device.server.admission import REPEAT_SECONDS, ConditionConflicts
from pilotage.telemetry.lines import LogEvent

from .fakes import condition, status


def test_the_caller_is_warned_each_time_and_the_log_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    disputes = ConditionConflicts()
    for now in (0.0, 1.0, REPEAT_SECONDS - 1, REPEAT_SECONDS, REPEAT_SECONDS + 1):
        (warning,) = disputes.warnings("gpu-0", "dcgm", [("Ready", "nvml")], now)
        assert "'Ready'" in warning
        assert "'nvml'" in warning
    assert disputes.warnings("gpu-1", "dcgm", [("Ready", "nvml")], 1.0)  # another GPU is independent
    fields = [record.msg.fields for record in caplog.records if isinstance(record.msg, LogEvent)]
    assert [one["name"] for one in fields] == ["gpu-0", "gpu-0", "gpu-1"]
    assert fields[0] == {"name": "gpu-0", "type": "Ready", "owner": "nvml", "provider": "dcgm"}


def test_what_is_stored_and_sent_is_bounded() -> None:
    disputes = ConditionConflicts()
    for number in range(3000):
        disputes.warnings(f"gpu-{number}", "dcgm", [("Ready", "nvml")], 0.0)
    assert len(disputes._logged_at) <= 1024
    assert len(disputes.warnings("gpu-0", "dcgm", [(f"C{number}", "nvml") for number in range(32)], 0.0)) == 5


def test_only_a_changed_condition_of_another_provider_is_a_dispute() -> None:
    stored = merging.merged(
        {}, status(condition("Ready"), condition("Degraded", "False")), "nvml", "2024-01-01T00:00:00Z"
    )
    assert merging.ignored(stored, status(condition("Ready"), condition("Own")), "dcgm") == []
    assert merging.ignored(stored, status(condition("Ready", "False")), "nvml") == []
    assert merging.ignored(stored, status(condition("Ready", "False")), "dcgm") == [("Ready", "nvml")]
    lost = merging.lost(stored, "nvml", "silent", "2024-01-01T00:00:00Z")
    assert merging.ignored(lost, status(condition("Ready", "False")), "dcgm") == []
