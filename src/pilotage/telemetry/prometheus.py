"""The metrics of Pilotage in `prometheus_client`'s registry, for programs that use it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pilotage.telemetry.metrics import REGISTRY, Registry


def collector(registry: Registry = REGISTRY) -> PrometheusCollector:
    """A collector for `prometheus_client.REGISTRY.register`, which then exposes these metrics with the program's."""
    return PrometheusCollector(registry)


def join(registry: Registry = REGISTRY) -> bool:
    """Register with `prometheus_client`'s default registry if the program has imported it; returns whether it has."""
    client: Any = sys.modules.get("prometheus_client")
    if client is None:
        return False
    client.REGISTRY.register(collector(registry))
    return True


class PrometheusCollector:
    """Converts metrics to metrics of `prometheus_client` when they are collected."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def describe(self) -> list[Any]:
        """Empty, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Any]:
        metrics_core: Any = __import__("prometheus_client.metrics_core", fromlist=["Metric"])
        for definition, samples in self._registry.collect(computed=False):  # it has metrics of the process itself
            # prometheus_client appends the ending of a counter itself.
            name = definition.name.removesuffix("_total") if definition.type == "counter" else definition.name
            metric = metrics_core.Metric(name, definition.help, definition.type)
            for sample in samples:
                metric.add_sample(sample.name, dict(sample.labels), sample.value)
            yield metric
