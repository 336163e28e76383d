"""The status of a Job: which conditions, times, counts and indexes fit together, and which changes a writer may make.

Most rules are checked only if their fields have changed, so that an old object whose status breaks a rule can still be
updated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pilotage.errors import Cause
from pilotage.kubernetes.batch.indexes import count_indexes, overlap
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.server.strategies.checks import fields, items, numbers

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS = "status.conditions"


def has_condition(status: Document, kind: str, value: str = "True") -> bool:
    """Whether a condition has this value."""
    conditions = status.get("conditions") or ()
    return any(condition.get("type") == kind and condition.get("status") == value for condition in conditions)


def validate_job_status(job: Document, old: Document) -> Iterator[Cause]:
    """What is wrong with the status of a Job that is written."""
    write = _Write(job["spec"], job.get("status") or {}, old.get("status") or {})
    yield from numbers.counts(write.status, "status", _COUNTS)
    yield from _validate_uncounted_pods(write.status)
    yield from _validate_conditions(write)
    yield from _validate_times(write)
    yield from _validate_finished(write)
    yield from _validate_indexes(write)
    yield from _validate_success(write)
    yield from _validate_transitions(write)


@dataclass(frozen=True, slots=True)
class _Write:
    spec: Document
    status: Document
    old: Document

    def has(self, kind: str) -> bool:
        return has_condition(self.status, kind)

    def had(self, kind: str) -> bool:
        return has_condition(self.old, kind)

    @property
    def finished(self) -> bool:
        return self.has("Complete") or self.has("Failed")

    @property
    def newly_finished(self) -> bool:
        return self.finished != (self.had("Complete") or self.had("Failed"))

    def changed(self, *names: str) -> bool:
        """Whether one of these conditions or fields has changed."""
        return any(
            self.has(name) != self.had(name)
            if name[0].isupper()
            else (self.status.get(name) or None) != (self.old.get(name) or None)
            for name in names
        )


def _broken(detail: str) -> Cause:
    return invalid(_CONDITIONS, {}, detail)


def _validate_uncounted_pods(status: Document) -> Iterator[Cause]:
    pods = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(key) or ()):
            path = f"status.uncountedTerminatedPods.{key}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            else:
                yield from items.unique(uid, path, seen)


def _validate_conditions(write: _Write) -> Iterator[Cause]:
    complete, failed, target = write.has("Complete"), write.has("Failed"), write.has("FailureTarget")
    if complete and failed and write.changed("Complete", "Failed"):
        yield _broken("cannot set Complete=True and Failed=true conditions")
    if complete and target and write.changed("Complete", "FailureTarget"):
        yield _broken("cannot set Complete=True and FailureTarget=true conditions")
    if failed and not target and write.changed("Failed", "failedIndexes"):
        yield _broken("cannot set Failed=True condition without the FailureTarget=true condition")
    if complete and not write.has("SuccessCriteriaMet") and write.changed("Complete", "SuccessCriteriaMet"):
        yield _broken("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _validate_times(write: _Write) -> Iterator[Cause]:
    start, end = write.status.get("startTime"), write.status.get("completionTime")
    complete = write.has("Complete")
    if write.changed("Complete", "completionTime"):
        if end is not None and not complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", end, detail)
        if end is None and complete:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    if start and end and write.changed("startTime", "completionTime") and times.parse(end) < times.parse(start):
        yield invalid("status.completionTime", end, "must be equal to or after `startTime`")


def _validate_finished(write: _Write) -> Iterator[Cause]:
    status = write.status
    if write.finished:
        if (status.get("active") or 0) > 0 and (write.newly_finished or write.changed("active")):
            yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
        empty = bool(write.spec.get("suspend")) and write.spec.get("completions") == 0
        if status.get("startTime") is None and (write.newly_finished or write.changed("startTime")) and not empty:
            yield required("status.startTime", "startTime is required for finished job")
        pods = status.get("uncountedTerminatedPods") or {}
        if (pods.get("failed") or pods.get("succeeded")) and (
            write.newly_finished or write.changed("uncountedTerminatedPods")
        ):
            yield invalid("status.uncountedTerminatedPods", pods, "must be empty for finished job", whole=True)
        if (status.get("terminating") or 0) > 0 and (write.newly_finished or write.changed("terminating")):
            yield invalid("status.terminating", status["terminating"], "terminating>0 is invalid for finished job")
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0) and write.changed("ready", "active"):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")


def _validate_indexes(write: _Write) -> Iterator[Cause]:
    completed, failed = write.status.get("completedIndexes") or "", write.status.get("failedIndexes")
    completions, per_index = write.spec.get("completions"), write.spec.get("backoffLimitPerIndex") is not None
    if write.changed("completedIndexes"):
        if completions is not None:
            yield from _validate_format(completed, completions, "completedIndexes")
        if completed and write.spec.get("completionMode") != "Indexed":
            detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield invalid("status.completedIndexes", completed, detail)
    if failed is None:
        return
    if failed != write.old.get("failedIndexes"):
        if completions is not None and per_index:
            yield from _validate_format(failed, completions, "failedIndexes")
        if not per_index:
            detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield invalid("status.failedIndexes", failed, detail)
    if completions is not None and write.changed("failedIndexes", "completedIndexes"):
        index = overlap(completed, failed, completions)
        if index is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {index}"
            yield invalid("status.failedIndexes", failed, detail)


def _validate_format(indexes: str, completions: int, name: str) -> Iterator[Cause]:
    try:
        count_indexes(indexes, completions)
    except ValueError as error:
        yield invalid(f"status.{name}", indexes, f"error parsing {name}: {error}")


def _validate_success(write: _Write) -> Iterator[Cause]:
    met = write.has("SuccessCriteriaMet")
    for other in ("Failed", "FailureTarget"):
        if met and write.has(other):
            yield _broken(f"cannot set SuccessCriteriaMet=True and {other}=true conditions")
    if write.spec.get("successPolicy") is not None and not met and write.has("Complete"):
        yield _broken("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _validate_transitions(write: _Write) -> Iterator[Cause]:
    status, old, spec = write.status, write.old, write.spec
    for kind in ("Failed", "Complete", "FailureTarget"):
        if write.had(kind) and not write.has(kind):
            yield _broken(f"cannot disable the terminal {kind}=True condition")
    scalable = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed",) if scalable else ("failed", "succeeded"):
        if (status.get(name) or 0) < (old.get(name) or 0):
            yield invalid(f"status.{name}", status.get(name) or 0, f"cannot decrease the {name} counter")
    end, start = status.get("completionTime"), status.get("startTime")
    if end is not None and old.get("completionTime") not in (None, end):
        yield invalid("status.completionTime", end, fields.IMMUTABLE)
    resuming = write.had("Suspended") and has_condition(status, "Suspended", "False")
    if old.get("startTime") not in (None, start) and not resuming and not spec.get("suspend"):
        yield invalid("status.startTime", start, "field is immutable for unsuspended job once set")
    if write.had("SuccessCriteriaMet") and not write.has("SuccessCriteriaMet"):
        yield _broken("cannot disable the SuccessCriteriaMet=True condition")
    if write.had("Complete") and not write.had("SuccessCriteriaMet") and write.has("SuccessCriteriaMet"):
        yield _broken("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
