"""A small registry of metrics that prints Prometheus' text format. Costs nothing to import and little to use.

    reconciles = REGISTRY.counter("reconciles_total", "Reconciles by controller.", ("controller",))
    reconciles.labels("database").inc()

Keep the result of `labels` if the values are fixed: counting is then one call.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METRICS_PATH = "/metrics"
"""The path where a program serves its metrics."""
DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MAX_LABEL_SETS = 1000
"""Sets of label values that one metric keeps apart by default; all further ones share a set called `other`."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_OTHER = "other"


class Sample(NamedTuple):
    """One line of the text format: a name with its suffix, labels, a value."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


class MetricDefinition(NamedTuple):
    """The definition of a metric."""

    type: str
    name: str
    help: str
    labels: tuple[str, ...]
    max_label_sets: int
    buckets: tuple[float, ...] = ()


Collector = Callable[[], Iterable[tuple[MetricDefinition, list[Sample]]]]
"""Computes metrics with their samples when they are read."""


class CounterChild:
    """A number that only increases."""

    __slots__ = ("_lock", "_value")

    def __init__(self) -> None:
        self._value = 0.0
        self._lock = threading.Lock()  # reconcilers run in threads too

    @property
    def value(self) -> float:
        return self._value

    def inc(self, amount: float = 1.0) -> None:
        if not amount >= 0:
            raise ValueError(f"a counter cannot decrease: the amount {amount} is negative")
        with self._lock:
            self._value += amount

    def samples(self) -> Iterator[tuple[str, str, float]]:
        yield "", "", self._value


class GaugeChild:
    """A number that can increase and decrease, or is computed when it is read."""

    __slots__ = ("_function", "_lock", "_value")

    def __init__(self) -> None:
        self._value = 0.0
        self._function: Callable[[], float] | None = None
        self._lock = threading.Lock()

    @property
    def value(self) -> float:
        return self._value if self._function is None else self._function()

    def set(self, value: float) -> None:
        self._value = value

    def inc(self, amount: float = 1.0) -> None:
        with self._lock:
            self._value += amount

    def dec(self, amount: float = 1.0) -> None:
        with self._lock:
            self._value -= amount

    def set_function(self, function: Callable[[], float]) -> None:
        """Call `function` for the value each time the metrics are read."""
        self._function = function

    def samples(self) -> Iterator[tuple[str, str, float]]:
        yield "", "", float(self.value)


class HistogramChild:
    """The number of values in each bucket."""

    __slots__ = ("_bounds", "_counts", "_lock", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return sum(self._counts)

    @property
    def sum(self) -> float:
        return self._sum

    def observe(self, value: float) -> None:
        with self._lock:
            self._counts[bisect_left(self._bounds, value)] += 1
            self._sum += value

    def samples(self) -> Iterator[tuple[str, str, float]]:
        with self._lock:
            counts, total = list(self._counts), self._sum
        seen = 0
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            seen += count
            yield "_bucket", number(bound), float(seen)
        yield "_sum", "", total
        yield "_count", "", float(seen)


Child = TypeVar("Child", CounterChild, GaugeChild, HistogramChild)


class Metric(Generic[Child]):
    """A metric with its children, one for each set of label values. Without labels it has just one: `labels()`."""

    def __init__(self, definition: MetricDefinition, make: Callable[[], Child]) -> None:
        self.definition = definition
        self._make: Callable[[], Child] = make
        self._children: dict[tuple[str, ...], Child] = {}
        self._lock = threading.Lock()
        if not definition.labels:
            self.labels()  # exists, with 0, before the first change

    def labels(self, *values: str) -> Child:
        """The child with these label values, in the order of the definition."""
        child = self._children.get(values)
        return child if child is not None else self._new(values)

    def remove(self, *values: str) -> None:
        """Remove a child, if it exists."""
        with self._lock:
            self._children.pop(values, None)

    def _new(self, values: tuple[str, ...]) -> Child:
        definition = self.definition
        if len(values) != len(definition.labels):
            raise ValueError(f"{definition.name} has the labels {', '.join(definition.labels) or 'none'}, got {values}")
        with self._lock:
            values = tuple(str(value) for value in values)
            if values not in self._children and len(self._children) >= definition.max_label_sets:
                values = (_OTHER,) * len(values)
            return self._children.setdefault(values, self._make())

    def samples(self) -> Iterator[Sample]:
        with self._lock:
            children = list(self._children.items())
        name = self.definition.name
        for values, child in children:
            labels: tuple[tuple[str, str], ...] = tuple(zip(self.definition.labels, values, strict=True))
            for ending, bound, value in child.samples():
                yield Sample(name + ending, (*labels, ("le", bound)) if bound else labels, value)


class Registry:
    """Metrics by name. A name that exists returns its metric, if the definition is the same."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric[CounterChild] | Metric[GaugeChild] | Metric[HistogramChild]] = {}
        self._collectors: dict[Collector, None] = {}
        self._lock = threading.Lock()

    def counter(
        self, name: str, help_: str, labels: Sequence[str] = (), *, max_label_sets: int = MAX_LABEL_SETS
    ) -> Metric[CounterChild]:
        """A number that only increases; by convention its name ends in `_total`."""
        return self._metric(MetricDefinition("counter", name, help_, tuple(labels), max_label_sets), CounterChild)

    def gauge(
        self, name: str, help_: str, labels: Sequence[str] = (), *, max_label_sets: int = MAX_LABEL_SETS
    ) -> Metric[GaugeChild]:
        """A number that can increase and decrease."""
        return self._metric(MetricDefinition("gauge", name, help_, tuple(labels), max_label_sets), GaugeChild)

    def histogram(
        self,
        name: str,
        help_: str,
        labels: Sequence[str] = (),
        *,
        buckets: Sequence[float] = DEFAULT_BUCKETS,
        max_label_sets: int = MAX_LABEL_SETS,
    ) -> Metric[HistogramChild]:
        """A distribution of values, in buckets by upper bound; the bucket +Inf always exists."""
        bounds = tuple(float(bound) for bound in buckets)
        if any(not lower < upper for lower, upper in pairwise(bounds)):
            raise ValueError(f"the buckets of {name} must be increasing: {bounds}")
        definition = MetricDefinition("histogram", name, help_, tuple(labels), max_label_sets, bounds)
        return self._metric(definition, lambda: HistogramChild(bounds))

    def add_collector(self, collector: Collector) -> None:
        """Call a function each time the metrics are read, for metrics that it computes. One that is added is kept."""
        with self._lock:
            self._collectors[collector] = None

    def collect(self, *, computed: bool = True) -> Iterator[tuple[MetricDefinition, list[Sample]]]:
        """Every metric with its samples, by name, then the metrics of collectors, if `computed`."""
        with self._lock:
            metrics, collectors = sorted(self._metrics.items()), list(self._collectors) if computed else []
        for _, metric in metrics:
            yield metric.definition, list(metric.samples())
        for collector in collectors:
            yield from collector()

    def render(self) -> str:
        """All metrics as Prometheus' text."""
        return render(self.collect())

    def _metric(self, definition: MetricDefinition, make: Callable[[], Child]) -> Metric[Child]:
        _check(definition)
        with self._lock:
            known = self._metrics.get(definition.name)
            if known is None:
                made = Metric(definition, make)
                self._metrics[definition.name] = made
                return made
        if known.definition != definition:
            raise ValueError(f"the metric {definition.name} exists already, with another definition")
        return known  # type: ignore[return-value]  # of the same definition, so of the same type


REGISTRY = Registry()
"""The process's metrics."""


def render(collected: Iterable[tuple[MetricDefinition, list[Sample]]]) -> str:
    """Metrics as Prometheus' text."""
    lines: list[str] = []
    for definition, samples in collected:
        lines.append(f"# HELP {definition.name} {_escaped(definition.help)}")
        lines.append(f"# TYPE {definition.name} {definition.type}")
        lines += [f"{name}{_labels(labels)} {number(value)}" for name, labels, value in samples]
    return "\n".join([*lines, ""])


def number(value: float) -> str:
    """A number as Prometheus writes it."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _check(definition: MetricDefinition) -> None:
    if not _NAME.fullmatch(definition.name):
        raise ValueError(f"{definition.name!r} is not the name of a metric: letters, digits, '_' and ':'")
    for label in definition.labels:
        if not _LABEL.fullmatch(label) or label.startswith("__") or (label == "le" and definition.buckets):
            raise ValueError(f"{label!r} is not the name of a label of {definition.name}: letters, digits and '_'")


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    quoted = [f'{name}="{_escaped(value, quote=True)}"' for name, value in labels]
    return "{" + ",".join(quoted) + "}"


def _escaped(text: str, *, quote: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").encode(errors="replace").decode()
    return text.replace('"', '\\"') if quote else text
