"""The metrics of a queue, with the names of client-go and controller-runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pilotage.telemetry.metrics import REGISTRY

MAX_PRIORITIES = 25
"""Priorities with a series of their own in `workqueue_depth`; all further ones share one."""

EXCEEDED = "exceeded_cardinality_limit"

_LABELS = ("name", "controller")
_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


class QueueObserver:
    """Receives what happens in a queue; this one, of a queue without a name, does nothing. Times are seconds."""

    def ready(self, priority: int) -> None:
        pass

    def raised(self, before: int, after: int) -> None:
        pass

    def taken(self, priority: int, waited: float) -> None:
        pass

    def dropped(self, priority: int) -> None:
        pass

    def done(self, worked: float) -> None:
        pass

    def retried(self) -> None:
        pass


class QueueMetrics(QueueObserver):
    """The metrics of a queue with a name. `running` returns how many seconds each held item has been in progress."""

    def __init__(self, name: str, running: Callable[[], Iterable[float]]) -> None:
        self._name = name
        self._depth = REGISTRY.gauge(
            "workqueue_depth", "Current depth of workqueue by workqueue and priority", (*_LABELS, "priority")
        )
        adds = REGISTRY.counter("workqueue_adds_total", "Total number of adds handled by workqueue", _LABELS)
        waits = REGISTRY.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            _LABELS,
            buckets=_BUCKETS,
        )
        works = REGISTRY.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            _LABELS,
            buckets=_BUCKETS,
        )
        retries = REGISTRY.counter("workqueue_retries_total", "Total number of retries handled by workqueue", _LABELS)
        self._add = adds.labels(name, name).inc
        self._waited = waits.labels(name, name).observe
        self._worked = works.labels(name, name).observe
        self._retry = retries.labels(name, name).inc
        self._slots: dict[int, list[int]] = {}
        self._rest: list[int] | None = None
        self._compute_on_read(running)

    def ready(self, priority: int) -> None:
        (self._slots.get(priority) or self._slot(priority))[0] += 1
        self._add()

    def raised(self, before: int, after: int) -> None:
        self._slot(before)[0] -= 1
        self._slot(after)[0] += 1

    def taken(self, priority: int, waited: float) -> None:
        (self._slots.get(priority) or self._slot(priority))[0] -= 1
        self._waited(waited)

    def dropped(self, priority: int) -> None:
        self._slot(priority)[0] -= 1

    def done(self, worked: float) -> None:
        self._worked(worked)

    def retried(self) -> None:
        self._retry()

    def _slot(self, priority: int) -> list[int]:
        """The count of a priority. A priority keeps its series, so that the series returns to 0."""
        slot = self._slots.get(priority)
        if slot is not None:
            return slot
        if len(self._slots) < MAX_PRIORITIES:
            slot = self._slots[priority] = self._series(str(priority))
            return slot
        if self._rest is None:
            self._rest = self._series(EXCEEDED)
        return self._rest

    def _series(self, label: str) -> list[int]:
        slot = [0]
        self._depth.labels(self._name, self._name, label).set_function(lambda: slot[0])
        return slot

    def _compute_on_read(self, running: Callable[[], Iterable[float]]) -> None:
        """Set gauges that are computed when they are read: a value that is set would be outdated at once."""
        unfinished = REGISTRY.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. "
            "Large values indicate stuck threads.",
            _LABELS,
        )
        longest = REGISTRY.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            _LABELS,
        )
        unfinished.labels(self._name, self._name).set_function(lambda: float(sum(running())))
        longest.labels(self._name, self._name).set_function(lambda: float(max(running(), default=0.0)))
