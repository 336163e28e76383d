"""Each reconcile that Kubernetes' own tests of the Job controller run, and what the controller of 1.36.3 wrote in it.

The names are those of the tests. Recorded with the feature gates of 1.36.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilotage.controller.request import Request
from pilotage.errors import ApiError
from pilotage.meta.objects import decode
from pilotage.meta.scalars import times
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import Pod
from pilotage.workloads.jobs.backoff import Backoff
from pilotage.workloads.jobs.reconciler import JobReconciler
from tests.workloads.jobs.upstream.fakes import FakeClient, FakeRecorder, fake_context
from tests.workloads.jobs.upstream.statuses import plain_status

Document = dict[str, Any]
CASES: list[Document] = [
    msgspec.json.decode(line)
    for line in (Path(__file__).parent / "upstream/reconciles.jsonl").read_bytes().splitlines()
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
async def test_the_job_is_written_as_by_kubernetes(case: Document) -> None:
    job = decode(Job, msgspec.json.encode({"apiVersion": "batch/v1", "kind": "Job", **case["job"]}))
    documents = case.get("pods", [])
    pods = [decode(Pod, msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", **pod})) for pod in documents]
    faults = case.get("control_error", ""), case.get("create_limit", 0), case.get("status_error", "")
    client = FakeClient(job, pods, *faults)
    recorder = FakeRecorder()
    reconciler = JobReconciler(fake_context(client, documents, _time(case["now"])), recorder)
    request = Request.of(job)
    if known := case.get("backoff"):
        last = _time(known["last"]) if "last" in known else None
        reconciler._backoffs[request] = Backoff(known["failures"], last)
    again: float | None = None
    failed = False
    try:
        again = (await reconciler.reconcile(request)).requeue_after
    except ApiError:
        failed = True
    want = case["want"]
    assert [plain_status(status) for status in client.statuses] == [
        plain_status(status) for status in want.get("statuses", [])
    ]
    assert sorted(map(_created, client.created), key=_order) == sorted(want.get("created", []), key=_order)
    assert len(client.deleted) == len(want.get("deleted", []))  # the choice between equal Pods is open
    assert len(client.patched) == want.get("patches", 0)
    assert recorder.events == want.get("events", [])
    assert failed == ("error" in case)
    if queued := want.get("queued"):
        assert again == pytest.approx(max(min(queued), 0.0), abs=1.0)  # the times of the input have whole seconds


def _time(text: str) -> datetime:
    return times.parse(text)


def _created(pod: Pod) -> Document:
    metadata = pod.metadata
    return {
        "annotations": metadata.annotations,
        "labels": metadata.labels,
        "finalizers": metadata.finalizers,
        "hostname": (pod.spec.hostname if pod.spec is not None else None) or "",
    }


def _order(pod: Document) -> str:
    return str(pod["hostname"])
