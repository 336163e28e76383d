"""The tables of Kubernetes' own tests of the decisions of the Job controller, by the names of their cases."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilotage.controller.request import Request
from pilotage.errors import ApiError
from pilotage.meta.objects import decode
from pilotage.meta.scalars import times
from pilotage.types.batch.v1 import Job, JobCondition, JobStatus, PodFailurePolicy, SuccessPolicy
from pilotage.types.core.v1 import Pod
from pilotage.workloads.jobs import counting
from pilotage.workloads.jobs.backoff import Backoff, next_backoff, remaining_time, remaining_time_of_index
from pilotage.workloads.jobs.conditions import ensure_condition, new_condition
from pilotage.workloads.jobs.indexes import Intervals, contains, parse_indexes
from pilotage.workloads.jobs.observation import Observation, failed_indexes, fails_index, observe, succeeded_indexes
from pilotage.workloads.jobs.plans import next_pods, pending_indexes, pods_for_removal
from pilotage.workloads.jobs.pods import COMPLETION_INDEX, JobPod
from pilotage.workloads.jobs.policies import failure_of, success_message
from pilotage.workloads.jobs.reconciler import JobReconciler
from pilotage.workloads.jobs.sync import Sync
from pilotage.workloads.jobs.templates import failure_counts, name_prefix
from pilotage.workloads.pods.view import JOB_TRACKING_FINALIZER, view_of
from tests.workloads.jobs.upstream.fakes import FakeClient, FakeRecorder, fake_context
from tests.workloads.jobs.upstream.statuses import plain_status

Document = dict[str, Any]
TABLES: dict[str, dict[str, Document]] = msgspec.json.decode(
    (Path(__file__).parent / "upstream/tables.json").read_bytes()
)
NOW = datetime(2009, 11, 10, 23, tzinfo=UTC)


def table(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=key) for key, case in TABLES[name].items()])


def job_of(document: Document | None = None, **spec: object) -> Job:
    document = document or {}
    given = {"template": {"spec": {"containers": []}}, **document.get("spec", {}), **spec}
    metadata = {"name": "job", "namespace": "default", "uid": "job", **document.get("metadata", {})}
    whole = {"apiVersion": "batch/v1", "kind": "Job", **document, "metadata": metadata, "spec": given}
    return decode(Job, msgspec.json.encode(whole))


def pod_of(document: Document) -> JobPod:
    metadata = {"name": document["metadata"].get("uid", "pod"), "namespace": "default", **document["metadata"]}
    spec = {"containers": [], **document.get("spec", {})}
    for container in spec.get("initContainers", []):
        container.setdefault("image", "")
    data = msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", **document, "metadata": metadata, "spec": spec})
    return JobPod(view_of(data), decode(Pod, data))


def hollow(document: Document, number: int = 0) -> JobPod:
    """A Pod with an index and a phase; an index of `-` is none."""
    index, phase = document.get("Index", ""), document["Phase"]
    annotations = {} if index == "-" else {COMPLETION_INDEX: index}
    metadata = {"uid": str(number), "annotations": annotations, "finalizers": [JOB_TRACKING_FINALIZER]}
    return pod_of({"metadata": metadata, "status": {"phase": phase}})


def ended(time: str) -> JobPod:
    container = {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    container["state"] = {"terminated": {"exitCode": 0, "finishedAt": time}}
    return pod_of({"metadata": {}, "status": {"containerStatuses": [container]}})


def intervals(documents: list[Document] | None) -> Intervals:
    return tuple((each["First"], each["Last"]) for each in documents or [])


def seconds(case: Document, name: str) -> timedelta:
    return timedelta(seconds=case.get(name, 0))


@table("TestNewBackoffRecord")
def test_new_backoff_record(case: Document) -> None:
    want = case["wantBackoffRecord"]
    # The only case with failures of earlier reconciles.
    before = Backoff(2) if want["failuresAfterLastSuccess"] == 3 else Backoff()
    succeeded, failed = (list(map(ended, case.get(name, []))) for name in ("newSucceededPods", "newFailedPods"))
    last = times.parse(want["lastFailureTime"]) if "lastFailureTime" in want else None
    assert next_backoff(before, succeeded, failed) == Backoff(want["failuresAfterLastSuccess"], last)


@table("TestGetFinishedTime")
def test_get_finished_time(case: Document) -> None:
    document = {"metadata": {}, **case["pod"]}
    assert pod_of(document).finished_at == times.parse(case["wantFinishTime"])


@table("TestGetRemainingBackoffTime")
def test_get_remaining_backoff_time(case: Document) -> None:
    record = case["backoffRecord"]
    last = times.parse(record["lastFailureTime"]) if "lastFailureTime" in record else None
    backoff, now = Backoff(record["failuresAfterLastSuccess"], last), times.parse(case["currentTime"])
    left = remaining_time(backoff, now, seconds(case, "defaultBackoff"), seconds(case, "maxBackoff"))
    assert left == seconds(case, "wantDuration")


@table("TestGetRemainingBackoffTimePerIndex")
def test_get_remaining_backoff_time_per_index(case: Document) -> None:
    failed = pod_of(case["lastFailedPod"]) if "lastFailedPod" in case else None
    # The base is five seconds in the table.
    assert remaining_time_of_index(failed, NOW) == 2 * seconds(case, "wantDuration")


@table("TestCalculateSucceededIndexes")
def test_calculate_succeeded_indexes(case: Document) -> None:
    status = {"completedIndexes": case.get("prevSucceeded", "")}
    job = job_of({"status": status}, completions=case["completions"], completionMode="Indexed")
    found = succeeded_indexes(job, list(map(hollow, case.get("pods", []))))
    assert found == (intervals(case.get("wantStatusIntervals")), intervals(case.get("wantIntervals")))


@table("TestIsIndexFailed")
def test_is_index_failed(case: Document) -> None:
    assert fails_index(pod_of(case["pod"]), job_of(case["job"])) == case["wantResult"]


@table("TestCalculateFailedIndexes")
def test_calculate_failed_indexes(case: Document) -> None:
    found = failed_indexes(job_of(case["job"]), list(map(pod_of, case["pods"])))
    assert found == intervals(case.get("wantPrevFailed", case.get("wantFailedIndexes")))


@table("TestGetPodsWithDelayedDeletionPerIndex")
def test_get_pods_with_delayed_deletion_per_index(case: Document) -> None:
    job = job_of(case["job"], completionMode="Indexed")
    seen = observe(job, list(map(pod_of, case.get("pods", []))), Backoff(), NOW)
    assert sorted(pod.uid for pod in seen.awaiting.values()) == case.get("wantPodsWithDelayedDeletionPerIndex", [])


@table("TestGetNewIndexFailureCountValue")
def test_get_new_index_failure_count_value(case: Document) -> None:
    replaced = pod_of(case["pod"]) if "pod" in case else None
    counts = failure_counts(job_of(case.get("job")), replaced)
    values = [int(value) for value in counts.values()]
    wanted = [case["wantNewIndexFailureCount"], case["wantNewIndexIgnoredFailureCount"]]
    assert values == (wanted if wanted[1] else wanted[:1])


@table("TestIntervalsHaveIndex")
def test_intervals_have_index(case: Document) -> None:
    assert contains(intervals(case.get("intervals")), case["index"]) == case["wantHas"]


@table("TestFirstPendingIndexes")
def test_first_pending_indexes(case: Document) -> None:
    active = [hollow(pod, number) for number, pod in enumerate(case.get("activePods", []))]
    job = job_of(completions=case["completions"], completionMode="Indexed")
    failed = intervals(case["failedIndexes"]) if "failedIndexes" in case else None
    seen = Observation(job, active, active, NOW, 0, 0, Backoff(), (), intervals(case.get("succeededIndexes")), failed)
    assert pending_indexes(seen, case["cnt"]) == case.get("want", [])


@table("TestAppendDuplicatedIndexPodsForRemoval")
def test_append_duplicated_index_pods_for_removal(case: Document) -> None:
    pods = [hollow(pod, number) for number, pod in enumerate(case["pods"])]
    removed = pods_for_removal(job_of(completions=case["completions"], completionMode="Indexed"), pods, 0)
    kept = [pod for pod in pods if pod not in removed]
    wanted = [(pod.get("Index"), pod["Phase"]) for pod in case.get("wantRm", [])]
    assert [(pod.view.annotations.get(COMPLETION_INDEX, "-"), pod.view.phase) for pod in removed] == wanted
    wanted = sorted((pod.get("Index"), pod["Phase"]) for pod in case.get("wantLeft", []))
    assert sorted((pod.view.annotations.get(COMPLETION_INDEX), pod.view.phase) for pod in kept) == wanted


@table("TestPodGenerateNameWithIndex")
def test_pod_generate_name_with_index(case: Document) -> None:
    assert name_prefix(case["jobname"], case["index"]) == case["wantPodGenerateName"]


@table("TestGetIndexFailureCount")
def test_get_index_failure_count(case: Document) -> None:
    assert pod_of(case.get("pod", {"metadata": {}})).failures == case["wantResult"]


@table("TestGetNewFinshedPods")
def test_get_new_finished_pods(case: Document) -> None:
    seen = observe(job_of(case["job"]), list(map(pod_of, case["pods"])), Backoff(), NOW)
    assert (seen.succeeded, seen.failed) == (case["wantSucceeded"], case["wantFailed"])


@table("TestTrackJobStatusAndRemoveFinalizers")
async def test_track_job_status_and_remove_finalizers(case: Document) -> None:
    job, pods = job_of(case.get("job")), list(map(pod_of, case.get("pods", [])))
    full = [pod.full for pod in pods if pod.full is not None]
    client = FakeClient(job, full, case.get("podControlErr", ""), 0, case.get("statusUpdateErr", ""))
    reconciler = JobReconciler(fake_context(client, [], NOW), FakeRecorder())
    completed = parse_indexes((job.status.completed_indexes if job.status else "") or "", job.spec.completions or 0)
    seen = observe(job, pods, Backoff(), NOW)
    seen = Observation(
        job, pods, seen.active, NOW, seen.succeeded, seen.failed, seen.backoff, (), completed,
        seen.failed_indexes, seen.awaiting,
    )  # fmt: skip
    finish = case.get("finishedCond")
    sync = Sync(seen, msgspec.convert(finish, JobCondition) if finish else None)
    failed = False
    try:
        await reconciler._track(Request.of(job), sync, changed=case["needsFlush"])
    except ApiError:
        failed = True
    wanted = [plain_status(status, with_times=False) for status in case.get("wantStatusUpdates", [])]
    assert [plain_status(status, with_times=False) for status in client.statuses] == wanted
    assert len(client.patched) == case["wantRmFinalizers"]
    assert failed == ("wantErr" in case)


@table("TestEnsureJobConditions")
def test_ensure_job_conditions(case: Document) -> None:
    status = JobStatus(conditions=[msgspec.convert(each, JobCondition) for each in case.get("haveList", [])])
    reason = case.get("wantReason")
    condition = new_condition(case["wantType"], reason, None, NOW, status=case["wantStatus"])
    assert ensure_condition(status, condition) == case["expectUpdate"]
    wanted = [(each["type"], each["status"], each.get("reason")) for each in case.get("expectList", [])]
    assert [(each.type, each.status, each.reason) for each in status.conditions] == wanted


_CREATION = "TestGetPodCreationInfoForIndependentIndexes"


@table(_CREATION)
def test_get_pod_creation_info_for_independent_indexes(case: Document) -> None:
    awaiting = {int(index): pod_of(pod) for index, pod in case.get("podsWithDelayedDeletionPerIndex", {}).items()}
    indexes, count = case["indexesToAdd"], len(case["indexesToAdd"])
    job = job_of(completions=20, parallelism=count, completionMode="Indexed", backoffLimitPerIndex=1)
    others = tuple((index, index) for index in range(20) if index not in indexes)
    now = times.parse(max(re.findall(r"[0-9-]{10}T[0-9:]{8}Z", str(TABLES[_CREATION]))))  # the table was made then
    seen = Observation(job, [], [], now, 0, 0, Backoff(), (), others, (), awaiting)
    plan = next_pods(seen)
    assert list(plan.create) == case.get("wantIndexesToAdd", [])
    assert (plan.wait or timedelta()) == seconds(case, "wantRemainingTime")


@table("TestMatchPodFailurePolicy")
def test_match_pod_failure_policy(case: Document) -> None:
    policy = {"rules": [], **case["podFailurePolicy"]} if "podFailurePolicy" in case else None
    given = msgspec.convert(policy, PodFailurePolicy) if policy is not None else None
    found = failure_of(given, pod_of(case["failedPod"]).full)
    wanted = case["wantCountFailed"], case.get("wantAction", ""), case.get("wantJobFailureMessage", "")
    assert found == wanted


@table("TestMatchSuccessPolicy")
def test_match_success_policy(case: Document) -> None:
    policy = {"rules": [], **case["successPolicy"]} if "successPolicy" in case else None
    given = msgspec.convert(policy, SuccessPolicy) if policy is not None else None
    message = success_message(given, case["completions"], intervals(case.get("succeededIndexes")))
    assert message == case.get("wantMessage", case.get("wantMessageSuccessPolicy", message))
    assert bool(message) == case["wantMetSuccessPolicy"]


def test_of_many_ended_pods_one_reconcile_counts_500() -> None:
    pods = [hollow({"Phase": "Succeeded"}, number) for number in range(501)]
    counted = counting.count_ended(observe(job_of(), pods, Backoff(), NOW), None)
    assert (len(counted.release), counted.is_limited) == (500, True)
