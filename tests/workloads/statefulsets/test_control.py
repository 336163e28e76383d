"""Writes of Pods and claims: the behaviours of Kubernetes' stateful_pod_control_test.go, by the names of its tests."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.client.client import Client
from pilotage.client.interception import Interceptor, intercept
from pilotage.cluster.events import EventRecorder
from pilotage.errors import AlreadyExists, Conflict, InternalError, Invalid
from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec
from pilotage.types.core.v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    VolumeResourceRequirements,
)
from pilotage.workloads.pods.view import PodView, view_of
from pilotage.workloads.statefulsets.control import ClaimsNotReady, StatefulPodControl
from tests.workloads.kit import NAMESPACE, selecting, template

LABELS = {"app": "web"}
SUBJECT = "Pod web-0 in StatefulSet web"


class Recorder(EventRecorder):
    """Keeps the reasons and messages of Events."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def event(self, obj: Any, type: str, reason: str, message: str, **options: Any) -> None:  # noqa: A002
        self.found.append((reason, message))


class Case:
    """A StatefulSet with one claim for each Pod, and the control of its Pods."""

    def __init__(self, client: Client, owner: StatefulSet) -> None:
        self.client, self.owner, self.recorder = client, owner, Recorder()
        self.control = StatefulPodControl(client, self.recorder)

    async def create(self) -> None:
        await self.control.create(self.owner, self.owner.spec.template, "web-1", 0)

    async def pod(self) -> Pod:
        return await self.client.get(Pod, "web-0", namespace=NAMESPACE)

    async def view(self) -> PodView:
        (data,) = (await self.client.list(Pod, namespace=NAMESPACE)).data
        return view_of(bytes(data))

    async def claim(self) -> PersistentVolumeClaim | None:
        return await self.client.find(PersistentVolumeClaim, "data-web-0", namespace=NAMESPACE)

    def failing(self, **functions: Any) -> StatefulPodControl:
        """A control whose calls of some methods are intercepted."""
        return StatefulPodControl(intercept(self.client, Interceptor(**functions)), self.recorder)


@pytest.fixture
async def case(pilotage_env: Environment) -> Case:
    resources = VolumeResourceRequirements(requests={"storage": "1Gi"})  # type: ignore[dict-item]  # converted
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data"),
        spec=PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources),
    )
    owner = StatefulSet(
        metadata=ObjectMeta(name="web", namespace=NAMESPACE),
        spec=StatefulSetSpec(
            replicas=1, selector=selecting(LABELS), template=template(LABELS), volume_claim_templates=[claim]
        ),
    )
    return Case(pilotage_env.client, await pilotage_env.client.create(owner))


def refuse(kind: type[Any], error: Exception) -> Any:
    """A method that fails for a kind."""

    async def method(client: Client, obj: Any, *arguments: Any, **options: Any) -> Any:
        if obj is kind or isinstance(obj, kind):
            raise error
        return await client.create(obj, *arguments, **options)

    return method


async def test_creates_pods(case: Case) -> None:
    await case.create()
    assert case.recorder.found == [
        ("SuccessfulCreate", f"Create Claim data-web-0 {SUBJECT} success"),
        ("SuccessfulCreate", f"Create {SUBJECT} successful"),
    ]
    assert await case.claim() is not None


async def test_create_pod_exists(case: Case) -> None:
    await case.create()
    case.recorder.found.clear()
    with pytest.raises(AlreadyExists):
        await case.create()
    assert case.recorder.found == []


async def test_create_pod_pvc_create_failure(case: Case) -> None:
    control = case.failing(create=refuse(PersistentVolumeClaim, InternalError("API server down")))
    with pytest.raises(ClaimsNotReady, match="failed to create PVC data-web-0: API server down"):
        await control.create(case.owner, case.owner.spec.template, "web-1", 0)
    reasons = [reason for reason, _ in case.recorder.found]
    assert reasons == ["FailedCreate", "FailedCreate"]
    assert case.recorder.found[1][1].startswith(f"Create {SUBJECT} failed error: failed to create PVC data-web-0:")
    assert len(await case.client.list(Pod, namespace=NAMESPACE)) == 0


async def test_create_pod_pvc_deleting(case: Case) -> None:
    await case.create()
    await case.client.delete(await case.pod(), grace_period_seconds=0)
    claim = await case.claim()
    assert claim is not None
    await case.client.patch(claim, {"metadata": {"finalizers": ["example.com/held"]}})
    await case.client.delete(claim)
    case.recorder.found.clear()
    with pytest.raises(ClaimsNotReady):
        await case.create()
    message = f"Create {SUBJECT} failed error: pvc data-web-0 is being deleted"
    assert case.recorder.found == [("FailedCreate", message)]


async def test_create_pod_failed(case: Case) -> None:
    control = case.failing(create=refuse(Pod, InternalError("API server down")))
    with pytest.raises(InternalError):
        await control.create(case.owner, case.owner.spec.template, "web-1", 0)
    assert [reason for reason, _ in case.recorder.found] == ["SuccessfulCreate", "FailedCreate"]
    assert await case.claim() is not None


async def test_no_op_update(case: Case) -> None:
    await case.create()
    case.recorder.found.clear()
    before = await case.pod()
    await case.control.update(case.owner, await case.view())
    assert case.recorder.found == []
    assert (await case.pod()).metadata.resource_version == before.metadata.resource_version


async def without_label(case: Case) -> PodView:
    """A Pod that has lost its label."""
    await case.create()
    case.recorder.found.clear()
    await case.client.patch(await case.pod(), {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": None}}})
    return await case.view()


async def test_updates_identity(case: Case) -> None:
    await case.control.update(case.owner, await without_label(case))
    assert case.recorder.found == [("SuccessfulUpdate", f"Update {SUBJECT} successful")]
    assert (await case.pod()).metadata.labels["statefulset.kubernetes.io/pod-name"] == "web-0"


@pytest.mark.parametrize("error", [InternalError("API server down"), Conflict("written by another")])
async def test_update_identity_failure(case: Case, error: Exception) -> None:
    view = await without_label(case)
    with pytest.raises(type(error)):
        await case.failing(update=refuse(Pod, error)).update(case.owner, view)
    assert case.recorder.found == [("FailedUpdate", f"Update {SUBJECT} failed error: {error}")]


async def test_updates_pod_storage_which_the_server_refuses(case: Case) -> None:
    pod = Pod(metadata=ObjectMeta(name="web-0", namespace=NAMESPACE, labels=LABELS), spec=template(LABELS).spec)
    await case.client.create(pod)
    with pytest.raises(Invalid):
        await case.control.update(case.owner, await case.view())
    assert [reason for reason, _ in case.recorder.found] == ["SuccessfulCreate", "FailedUpdate"]
    assert await case.claim() is not None


async def test_deletes_stateful_pod_and_one_that_does_not_exist(case: Case) -> None:
    await case.create()
    view = await case.view()
    case.recorder.found.clear()
    await case.control.delete(case.owner, view)
    await case.control.delete(case.owner, view)
    assert case.recorder.found == [("SuccessfulDelete", f"Delete {SUBJECT} successful")] * 2


async def test_delete_failure(case: Case) -> None:
    await case.create()
    view = await case.view()
    case.recorder.found.clear()
    with pytest.raises(InternalError):
        await case.failing(delete=refuse(Pod, InternalError("API server down"))).delete(case.owner, view)
    assert case.recorder.found == [("FailedDelete", f"Delete {SUBJECT} failed error: API server down")]


def set_policy(case: Case, when_scaled: str, when_deleted: str) -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_scaled=when_scaled, when_deleted=when_deleted)
    case.owner.spec.persistent_volume_claim_retention_policy = policy


async def owners(case: Case) -> list[str]:
    claim = await case.claim()
    assert claim is not None
    return [one.uid for one in claim.metadata.owner_references]


async def test_retention_policy_update(case: Case) -> None:
    set_policy(case, "Retain", "Delete")
    await case.create()
    assert await owners(case) == [case.owner.metadata.uid]
    set_policy(case, "Retain", "Retain")
    await case.control.update(case.owner, await case.view())
    assert await owners(case) == []
    assert case.recorder.found[-1] == ("SuccessfulUpdate", f"Update {SUBJECT} successful")


async def test_retention_policy_update_missing_claims(case: Case) -> None:
    await case.create()
    set_policy(case, "Delete", "Delete")
    claim = await case.claim()
    assert claim is not None
    await case.client.patch(claim, {"metadata": {"finalizers": None}})
    await case.client.delete(claim)
    await case.control.own_claims(case.owner, await case.view())
    assert await case.claim() is None


async def test_update_pod_claim_for_retention_policy_with_another_controller(case: Case) -> None:
    await case.create()
    other = OwnerReference(api_version="v1", kind="ConfigMap", name="other", uid="other", controller=True)
    claim = await case.claim()
    assert claim is not None
    claim.metadata.owner_references = [other]
    await case.client.update(claim)
    set_policy(case, "Retain", "Delete")
    case.recorder.found.clear()
    await case.control.own_claims(case.owner, await case.view())
    assert await owners(case) == ["other"]
    message = (
        "PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a manging controller, "
        "the retention policy is ignored for this claim"
    )
    assert case.recorder.found == [("ConflictingController", message)]
