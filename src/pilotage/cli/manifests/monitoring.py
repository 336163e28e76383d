"""A Grafana dashboard and alert rules of a program, from the metrics that its manager serves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from pilotage.meta.documents import Document

_SOURCE = "${datasource}"
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 3
"""Of a panel, in units of Grafana, which has 24 of them in a row."""


class Panel(NamedTuple):
    """One chart: its lines are queries with their legends."""

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    about: str = ""


class Alert(NamedTuple):
    """One alert rule."""

    name: str
    expression: str
    minutes: int
    summary: str
    severity: str = "warning"


def _rate(metric: str, by: str) -> str:
    return f"sum by ({by}) (rate({metric}[$__rate_interval]))"


def _quantile(part: float, metric: str, by: str) -> str:
    return f"histogram_quantile({part}, {_rate(f'{metric}_bucket', f'{by}, le')})"


PANELS = (
    Panel(
        "Reconciles",
        [
            (
                _rate("controller_runtime_reconcile_total", "controller, result"),
                "{{controller}} {{result}}",
            )
        ],
        "ops",
    ),
    Panel(
        "Errors",
        [(_rate("controller_runtime_reconcile_errors_total", "controller"), "{{controller}}")],
        "ops",
    ),
    Panel(
        "Duration of reconciles",
        [
            (
                _quantile(part, "controller_runtime_reconcile_time_seconds", "controller"),
                f"{{{{controller}}}} {name}",
            )
            for part, name in ((0.5, "p50"), (0.95, "p95"))
        ],
        "s",
    ),
    Panel(
        "Objects that trigger themselves",
        [("max by (controller) (pilotage_hot_loops)", "{{controller}}")],
        about="Objects that are reconciled again and again because of the writes of their own reconciles.",
    ),
    Panel("Queue", [("sum by (name) (workqueue_depth)", "{{name}}")]),
    Panel(
        "Time on the queue, p95",
        [
            (
                _quantile(0.95, "workqueue_queue_duration_seconds", "name"),
                "{{name}}",
            )
        ],
        "s",
    ),
    Panel(
        "Longest running reconcile", [("max by (name) (workqueue_longest_running_processor_seconds)", "{{name}}")], "s"
    ),
    Panel(
        "Workers",
        [
            ("sum by (controller) (controller_runtime_active_workers)", "{{controller}} active"),
            ("sum by (controller) (controller_runtime_max_concurrent_reconciles)", "{{controller}} at most"),
        ],
    ),
    Panel("Objects in the cache", [("sum by (kind) (pilotage_informer_objects)", "{{kind}}")]),
    Panel(
        "Watches that are open",
        [("min by (kind, namespace) (pilotage_informer_live)", "{{kind}} {{namespace}}")],
        about="0 while the watch of a kind is closed: its objects may be outdated.",
    ),
    Panel(
        "Latency of event handlers, p95",
        [
            (
                _quantile(0.95, "informer_processing_latency_seconds", "resource"),
                "{{resource}}",
            )
        ],
        "s",
    ),
    Panel(
        "Failed lists and watches",
        [(_rate("pilotage_informer_troubles_total", "kind, stage"), "{{kind}} {{stage}}")],
        "ops",
    ),
    Panel(
        "Requests to the API server",
        [(_rate("rest_client_requests_total", "method, code"), "{{method}} {{code}}")],
        "reqps",
    ),
    Panel("Leaders", [("sum by (name) (leader_election_master_status)", "{{name}}")]),
    Panel(
        "Blocked event loop",
        [("rate(pilotage_event_loop_blocked_seconds_total[$__rate_interval])", "{{instance}}")],
        "percentunit",
        "The part of the time in which a call that does not return keeps the event loop from all other work.",
    ),
    Panel("Memory", [("process_resident_memory_bytes", "{{instance}}")], "bytes"),
    Panel("CPU", [("rate(process_cpu_seconds_total[$__rate_interval])", "{{instance}}")], "percentunit"),
    Panel(
        "Reconciles that read an old cache",
        [
            (
                _rate("stale_sync_skips_total", "controller, resource"),
                "{{controller}} {{resource}}",
            )
        ],
        "ops",
    ),
)

ALERTS = (
    Alert(
        "ReconcilesFail",
        "sum by (controller) (rate(controller_runtime_reconcile_errors_total[5m])) > 0.1",
        15,
        "Reconciles of {{ $labels.controller }} fail; pilotage why shows the errors of an object",
    ),
    Alert(
        "QueueGrows",
        "sum by (name) (workqueue_depth) > 100",
        15,
        "The queue of {{ $labels.name }} does not get shorter",
    ),
    Alert(
        "ReconcileHangs",
        "max by (name) (workqueue_longest_running_processor_seconds) > 300",
        1,
        "A reconcile of {{ $labels.name }} has been running for more than five minutes",
    ),
    Alert(
        "HotLoop",
        "max by (controller) (pilotage_hot_loops) > 0",
        1,
        "An object of {{ $labels.controller }} is reconciled again and again because of its own writes",
    ),
    Alert(
        "WatchIsClosed",
        "min by (kind) (pilotage_informer_live) < 1",
        5,
        "The watch of {{ $labels.kind }} is closed: its objects may be outdated",
        "critical",
    ),
    Alert(
        "NoLeader",
        "sum by (name) (leader_election_master_status) < 1",
        2,
        "No replica leads {{ $labels.name }}",
        "critical",
    ),
    Alert(
        "EventLoopIsBlocked",
        "rate(pilotage_event_loop_blocked_seconds_total[5m]) > 0.2",
        5,
        "The event loop is blocked for a fifth of the time; the log has the line that blocks it",
    ),
)


def dashboard(name: str) -> Document:
    """The dashboard of a program, as Grafana imports it."""
    return {
        "title": name,
        "uid": f"pilotage-{name}"[:40],
        "tags": ["pilotage"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def rules(name: str) -> Document:
    """The alert rules of a program, for the Prometheus operator."""
    found = [
        {
            "alert": alert.name,
            "expr": alert.expression,
            "for": f"{alert.minutes}m",
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary},
        }
        for alert in ALERTS
    ]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name},
        "spec": {"groups": [{"name": name, "rules": found}]},
    }


def objects(name: str, namespace: str) -> list[Document]:
    """Both as objects: the dashboard in a ConfigMap with the label by which Grafana's sidecar finds it."""
    made = rules(name)
    made["metadata"]["namespace"] = namespace
    config: Document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-dashboard", "namespace": namespace, "labels": {"grafana_dashboard": "1"}},
        "data": {f"{name}.json": json.dumps(dashboard(name), indent=2)},
    }
    return [config, made]


def _panel(number: int, panel: Panel) -> Document:
    targets = [
        {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
        for index, (expression, legend) in enumerate(panel.queries)
    ]
    row, column = divmod(number, _COLUMNS)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": {"type": "prometheus", "uid": _SOURCE},
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
