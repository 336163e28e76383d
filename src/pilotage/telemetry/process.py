"""The metrics of the process and of Python, with the names of Prometheus' client for Python.

Metrics that need /proc are omitted on systems without it.
"""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Iterator

from pilotage.telemetry.metrics import REGISTRY, MetricDefinition, Registry, Sample

_GC = (
    ("python_gc_objects_collected_total", "Objects collected during gc", "collected"),
    ("python_gc_objects_uncollectable_total", "Uncollectable objects found during GC", "uncollectable"),
    ("python_gc_collections_total", "Number of times this generation was collected", "collections"),
)
_USER, _SYSTEM, _START, _VIRTUAL, _RESIDENT = 11, 12, 19, 20, 21
"""The places of fields in /proc/self/stat, counted from the state of the process."""


def register(registry: Registry = REGISTRY) -> None:
    """Add the metrics of the process and of Python to a registry, if it does not have them."""
    registry.add_collector(collect)


def collect() -> Iterator[tuple[MetricDefinition, list[Sample]]]:
    """All of them, as they are now."""
    yield from _process()
    major, minor, patch = platform.python_version_tuple()
    info = {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "major": major,
        "minor": minor,
        "patchlevel": patch,
    }
    yield _metric("gauge", "python_info", "Python platform information", [(info, 1.0)])
    statistics = gc.get_stats()
    for name, text, field in _GC:
        values = [({"generation": str(generation)}, float(found[field])) for generation, found in enumerate(statistics)]
        yield _metric("counter", name, text, values)


def cpu_wait_seconds(thread: int) -> float:
    """How long a thread, given by its native id, has been ready to run and has waited for a CPU; 0 where the system
    does not count this."""
    try:
        return int(_text(f"/proc/self/task/{thread}/schedstat").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _process() -> Iterator[tuple[MetricDefinition, list[Sample]]]:
    try:
        import resource  # only on Unix

        fields = _text("/proc/self/stat").rpartition(")")[2].split()
        booted = next(line for line in _text("/proc/stat").splitlines() if line.startswith("btime "))
        descriptors = len(os.listdir("/proc/self/fd")) - 1  # without the descriptor of the folder itself
    except (ImportError, OSError):  # not Linux, or no access
        return
    ticks = os.sysconf("SC_CLK_TCK")
    for kind, name, text, value in (
        ("gauge", "process_virtual_memory_bytes", "Virtual memory size in bytes.", float(fields[_VIRTUAL])),
        (
            "gauge",
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            float(fields[_RESIDENT]) * resource.getpagesize(),
        ),
        (
            "gauge",
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            float(booted.split()[1]) + float(fields[_START]) / ticks,
        ),
        (
            "counter",
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            (float(fields[_USER]) + float(fields[_SYSTEM])) / ticks,
        ),
        ("gauge", "process_open_fds", "Number of open file descriptors.", float(descriptors)),
        (
            "gauge",
            "process_max_fds",
            "Maximum number of open file descriptors.",
            float(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        ),
    ):
        yield _metric(kind, name, text, [({}, value)])


def _metric(
    kind: str, name: str, text: str, values: list[tuple[dict[str, str], float]]
) -> tuple[MetricDefinition, list[Sample]]:
    samples = [Sample(name, tuple(labels.items()), value) for labels, value in values]
    return MetricDefinition(kind, name, text, tuple(values[0][0]), sys.maxsize), samples


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
