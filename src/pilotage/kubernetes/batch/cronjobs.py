"""CronJobs."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.apps.templates import is_new_generation, name_warnings
from pilotage.kubernetes.batch.jobspecs import job_spec_warnings, validate_job_spec
from pilotage.kubernetes.batch.schedules import schedule_problem, zone_problem
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, labelselectors, numbers
from pilotage.server.strategies.strategy import Strategy

_POLICIES = ("Allow", "Forbid", "Replace")
_MAX_NAME = 52  # a Job's name has a dash and ten digits more
_ZONE_WARNING = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, "
    "see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobStrategy(Strategy):
    """CronJobs create Jobs at the times of a schedule."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from _validate_spec(document["spec"], {}, "spec")
        name = document["metadata"].get("name") or ""
        if len(name.encode(errors="replace")) > _MAX_NAME:
            yield invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters")

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_spec(document["spec"], old["spec"], "spec")

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        spec = document["spec"]
        found = list(job_spec_warnings((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec"))
        if old is None:
            return name_warnings(document) + found
        zones = [_ZONE_WARNING] * ("TZ" in (spec.get("schedule") or ""))
        return found + zones if is_new_generation(document, old) else zones


def _validate_spec(spec: Document, old: Document, path: str) -> Iterator[Cause]:
    yield from _validate_schedule(spec, old, f"{path}.schedule")
    yield from numbers.counts(spec, path, ("startingDeadlineSeconds",))
    zone = spec.get("timeZone")
    if zone is not None and (not old or old.get("timeZone") != zone):
        yield from _validate_zone(zone, f"{path}.timeZone")
    yield from fields.required_choice(spec.get("concurrencyPolicy"), f"{path}.concurrencyPolicy", _POLICIES)
    yield from _validate_job_template(spec.get("jobTemplate") or {}, f"{path}.jobTemplate.spec")
    yield from numbers.counts(spec, path, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"))


def _validate_schedule(spec: Document, old: Document, path: str) -> Iterator[Cause]:
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield required(path)
        return
    if problem := schedule_problem(schedule):
        yield invalid(path, schedule, problem)
    if "TZ" not in schedule:
        return
    if "TZ" not in (old.get("schedule") or ""):
        yield invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif spec.get("timeZone") is not None:
        yield invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def _validate_zone(zone: str, path: str) -> Iterator[Cause]:
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, detail)
    if problem := zone_problem(zone):
        yield invalid(path, zone, problem)


def _validate_job_template(template: Document, path: str) -> Iterator[Cause]:
    job = template.get("spec") or {}
    yield from validate_job_spec(job, path)
    if job.get("selector") is not None:
        yield labelselectors.invalid_selector(f"{path}.selector", job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield not_supported(f"{path}.manualSelector", True, ("nil", "false"))
