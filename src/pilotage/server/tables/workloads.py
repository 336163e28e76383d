"""The rows of workloads: the groups apps, batch, autoscaling and policy, and ReplicationControllers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, Cell, Printer, items, part, text

_SHOWN_METRICS = 2


def _template(document: Document) -> list[Cell]:
    """Containers, images and selector: the wide columns."""
    spec = part(document, "spec")
    return [*cells.containers(part(spec, "template", "spec")), cells.selector(spec.get("selector"))]


def deployment(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    *template, selector = _template(document)
    return [
        cells.name(document),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        cells.age(document, now),
        *template,
        selector if spec.get("selector") is not None else "",  # there is none in a bookmark
    ]


def replica_set(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    return [
        cells.name(document),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        cells.age(document, now),
        *_template(document),
    ]


def replication_controller(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    return [*replica_set(document, now)[:-1], cells.labels(spec.get("selector"))]


def stateful_set(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [cells.name(document), ready, cells.age(document, now), *_template(document)[:2]]


def daemon_set(document: Document, now: datetime) -> list[Cell]:
    status = part(document, "status")
    return [
        cells.name(document),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        cells.labels(part(document, "spec", "template", "spec").get("nodeSelector")),
        cells.age(document, now),
        *_template(document),
    ]


def controller_revision(document: Document, now: datetime) -> list[Cell]:
    controller = NONE
    for owner in items(document["metadata"], "ownerReferences"):
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            controller = f"{owner.get('kind', '').lower()}{'.' if group else ''}{group}/{owner.get('name', '')}"
    return [cells.name(document), controller, document.get("revision", 0), cells.age(document, now)]


def job(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    return [
        cells.name(document),
        _job_status(document),
        _completions(spec, status.get("succeeded", 0)),
        _job_duration(status, now),
        cells.age(document, now),
        *_template(document),
    ]


def _job_status(document: Document) -> str:
    true = {
        condition.get("type")
        for condition in items(part(document, "status"), "conditions")
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


def cron_job(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    job_spec = part(spec, "jobTemplate", "spec")
    scheduled = status.get("lastScheduleTime")
    return [
        cells.name(document),
        spec.get("schedule", ""),
        text(spec.get("timeZone")),
        str(spec.get("suspend", "<unset>")),
        len(items(status, "active")),
        cells.since(scheduled, now) if scheduled else NONE,
        cells.age(document, now),
        *cells.containers(part(job_spec, "template", "spec")),
        cells.selector(job_spec.get("selector")),
    ]


def pod_disruption_budget(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    return [
        cells.name(document),
        text(spec.get("minAvailable"), "N/A"),
        text(spec.get("maxUnavailable"), "N/A"),
        status.get("disruptionsAllowed", 0),
        cells.age(document, now),
    ]


def scale(document: Document, now: datetime) -> list[Cell]:
    """The Scale of a built-in object."""
    desired, available = part(document, "spec").get("replicas", 0), part(document, "status").get("replicas", 0)
    return [cells.name(document), desired, available, cells.age(document, now)]


def custom_scale(document: Document, now: datetime) -> list[Cell]:
    """The Scale of a custom resource, which may have no replicas."""
    name, _, available, age = scale(document, now)
    return [name, part(document, "spec").get("replicas"), available, age]


def horizontal_pod_autoscaler(document: Document, now: datetime) -> list[Cell]:
    """Of autoscaling/v2; another version is converted before it is printed."""
    spec, status = part(document, "spec"), part(document, "status")
    target = part(spec, "scaleTargetRef")
    return [
        cells.name(document),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(items(spec, "metrics"), items(status, "currentMetrics")),
        text(spec.get("minReplicas"), "<unset>"),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        cells.age(document, now),
    ]


def _metrics(metrics: list[Document], current: list[Document]) -> str:
    if not metrics:
        return NONE
    found = [_metric(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    shown = ", ".join(found[:_SHOWN_METRICS])
    hidden = len(found) - _SHOWN_METRICS
    return shown if hidden <= 0 else f"{shown} + {hidden} more..."


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


APPS: dict[str, Printer] = {
    "controllerrevisions": controller_revision,
    "daemonsets": daemon_set,
    "deployments": deployment,
    "replicasets": replica_set,
    "statefulsets": stateful_set,
}
BATCH: dict[str, Printer] = {"cronjobs": cron_job, "jobs": job}
AUTOSCALING: dict[str, Printer] = {"horizontalpodautoscalers": horizontal_pod_autoscaler}
POLICY: dict[str, Printer] = {"poddisruptionbudgets": pod_disruption_budget}
