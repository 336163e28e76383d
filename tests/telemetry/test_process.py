"""The metrics of the process and of Python."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import pytest

from pilotage.telemetry import process
from pilotage.telemetry.metrics import Registry


def values() -> dict[str, float]:
    registry = Registry()
    process.register(registry)
    process.register(registry)  # a second time has no effect
    lines = [line.rpartition(" ") for line in registry.render().splitlines() if not line.startswith("#")]
    assert len(lines) == len({name for name, _, _ in lines})
    return {name: float(value) for name, _, value in lines}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc on this system")
def test_the_metrics_of_the_process_are_those_that_the_system_reports() -> None:
    before = values()
    with open(os.devnull, encoding="utf-8"):
        open_now = values()
    assert open_now["process_open_fds"] == before["process_open_fds"] + 1
    assert open_now["process_open_fds"] <= open_now["process_max_fds"]
    assert 0 < before["process_resident_memory_bytes"] < before["process_virtual_memory_bytes"]
    assert 0 < before["process_start_time_seconds"] <= time.time() + 1
    assert before["process_cpu_seconds_total"] == pytest.approx(sum(os.times()[:2]), abs=1.0)


def test_the_wait_of_a_thread_for_a_cpu_only_grows_and_is_0_where_it_is_not_known() -> None:
    own = threading.get_native_id()
    assert 0 <= process.cpu_wait_seconds(own) <= process.cpu_wait_seconds(own)
    assert process.cpu_wait_seconds(-1) == 0


def test_collections_of_garbage_are_counted_by_generation() -> None:
    before = values()
    gc.collect(2)
    after = values()
    name = 'python_gc_collections_total{generation="2"}'
    assert after[name] == before[name] + 1
    assert sum(key.startswith("python_info{version=") for key in after) == 1


def test_a_system_without_proc_has_the_metrics_of_python_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(path: str) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(process, "_text", absent)
    assert {name.partition("_")[0] for name in values()} == {"python"}
