"""The metrics of several processes as one: counters and histograms are added up, gauges have a label `process`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pilotage.telemetry.metrics import MetricDefinition, Registry, Sample, render

Collected = list[tuple[MetricDefinition, list[Sample]]]
_DECODER = msgspec.msgpack.Decoder(Collected)


def encode(registry: Registry) -> bytes:
    """The metrics of this process, for another one."""
    return msgspec.msgpack.encode(list(registry.collect()))


def decode(data: bytes) -> Collected:
    return _DECODER.decode(data)


def aggregate(processes: Mapping[str, Collected]) -> str:
    """The metrics of all processes, by the names of these, as Prometheus' text."""
    definitions: dict[str, MetricDefinition] = {}
    samples: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for process, collected in processes.items():
        for definition, found in collected:
            definitions.setdefault(definition.name, definition)
            added = samples.setdefault(definition.name, {})
            for name, labels, value in _labelled(definition, found, process):
                added[name, labels] = added.get((name, labels), 0.0) + value
    return render(
        (definition, [Sample(name, labels, value) for (name, labels), value in samples[definition.name].items()])
        for _, definition in sorted(definitions.items())
    )


def _labelled(definition: MetricDefinition, samples: Iterable[Sample], process: str) -> Iterable[Sample]:
    if definition.type != "gauge":
        return samples
    return [Sample(name, (*labels, ("process", process)), value) for name, labels, value in samples]
