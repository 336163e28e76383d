"""The conditions of a Job."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.conditions import find_status_condition
from pilotage.types.batch.v1 import JobCondition, JobStatus

COMPLETE = "Complete"
FAILED = "Failed"
FAILURE_TARGET = "FailureTarget"
SUCCESS_CRITERIA_MET = "SuccessCriteriaMet"
SUSPENDED = "Suspended"


def new_condition(
    kind: str, reason: str | None, message: str | None, now: datetime, *, status: str = "True"
) -> JobCondition:
    """A condition whose status changes now. Times of the API have whole seconds."""
    time = now.replace(microsecond=0)
    return JobCondition(
        type=kind, status=status, reason=reason, message=message, last_probe_time=time, last_transition_time=time
    )


def true_condition(status: JobStatus, kind: str) -> JobCondition | None:
    """The condition of this type, if it is true."""
    found = find_status_condition(status.conditions, kind)
    return found if found is not None and found.status == "True" else None


def ensure_condition(status: JobStatus, wanted: JobCondition) -> bool:
    """Set a condition unless it has this status, reason and message; whether it was set. One that is false and not
    there is not added."""
    for index, found in enumerate(status.conditions):
        if found.type == wanted.type:
            if (found.status, found.reason, found.message) == (wanted.status, wanted.reason, wanted.message):
                return False
            status.conditions[index] = wanted
            return True
    if wanted.status == "False":
        return False
    status.conditions = [*status.conditions, wanted]
    return True
