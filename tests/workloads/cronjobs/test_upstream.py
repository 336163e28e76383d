"""Kubernetes' own tests of the CronJob controller, by the names of their cases, and what version 1.36.3 did in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from pilotage.controller.event import Event
from pilotage.controller.handlers import listed
from pilotage.controller.request import Enqueue
from pilotage.errors import ApiError
from pilotage.kubernetes.batch.schedules import parse_schedule
from pilotage.meta.objects import decode, document_of
from pilotage.meta.scalars import times
from pilotage.types.batch.v1 import CronJob, Job
from pilotage.workloads.cronjobs import CronJobReconciler
from pilotage.workloads.cronjobs.decisions import expired_jobs, job_for
from pilotage.workloads.cronjobs.jobs import ControlledJobs
from pilotage.workloads.cronjobs.missed import missed_times, until_next
from pilotage.workloads.cronjobs.timing import next_time
from pilotage.workloads.jobs.view import JobView, view_of
from tests.workloads.cronjobs.fakes import FakeClient, FakeRecorder, fake_context

Document = dict[str, Any]
_FOLDER = Path(__file__).parent / "upstream"
TABLES: dict[str, dict[str, Document]] = msgspec.json.decode((_FOLDER / "tables.json").read_bytes())
SYNCS: list[Document] = [msgspec.json.decode(line) for line in (_FOLDER / "syncs.jsonl").read_bytes().splitlines()]
TIMES: list[Any] = [msgspec.json.decode(line) for line in (_FOLDER / "times.jsonl").read_bytes().splitlines()]
TOP = datetime(2016, 5, 19, 10, tzinfo=UTC)
_LONGEST = 9223372036.854776
"""Seconds in the longest duration of Go."""
_MISSED = {0: "none", 1: "few", 2: "many"}


def table(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=key) for key, case in TABLES[name].items()])


def cron_job_of(document: Document) -> CronJob:
    template = {"spec": {"template": {"spec": {"containers": []}}}, **document.get("spec", {}).get("jobTemplate", {})}
    for container in template["spec"]["template"].get("spec", {}).get("containers", []):
        container.setdefault("name", "main")
    spec = {"schedule": "", **document.get("spec", {}), "jobTemplate": template}
    metadata = {"name": "mycronjob", "namespace": "snazzycats", "uid": "1a2b3c", **document.get("metadata", {})}
    whole = {"apiVersion": "batch/v1", "kind": "CronJob", **document, "metadata": metadata, "spec": spec}
    return decode(CronJob, msgspec.json.encode(whole))


def job_of(document: Document) -> Job:
    spec: Document = {"template": {"spec": {"containers": []}}}
    return decode(Job, msgspec.json.encode({"apiVersion": "batch/v1", "kind": "Job", **document, "spec": spec}))


def view(document: Document) -> JobView:
    return view_of(msgspec.json.encode(document))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in SYNCS])
async def test_sync_cron_job(case: Document) -> None:
    cron_job, recorder = cron_job_of(case["cronjob"]), FakeRecorder()
    found = job_of(case["found"]) if "found" in case else None
    client = FakeClient(found, case.get("get_error", ""), case.get("create_error", ""))
    context = fake_context(client, times.parse(case["now"]), recorder)
    again, changed, failed = None, False, False
    try:
        again, changed = await CronJobReconciler(context, cast(ControlledJobs, None)).sync(
            cron_job, [view(job) for job in case.get("jobs", [])]
        )
    except ApiError:
        failed = True
    want = case["want"]
    assert failed == ("error" in want)
    if not failed:
        seconds = min(again.total_seconds(), _LONGEST) if again is not None else None
        assert seconds == (pytest.approx(want["again"]) if "again" in want else None)
        assert changed == want["changed"]
    assert _plain(document_of(cron_job).get("status", {})) == _plain(want.get("status", {}))
    assert [_created(job) for job in client.created] == [_metadata(each) for each in want["created"]]
    assert client.deleted == want.get("deleted", [])
    assert recorder.events == want.get("events", [])


def _plain(status: Document) -> Document:
    found = {key: value for key, value in status.items() if value}
    # The fake of the recording creates Jobs without a namespace.
    active = [
        {key: each[key] for key in ("apiVersion", "kind", "name", "uid") if key in each} for each in _active(found)
    ]
    return found | ({"active": active} if active else {})


def _active(status: Document) -> list[Document]:
    return cast(list[Document], status.pop("active", []))


def _created(job: Job) -> Document:
    return _metadata(document_of(job)["metadata"])


def _metadata(document: Document) -> Document:
    owners = [owner["name"] for owner in document["ownerReferences"]]
    return {**{key: document[key] for key in ("name", "labels", "annotations")}, "owners": owners}


@table("TestControllerV2UpdateCronJob")
def test_update_cron_job(case: Document) -> None:
    context = fake_context(FakeClient(), TOP - timedelta(seconds=1))
    event = Event.update(cron_job_of(case["oldCronJob"]), cron_job_of(case["newCronJob"]))
    found = listed(CronJobReconciler(context, cast(ControlledJobs, None)).requests(event))
    delays = [one.after if isinstance(one, Enqueue) else 0.0 for one in found]
    assert delays == pytest.approx([case["expectedDelay"]] if found else [])


@table("TestControllerV2CleanupFinishedJobs")
def test_cleanup_finished_jobs(case: Document) -> None:
    finished = {"conditions": [{"type": "Complete", "status": "True"}]}
    jobs = [view({**job, "status": {**job.get("status", {}), **finished}}) for job in case["finishedJobs"]]
    expired = expired_jobs(cron_job_of(case["cronJob"]), jobs)
    assert sorted(job.name for job in expired) == sorted(case.get("expectedDeletedJobs", []))


@table("TestByJobStartTime")
def test_by_job_start_time(case: Document) -> None:
    finished = {"conditions": [{"type": "Complete", "status": "True"}]}
    jobs = [view({**job, "status": {**job.get("status", {}), **finished}}) for job in case["input"]]
    cron_job = cron_job_of({"spec": {"successfulJobsHistoryLimit": 0}})
    assert [job.name for job in expired_jobs(cron_job, jobs)] == [job["metadata"]["name"] for job in case["expected"]]


@table("TestMostRecentScheduleTime")
def test_most_recent_schedule_time(case: Document) -> None:
    cron_job, now = cron_job_of(case["cj"]), times.parse(case["now"])
    schedule, within = parse_schedule(cron_job.spec.schedule), case["includeSDS"]
    if case["wantErr"]:
        with pytest.raises(ValueError, match="less than 1 second"):
            missed_times(cron_job, now, schedule, within_deadline=within)
        return
    recent = times.parse(case["expectedRecentTime"]) if "expectedRecentTime" in case else None
    wanted = times.parse(case["expectedEarliestTime"]), recent, _MISSED[case["expectedTooManyMissed"]]
    assert missed_times(cron_job, now, schedule, within_deadline=within) == wanted


@table("TestNextScheduleTimeDuration")
def test_next_schedule_time_duration(case: Document) -> None:
    cron_job = cron_job_of(case["cj"])
    left = until_next(cron_job, times.parse(case["now"]), parse_schedule(cron_job.spec.schedule))
    assert left.total_seconds() == pytest.approx(case["expectedDuration"])


@table("TestGetJobFromTemplate2")
def test_get_job_from_template(case: Document) -> None:
    template = {"metadata": {"labels": {"a": "b"}, "annotations": case.get("inputAnnotations", {})}}
    cron_job = cron_job_of({"spec": {"timeZone": case.get("timeZone"), "jobTemplate": template | _JOB}})
    job = job_for(cron_job, TOP)
    assert job.metadata.name == "mycronjob-24394200"
    assert job.metadata.labels == {"a": "b"}
    assert len(job.metadata.annotations) == case["expectedNumberOfAnnotations"]
    shown = {"Europe/Rome": "2016-05-19T12:00:00+02:00"}.get(case.get("timeZone", ""), "2016-05-19T10:00:00Z")
    assert job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == shown


_JOB: Document = {"spec": {"template": {"spec": {"containers": []}}}}


@pytest.mark.parametrize(
    ("created", "last", "now", "deadline", "wanted"),
    [
        pytest.param(-10, None, -7, None, None, id="no known start, none needed"),
        pytest.param(-10, None, 0.1, None, 0, id="no known start, one needed"),
        pytest.param(-10, 0, 2, None, None, id="known start, none needed"),
        pytest.param(-10, 0, 65, None, 60, id="known start, one needed"),
        pytest.param(-120, -60, 65, None, 60, id="known start, two needed"),
        pytest.param(-120, -60, 60 + 14_400, None, 60 + 14_400, id="far behind"),
        pytest.param(-120, -60, 60 + 14_400, 7200, 60 + 14_400, id="far behind, with a short deadline"),
    ],
)
def test_next_schedule_time(
    created: float, last: float | None, now: float, deadline: int | None, wanted: float | None
) -> None:
    """TestNextScheduleTime, in minutes from ten o'clock."""

    def at(minutes: float | None) -> str | None:
        return times.format(TOP + timedelta(minutes=minutes)) if minutes is not None else None

    document = {
        "metadata": {"creationTimestamp": at(created)},
        "spec": {"startingDeadlineSeconds": deadline},
        "status": {"lastScheduleTime": at(last)},
    }
    missed = missed_times(cron_job_of(document), TOP + timedelta(minutes=now), parse_schedule("0 * * * ?"))
    assert missed.recent == (TOP + timedelta(minutes=wanted) if wanted is not None else None)


def test_the_times_of_schedules_are_those_of_robfig_cron() -> None:
    """Also where a zone skips or repeats an hour, or begins a day at one o'clock."""
    for schedule, start, wanted in TIMES:
        found, at = [], times.parse(start)
        for _ in wanted:
            following = next_time(parse_schedule(schedule), at)
            assert following is not None
            found.append(times.format(at := following))
        assert found == wanted, (schedule, start)
        if not wanted:
            assert next_time(parse_schedule(schedule), at) is None


def test_a_zone_that_leaves_out_a_day_is_no_endless_search() -> None:
    found = next_time(parse_schedule("TZ=Pacific/Apia 0 3 * * 0"), datetime(2011, 12, 29, tzinfo=UTC))
    assert found == datetime(2011, 12, 31, 13, tzinfo=UTC)
