"""The rows of Tables of batch."""

from __future__ import annotations

from datetime import datetime

from pilotage.kubernetes.cells import containers, images, selector
from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.meta.scalars import times
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNSET, Cell, Printer


def _job(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    return [
        cells.name(document),
        _job_status(document),
        _completions(spec, status.get("succeeded", 0)),
        _job_duration(status, now),
        cells.age(document, now),
        containers(document),
        images(document),
        selector(document),
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


PRINTERS: dict[str, Printer] = {
    "cronjobs.batch": _cron_job,
    "jobs.batch": _job,
}
