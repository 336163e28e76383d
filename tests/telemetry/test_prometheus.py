from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from pilotage.telemetry import process
from pilotage.telemetry.metrics import Registry
from pilotage.telemetry.prometheus import collector, join


class FakeMetric:
    def __init__(self, name: str, documentation: str, typ: str) -> None:
        self.head = (name, documentation, typ)
        self.samples: list[tuple[str, dict[str, str], float]] = []

    def add_sample(self, name: str, labels: dict[str, str], value: float) -> None:
        self.samples.append((name, labels, value))


class FakeRegistry:
    def __init__(self) -> None:
        self.collectors: list[Any] = []

    def register(self, collector: Any) -> None:
        self.collectors.append(collector)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    client: Any = ModuleType("prometheus_client")
    core: Any = ModuleType("prometheus_client.metrics_core")
    core.Metric = FakeMetric
    client.REGISTRY = FakeRegistry()
    monkeypatch.setitem(sys.modules, "prometheus_client", client)
    monkeypatch.setitem(sys.modules, "prometheus_client.metrics_core", core)
    return client


def test_without_prometheus_client_there_is_nothing_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "prometheus_client", raising=False)
    assert not join(Registry())


def test_our_metrics_are_collected_with_the_programs_own(client: Any) -> None:
    registry = Registry()
    registry.counter("runs_total", "Runs.", ("result",)).labels("ok").inc()
    process.register(registry)  # of which prometheus_client has its own
    assert join(registry)
    [metric] = client.REGISTRY.collectors[0].collect()
    assert metric.head == ("runs", "Runs.", "counter")
    assert metric.samples == [("runs_total", {"result": "ok"}, 1.0)]
    assert collector(registry).describe() == []
