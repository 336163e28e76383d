from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, strategy_of, updated
from .test_jobs import spec as job_spec

STRATEGY = strategy_of("cronjobs.batch")


def spec(**more: Any) -> dict[str, Any]:
    return {"schedule": "0 * * * *", "jobTemplate": {"spec": job_spec()}} | more


def test_a_cron_job_allows_concurrent_jobs_and_keeps_some_of_them() -> None:
    document, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert (
        document["spec"].items()
        >= {
            "concurrencyPolicy": "Allow",
            "suspend": False,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        }.items()
    )
    assert "completions" not in document["spec"]["jobTemplate"]["spec"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"schedule": ""}, ["spec.schedule"]),
        ({"schedule": "TZ=UTC * * * * *"}, ["spec.schedule"]),
        ({"timeZone": "Nowhere/City"}, ["spec.timeZone"]),
        ({"timeZone": ""}, ["spec.timeZone"]),
        ({"timeZone": "Local"}, ["spec.timeZone"]),
        ({"concurrencyPolicy": "Some"}, ["spec.concurrencyPolicy"]),
        ({"startingDeadlineSeconds": -1}, ["spec.startingDeadlineSeconds"]),
        (
            {"jobTemplate": {"spec": job_spec(selector={"matchLabels": {"a": "b"}}, manualSelector=True)}},
            ["spec.jobTemplate.spec.selector", "spec.jobTemplate.spec.manualSelector"],
        ),
    ],
)
def test_rules_over_the_spec(change: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(STRATEGY, spec=spec(**change))[1]) == expected


def test_the_name_leaves_space_for_that_of_a_job() -> None:
    _, causes = created(STRATEGY, metadata={"name": "a" * 53, "namespace": "n"}, spec=spec())
    assert fields(causes) == ["metadata.name"]


def test_a_time_zone_in_an_old_schedule_is_kept() -> None:
    old, _ = created(STRATEGY, spec=spec(schedule="TZ=UTC 0 * * * *"))
    document, causes = updated(STRATEGY, old, spec=old["spec"] | {"suspend": True})
    assert not causes
    assert document["metadata"]["generation"] == 2
    assert STRATEGY.warnings(document, old)
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"timeZone": "UTC"})
    assert fields(causes) == ["spec.schedule"]
