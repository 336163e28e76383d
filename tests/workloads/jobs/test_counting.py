"""Each Pod is counted once, whichever write of a reconcile fails or is the last one before the program ends."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from pilotage.controller.request import Request
from pilotage.errors import ApiError, InternalError
from pilotage.meta.objects import decode, document_of
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import Pod
from pilotage.workloads.jobs.reconciler import JobReconciler
from pilotage.workloads.pods.view import JOB_TRACKING_FINALIZER
from tests.workloads.jobs.upstream.fakes import Document, FakeClient, FakeRecorder, fake_context

NOW = datetime(2024, 1, 1, tzinfo=UTC)


class Store(FakeClient):
    """A server with one Job and its Pods; the write with this number fails, after it was stored or before."""

    def __init__(self, job: Document, pods: list[Document]) -> None:
        self.job = job
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.fails_at = -1
        self.stores_first = False
        self._writes = 0
        super().__init__(self._read(), [])

    def _read(self) -> Job:
        return decode(Job, msgspec.json.encode(self.job))

    def _count_write(self) -> bool:
        """Whether this write fails."""
        self._writes += 1
        return self._writes == self.fails_at

    async def find(self, kind: type[object], name: str, *, namespace: str = "") -> object:
        if kind is Job:
            return self._read()
        return decode(Pod, msgspec.json.encode(self.pods[name]))

    async def update_status(self, job: Job) -> Job:
        fails = self._count_write()
        if not fails or self.stores_first:
            self.job = {**self.job, "status": msgspec.json.decode(msgspec.json.encode(document_of(job)["status"]))}
        if fails:
            raise InternalError("the program ends here")
        return job

    async def patch(self, kind: type[object], patch: object, *, name: str, namespace: str) -> None:
        fails = self._count_write()
        if not fails or self.stores_first:
            self.pods[name]["metadata"]["finalizers"] = []
        if fails:
            raise InternalError("the program ends here")


def pod(name: str, phase: str, index: str = "") -> Document:
    annotations = {"batch.kubernetes.io/job-completion-index": index} if index else {}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job", "controller": True}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": {"job": "job"},
        "annotations": annotations,
        "ownerReferences": [owner],
        "finalizers": [JOB_TRACKING_FINALIZER],
    }
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
    return whole | {"status": {"phase": phase}}


def job(mode: str) -> Document:
    spec = {
        "completions": 2,
        "parallelism": 2,
        "backoffLimit": 6,
        "completionMode": mode,
        "selector": {"matchLabels": {"job": "job"}},
        "template": {"spec": {"containers": [], "restartPolicy": "Never"}},
    }
    metadata = {"name": "job", "namespace": "default", "uid": "job"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, "status": {}}


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
@pytest.mark.parametrize("stores_first", [False, True])
@pytest.mark.parametrize("fails_at", range(1, 8))
async def test_each_pod_is_counted_once(mode: str, fails_at: int, *, stores_first: bool) -> None:
    indexes = ("0", "1", "1") if mode == "Indexed" else ("", "", "")
    given = [pod("a", "Succeeded", indexes[0]), pod("b", "Succeeded", indexes[1]), pod("c", "Failed", indexes[2])]
    store = Store(job(mode), given)
    store.fails_at, store.stores_first = fails_at, stores_first
    for _ in range(4):  # each with a new program
        reconciler = JobReconciler(fake_context(store, list(store.pods.values()), NOW), FakeRecorder())
        try:
            await reconciler.reconcile(Request("job", "default"))
        except ApiError:
            continue
    status = store.job["status"]
    assert (status["succeeded"], status["failed"]) == (2, 1)
    assert [condition["type"] for condition in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert not any(each["metadata"]["finalizers"] for each in store.pods.values())
