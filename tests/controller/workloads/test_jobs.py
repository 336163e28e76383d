from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.types.batch.v1 import Job, JobCondition, JobSpec, JobStatus
from pilotage.types.core.v1 import PodSpec, PodTemplateSpec


def job(*conditions: tuple[str, str]) -> Job:
    given = [JobCondition(type=kind, status=status) for kind, status in conditions]
    return Job(spec=JobSpec(template=PodTemplateSpec(spec=PodSpec(containers=[]))), status=JobStatus(conditions=given))


@pytest.mark.parametrize(
    ("conditions", "finished"),
    [
        ([], False),
        ([("Complete", "True")], True),
        ([("Failed", "True")], True),
        ([("Failed", "False"), ("Suspended", "True")], False),
        ([("SuccessCriteriaMet", "True")], False),
    ],
)
def test_a_job_is_finished_when_it_is_complete_or_failed(conditions: list[tuple[str, str]], finished: bool) -> None:
    assert pt.controller.is_job_finished(job(*conditions)) is finished
