"""The rows of workloads: the groups apps, batch, autoscaling and policy, and ReplicationControllers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part, value_at
from pilotage.meta.scalars import times
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, UNSET, Cell, Printer
from pilotage.server.tables.rows import AGE, NAME, count, field, pair, row, text

_SHOWN_METRICS = 2


def _containers(document: Document) -> str:
    return cells.containers(part(document, "spec", "template", "spec"))[0]


def _images(document: Document) -> str:
    return cells.containers(part(document, "spec", "template", "spec"))[1]


def _selector(document: Document) -> str:
    return cells.selector(value_at(document, ("spec", "selector")))


def _deployment_selector(document: Document) -> str:
    return _selector(document) if value_at(document, ("spec", "selector")) is not None else ""  # as in a bookmark


def _ready(document: Document) -> str:
    return f"{count('status.readyReplicas')(document)}/{count('spec.replicas')(document)}"


def _controller(revision: Document) -> str:
    controller = NONE
    for owner in items(revision["metadata"], "ownerReferences"):
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            controller = f"{owner.get('kind', '').lower()}{'.' if group else ''}{group}/{owner.get('name', '')}"
    return controller


def _job(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    return [
        cells.name(document),
        _job_status(document),
        _completions(spec, status.get("succeeded", 0)),
        _job_duration(status, now),
        cells.age(document, now),
        _containers(document),
        _images(document),
        _selector(document),
    ]


def _job_status(document: Document) -> str:
    true = {
        condition.get("type")
        for condition in items(document, "status", "conditions")
        if condition.get("status") == "True"
    }
    for kind in ("Complete", "Failed"):
        if kind in true:
            return kind
    if document["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in true:
            return kind
    return "Running"


def _completions(spec: Document, succeeded: int) -> str:
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Document, now: datetime) -> str:
    start, end = cells.timestamp(status.get("startTime")), cells.timestamp(status.get("completionTime"))
    if start is None:
        return ""
    return times.rounded(((end or now) - start).total_seconds())


def _cron_job(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    job_spec = part(spec, "jobTemplate", "spec")
    scheduled = status.get("lastScheduleTime")
    return [
        cells.name(document),
        spec.get("schedule", ""),
        cells.text(spec.get("timeZone")),
        str(spec.get("suspend", UNSET)),
        len(items(status, "active")),
        cells.since(scheduled, now) if scheduled else NONE,
        cells.age(document, now),
        *cells.containers(part(job_spec, "template", "spec")),
        cells.selector(job_spec.get("selector")),
    ]


def _autoscaler_metrics(document: Document) -> str:
    """Of autoscaling/v2; another version is converted before it is printed."""
    metrics, current = items(document, "spec", "metrics"), items(document, "status", "currentMetrics")
    if not metrics:
        return NONE
    found = [_metric(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    return cells.shortened(found, _SHOWN_METRICS, ", ")


_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(metric: Document, current: Document) -> str:
    field = _SOURCES.get(metric.get("type", ""))
    if field is None:
        return "<unknown type>"
    source = part(metric, field)
    target, value = part(source, "target"), part(current, field, "current")
    if field in ("resource", "containerResource"):
        return f"{source.get('name', '')}: {_resource_target(target, value)}"
    if field == "pods":
        return f"{_known(value.get('averageValue'))}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{_known(value.get('averageValue'))}/{target['averageValue']} (avg)"
    return f"{_known(value.get('value'))}/{target.get('value', '<nil>')}"


def _resource_target(target: Document, value: Document) -> str:
    if target.get("averageValue") is not None:
        return f"{_known(value.get('averageValue'))}/{target['averageValue']}"
    utilization = value.get("averageUtilization")
    wanted = target.get("averageUtilization")
    return f"{UNKNOWN if utilization is None else f'{utilization}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _known(value: Any) -> str:
    return UNKNOWN if value is None else str(value)


_REPLICAS = (NAME, count("spec.replicas"), count("status.replicas"), count("status.readyReplicas"), AGE)

SCALE = row(NAME, count("spec.replicas"), count("status.replicas"), AGE)
"""The Scale of a built-in object."""
CUSTOM_SCALE = row(NAME, field("spec.replicas", None), count("status.replicas"), AGE)
"""The Scale of a custom resource, which may have no replicas."""

PRINTERS: dict[str, Printer] = {
    "controllerrevisions.apps": row(NAME, _controller, count("revision"), AGE),
    "cronjobs.batch": _cron_job,
    "daemonsets.apps": row(
        NAME,
        count("status.desiredNumberScheduled"),
        count("status.currentNumberScheduled"),
        count("status.numberReady"),
        count("status.updatedNumberScheduled"),
        count("status.numberAvailable"),
        lambda document: cells.labels(value_at(document, ("spec", "template", "spec", "nodeSelector"))),
        AGE,
        _containers,
        _images,
        _selector,
    ),
    "deployments.apps": row(
        NAME,
        _ready,
        count("status.updatedReplicas"),
        count("status.availableReplicas"),
        AGE,
        _containers,
        _images,
        _deployment_selector,
    ),
    "horizontalpodautoscalers.autoscaling": row(
        NAME,
        pair("spec.scaleTargetRef", "kind", "name"),
        _autoscaler_metrics,
        text("spec.minReplicas", UNSET),
        count("spec.maxReplicas"),
        count("status.currentReplicas"),
        AGE,
    ),
    "jobs.batch": _job,
    "poddisruptionbudgets.policy": row(
        NAME,
        text("spec.minAvailable", "N/A"),
        text("spec.maxUnavailable", "N/A"),
        count("status.disruptionsAllowed"),
        AGE,
    ),
    "replicasets.apps": row(*_REPLICAS, _containers, _images, _selector),
    "replicationcontrollers": row(
        *_REPLICAS, _containers, _images, lambda document: cells.labels(value_at(document, ("spec", "selector")))
    ),
    "statefulsets.apps": row(NAME, _ready, AGE, _containers, _images),
}
