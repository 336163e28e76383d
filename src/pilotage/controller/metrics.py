"""A controller's metrics, under controller-runtime's names."""

from __future__ import annotations

from pilotage.telemetry.metrics import REGISTRY

RESULTS = ("error", "requeue_after", "requeue", "success")

_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)


class ControllerMetrics:
    """The metrics of one controller; all exist, with the value 0, from the start."""

    def __init__(self, controller: str) -> None:
        labels = ("controller",)

        total = REGISTRY.counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ("controller", "result"),
        )
        self.results = {result: total.labels(controller, result).inc for result in RESULTS}
        self.errors = REGISTRY.counter(
            "controller_runtime_reconcile_errors_total", "Total number of reconciliation errors per controller", labels
        ).labels(controller)
        self.terminal_errors = REGISTRY.counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
            labels,
        ).labels(controller)
        self.panics = REGISTRY.counter(
            "controller_runtime_reconcile_panics_total", "Total number of reconciliation panics per controller", labels
        ).labels(controller)
        self.timeouts = REGISTRY.counter(
            "controller_runtime_reconcile_timeouts_total",
            "Total number of reconciliation timeouts per controller",
            labels,
        ).labels(controller)
        self.stale = REGISTRY.counter(
            "stale_sync_skips_total",
            "Total number of reconciles that ended because the cache did not show an own write in time",
            (*labels, "group", "resource"),
        )
        self.seconds = REGISTRY.histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            labels,
            buckets=_BUCKETS,
        ).labels(controller)
        self.workers = REGISTRY.gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            labels,
        ).labels(controller)
        self.active = REGISTRY.gauge(
            "controller_runtime_active_workers", "Number of currently used workers per controller", labels
        ).labels(controller)
