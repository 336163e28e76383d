"""The state of a Job."""

from __future__ import annotations

from pilotage.meta.conditions import is_status_condition_true
from pilotage.types.batch.v1 import Job


def is_job_finished(job: Job) -> bool:
    """Whether a Job is Complete or Failed: its Pods have ended, and no more are made."""
    conditions = job.status.conditions if job.status is not None else []
    return is_status_condition_true(conditions, "Complete") or is_status_condition_true(conditions, "Failed")
