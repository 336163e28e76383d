"""One reconcile of a Job: its counts, which change with each write, and the condition that it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from pilotage.types.batch.v1 import JobCondition
from pilotage.workloads.jobs import finishing
from pilotage.workloads.jobs.conditions import (
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    ensure_condition,
    new_condition,
)
from pilotage.workloads.jobs.modes import is_suspended, status_of
from pilotage.workloads.jobs.observation import Observation
from pilotage.workloads.jobs.pods import JobPod


@dataclass(slots=True)
class Sync:
    """One reconcile. Its methods change the status of the Job in memory."""

    seen: Observation
    finish: JobCondition | None = None
    """Why the Job ends."""
    has_changed: bool = False
    """Whether the condition Suspended was set."""
    active: int = field(init=False)
    ready: int = field(init=False)
    terminating: int = field(init=False)
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    """Events: type, reason and message."""
    waits: list[timedelta] = field(default_factory=list)
    """After which the Job is reconciled again."""

    def __post_init__(self) -> None:
        self.active, self.ready, self.terminating = len(self.seen.active), self.seen.ready, self.seen.terminating

    def note_deleted(self, pod: JobPod) -> None:
        """An active Pod was deleted."""
        self.active -= 1
        self.terminating += 1
        self.ready -= pod.view.is_ready

    def end(self, finish: JobCondition, *, deleted_all: bool) -> None:
        """The Job ends, if all of its Pods could be deleted."""
        self.finish = finish if deleted_all else None

    def conclude(self, *, is_managed: bool) -> None:
        """The Job ends if its completions are reached; otherwise it is suspended or not, if Pods were managed."""
        self.finish = finishing.completion_of(self.seen, self.active)
        if self.finish is None and is_managed:
            self._note_suspension()

    def _note_suspension(self) -> None:
        job, now = self.seen.job, self.seen.now
        status = status_of(job)
        if is_suspended(job):
            condition = new_condition(SUSPENDED, "JobSuspended", "Job suspended", now)
            if ensure_condition(status, condition):
                self.has_changed = True
                self.notes.append(("Normal", "Suspended", "Job suspended"))
                status.start_time = None
        elif ensure_condition(status, new_condition(SUSPENDED, "JobResumed", "Job resumed", now, status="False")):
            self.has_changed = True
            self.notes.append(("Normal", "Resumed", "Job resumed"))
            status.start_time = now.replace(microsecond=0)  # the deadline counts from here on

    def note_counts(self) -> bool:
        """Set the counts of Pods in the status; whether the status has changed."""
        status = status_of(self.seen.job)
        before = (status.active or 0, status.ready, status.terminating)
        status.active, status.ready, status.terminating = self.active, self.ready, self.terminating
        return self.has_changed or before != (self.active, self.ready, self.terminating)

    def final_condition(self) -> JobCondition | None:
        """Complete or Failed, if the Job ends."""
        finish = self.finish
        if finish is None or finish.type not in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
            return finish
        return finishing.final_condition(finish, self.seen.now)
