"""StatefulSets on a whole API server, in virtual time; the kubelet is played by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import (
    ControllerRevision,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetSpec,
    StatefulSetStatus,
    StatefulSetUpdateStrategy,
)
from pilotage.types.core.v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    VolumeResourceRequirements,
)
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.revisions.data import data_of, revision_hash
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, make_all_ready, pass_time, selecting, set_running, template

LABELS = {"app": "web"}
COMPONENT = "statefulset-controller"


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(controllers=("statefulset-controller",))):
        yield pilotage_env


def claim_template(name: str = "data") -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": "1Gi"})  # type: ignore[dict-item]  # converted
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name=name, labels={"disk": "fast"}),
        spec=PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources),
    )


def stateful_set(replicas: int = 3, **spec: Any) -> StatefulSet:
    return StatefulSet(
        metadata=ObjectMeta(name="web", namespace=NAMESPACE, annotations={"note": "first"}),
        spec=StatefulSetSpec(
            replicas=replicas,
            selector=selecting(LABELS),
            template=template(LABELS),
            service_name="headless",
            **spec,
        ),
    )


async def pods_of(env: Environment) -> dict[str, Pod]:
    return {pod.metadata.name: pod for pod in await env.client.list(Pod, namespace=NAMESPACE)}


async def claims_of(env: Environment) -> dict[str, PersistentVolumeClaim]:
    found = await env.client.list(PersistentVolumeClaim, namespace=NAMESPACE)
    return {claim.metadata.name: claim for claim in found}


async def get_set(env: Environment) -> StatefulSet:
    return await env.client.get(StatefulSet, "web", namespace=NAMESPACE)


async def status_of(env: Environment) -> StatefulSetStatus:
    return (await get_set(env)).status or StatefulSetStatus(replicas=0)


async def wait_for(env: Environment, *names: str) -> dict[str, Pod]:
    return await env.eventually(lambda: pods_of(env), satisfies=lambda pods: sorted(pods) == sorted(names))


async def ready(env: Environment, replicas: int) -> StatefulSetStatus:
    """Make Pods ready, as they appear, until all are."""

    async def status() -> StatefulSetStatus:
        await make_all_ready(env, LABELS)
        return await status_of(env)

    return await env.eventually(
        status, satisfies=lambda found: (found.ready_replicas or 0) == found.replicas == replicas
    )


async def remove_terminating(env: Environment) -> None:
    """What a kubelet does with Pods that are being deleted."""
    for pod in (await pods_of(env)).values():
        if pod.metadata.deletion_timestamp is not None:
            await env.client.delete(pod, grace_period_seconds=0)


async def revisions_of(env: Environment) -> list[ControllerRevision]:
    found = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    return sorted(found, key=lambda revision: revision.revision)


async def test_pods_are_created_one_after_the_other(env: Environment) -> None:
    owner = await env.client.create(stateful_set())
    pods = await wait_for(env, "web-0")
    pod = pods["web-0"]
    assert pod.spec is not None
    revision = revision_hash(data_of(await get_set(env)), 0)
    assert pod.metadata.labels == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-0",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": f"web-{revision}",
    }
    assert (pod.spec.hostname, pod.spec.subdomain, pod.metadata.generate_name) == ("web-0", "headless", "web-")
    reference = OwnerReference(
        api_version="apps/v1",
        kind="StatefulSet",
        name="web",
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
    assert pod.metadata.owner_references == [reference]
    await env.consistently(lambda: pods_of(env), satisfies=lambda found: len(found) == 1)
    await make_all_ready(env, LABELS)
    await wait_for(env, "web-0", "web-1")
    status = await ready(env, 3)
    assert status == StatefulSetStatus(
        observed_generation=1,
        replicas=3,
        ready_replicas=3,
        available_replicas=3,
        current_replicas=3,
        updated_replicas=3,
        current_revision=f"web-{revision}",
        update_revision=f"web-{revision}",
        collision_count=0,
    )
    (stored,) = await revisions_of(env)
    assert (stored.metadata.name, stored.revision) == (f"web-{revision}", 1)
    assert stored.metadata.labels == {"app": "web", "controller.kubernetes.io/hash": revision}
    assert stored.metadata.annotations == {"note": "first"}
    assert stored.metadata.owner_references == [reference]


async def test_events_name_the_pods_and_the_claims(env: Environment) -> None:
    await env.client.create(stateful_set(1, volume_claim_templates=[claim_template()]))
    await ready(env, 1)
    await env.client.patch(StatefulSet, {"spec": {"replicas": 0}}, name="web", namespace=NAMESPACE)

    async def events() -> list[tuple[str, str, str, str | None]]:
        return await events_of(env, "StatefulSet", "web")

    found = await env.eventually(events, satisfies=lambda found: len(found) == 3)
    claim, pod = "Create Claim data-web-0 Pod web-0 in StatefulSet web success", "Pod web-0 in StatefulSet web"
    assert found == [
        ("Normal", "SuccessfulCreate", claim, COMPONENT),
        ("Normal", "SuccessfulCreate", f"Create {pod} successful", COMPONENT),
        ("Normal", "SuccessfulDelete", f"Delete {pod} successful", COMPONENT),
    ]


async def test_with_the_policy_parallel_all_pods_are_created_and_deleted_at_once(env: Environment) -> None:
    await env.client.create(stateful_set(pod_management_policy="Parallel"))
    await wait_for(env, "web-0", "web-1", "web-2")
    await env.client.patch(StatefulSet, {"spec": {"replicas": 0}}, name="web", namespace=NAMESPACE)
    await wait_for(env)


async def test_ordinals_begin_where_the_spec_says(env: Environment) -> None:
    await env.client.create(stateful_set(2, ordinals=StatefulSetOrdinals(start=5)))
    await ready(env, 2)
    assert set(await pods_of(env)) == {"web-5", "web-6"}
    patch = {"spec": {"ordinals": {"start": 6}}}
    await env.client.patch(StatefulSet, patch, name="web", namespace=NAMESPACE)
    await wait_for(env, "web-5", "web-6", "web-7")
    await make_all_ready(env, LABELS)
    await wait_for(env, "web-6", "web-7")


async def test_claims_are_made_from_the_templates_and_kept(env: Environment) -> None:
    await env.client.create(stateful_set(1, volume_claim_templates=[claim_template(), claim_template("logs")]))
    pod = (await wait_for(env, "web-0"))["web-0"]
    claims = await claims_of(env)
    assert set(claims) == {"data-web-0", "logs-web-0"}
    assert claims["data-web-0"].metadata.labels == {"disk": "fast", "app": "web"}
    assert claims["data-web-0"].metadata.owner_references == []
    assert pod.spec is not None
    volumes = {
        volume.name: volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    assert volumes == {"data": "data-web-0", "logs": "logs-web-0"}
    await env.client.patch(StatefulSet, {"spec": {"replicas": 0}}, name="web", namespace=NAMESPACE)
    await wait_for(env)
    assert set(await claims_of(env)) == {"data-web-0", "logs-web-0"}


async def test_a_claim_that_is_deleted_is_made_again_while_its_pod_is_pending(env: Environment) -> None:
    await env.client.create(stateful_set(1, volume_claim_templates=[claim_template()]))
    pod = (await wait_for(env, "web-0"))["web-0"]
    first = (await claims_of(env))["data-web-0"]
    await env.client.patch(first, {"metadata": {"finalizers": None}})
    await env.client.delete(first)
    await env.client.patch(pod, {"metadata": {"annotations": {"touched": "yes"}}})
    claims = await env.eventually(lambda: claims_of(env), satisfies=lambda found: "data-web-0" in found)
    assert claims["data-web-0"].metadata.uid != first.metadata.uid


async def test_claims_are_owned_as_the_retention_policy_says(env: Environment) -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Delete")
    owner = await env.client.create(
        stateful_set(2, volume_claim_templates=[claim_template()], persistent_volume_claim_retention_policy=policy)
    )
    await ready(env, 2)
    pod = (await pods_of(env))["web-1"]
    await env.client.patch(pod, {"metadata": {"finalizers": ["example.com/held"]}})
    claims = await claims_of(env)
    assert [one.uid for one in claims["data-web-1"].metadata.owner_references] == [owner.metadata.uid]
    await env.client.patch(StatefulSet, {"spec": {"replicas": 1}}, name="web", namespace=NAMESPACE)

    def owned(found: dict[str, PersistentVolumeClaim]) -> bool:
        return [one.uid for one in found["data-web-1"].metadata.owner_references] == [pod.metadata.uid]

    claims = await env.eventually(lambda: claims_of(env), satisfies=owned)
    assert [one.uid for one in claims["data-web-0"].metadata.owner_references] == [owner.metadata.uid]


async def change_image(env: Environment, image: str) -> None:
    owner = await get_set(env)
    assert owner.spec.template.spec is not None
    owner.spec.template.spec.containers[0].image = image
    await env.client.update(owner)


def images(pods: dict[str, Pod]) -> list[str | None]:
    specs = [pods[name].spec for name in sorted(pods)]
    return [spec.containers[0].image for spec in specs if spec is not None]


async def test_a_rolling_update_replaces_the_highest_ordinal_first(env: Environment) -> None:
    await env.client.create(stateful_set(2))
    before = await ready(env, 2)
    await change_image(env, "nginx:2")
    pods = await env.eventually(lambda: pods_of(env), satisfies=lambda found: "nginx:2" in images(found))
    assert images(pods) == ["nginx", "nginx:2"]
    status = await env.eventually(lambda: status_of(env), satisfies=lambda found: found.updated_replicas == 1)
    assert (status.current_revision, status.current_replicas) == (before.current_revision, 1)
    assert status.update_revision != before.update_revision
    await ready(env, 2)
    pods = await env.eventually(lambda: pods_of(env), satisfies=lambda found: images(found) == ["nginx:2"] * 2)
    await make_all_ready(env, LABELS)
    status = await env.eventually(
        lambda: status_of(env), satisfies=lambda found: found.current_revision == found.update_revision
    )
    assert (status.current_replicas, status.updated_replicas) == (2, 2)
    assert [revision.revision for revision in await revisions_of(env)] == [1, 2]


async def test_pods_below_the_partition_stay(env: Environment) -> None:
    rolling = RollingUpdateStatefulSetStrategy(partition=1)
    strategy = StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    await env.client.create(stateful_set(2, update_strategy=strategy))
    await ready(env, 2)
    await change_image(env, "nginx:2")
    await env.eventually(lambda: pods_of(env), satisfies=lambda found: "nginx:2" in images(found))
    await ready(env, 2)
    await env.consistently(lambda: pods_of(env), satisfies=lambda found: images(found) == ["nginx", "nginx:2"])
    await env.client.delete(Pod, "web-0", namespace=NAMESPACE)
    pods = await wait_for(env, "web-0", "web-1")
    assert images(pods) == ["nginx", "nginx:2"]


async def test_with_on_delete_pods_are_replaced_when_they_are_deleted(env: Environment) -> None:
    await env.client.create(stateful_set(1, update_strategy=StatefulSetUpdateStrategy(type="OnDelete")))
    await ready(env, 1)
    await change_image(env, "nginx:2")
    await env.eventually(lambda: revisions_of(env), satisfies=lambda found: len(found) == 2)
    await env.consistently(lambda: pods_of(env), satisfies=lambda found: images(found) == ["nginx"])
    await env.client.delete(Pod, "web-0", namespace=NAMESPACE)
    await env.eventually(lambda: pods_of(env), satisfies=lambda found: images(found) == ["nginx:2"])


async def test_a_rollback_gives_the_old_revision_a_new_number(env: Environment) -> None:
    await env.client.create(stateful_set(0))
    first = await env.eventually(lambda: revisions_of(env), satisfies=lambda found: len(found) == 1)
    await change_image(env, "nginx:2")
    await env.eventually(lambda: revisions_of(env), satisfies=lambda found: len(found) == 2)
    await change_image(env, "nginx")
    again = await env.eventually(
        lambda: revisions_of(env), satisfies=lambda found: [one.revision for one in found] == [2, 3]
    )
    assert again[-1].metadata.name == first[0].metadata.name


async def test_old_revisions_are_deleted_down_to_the_limit(env: Environment) -> None:
    await env.client.create(stateful_set(0, revision_history_limit=1))
    for number in range(1, 5):
        await wait_for_revision(env, number)
        await change_image(env, f"nginx:{number}")
    await wait_for_revision(env, 5)
    numbers = await env.eventually(lambda: numbers_of(env), satisfies=lambda found: len(found) <= 2)
    assert numbers == [4, 5]


async def numbers_of(env: Environment) -> list[int]:
    return [revision.revision for revision in await revisions_of(env)]


async def wait_for_revision(env: Environment, number: int) -> None:
    await env.eventually(lambda: numbers_of(env), satisfies=lambda found: number in found)


async def test_a_pod_that_has_ended_is_created_again(env: Environment) -> None:
    await env.client.create(stateful_set(1))
    pod = (await wait_for(env, "web-0"))["web-0"]
    for phase in ("Failed", "Succeeded"):
        await env.client.patch_status(pod, {"status": {"phase": phase}})
        pod = await wait_for_another(env, pod.metadata.uid)


async def wait_for_another(env: Environment, uid: str) -> Pod:
    """Wait until web-0 is another Pod than the one with this uid."""

    def is_another(found: dict[str, Pod]) -> bool:
        return len(found) == 1 and found["web-0"].metadata.uid != uid

    return (await env.eventually(lambda: pods_of(env), satisfies=is_another))["web-0"]


async def test_the_next_pod_waits_until_the_one_before_is_available(env: Environment) -> None:
    await env.client.create(stateful_set(2, min_ready_seconds=30))
    pod = (await wait_for(env, "web-0"))["web-0"]
    await set_running(env.client, pod, now=env.clock())
    status = await env.eventually(lambda: status_of(env), satisfies=lambda found: found.ready_replicas == 1)
    assert status.available_replicas == 0
    await pass_time(env, 25)
    assert set(await pods_of(env)) == {"web-0"}
    await pass_time(env, 10)
    await wait_for(env, "web-0", "web-1")
    assert (await status_of(env)).available_replicas == 1


async def test_a_pod_that_loses_its_label_gets_it_again(env: Environment) -> None:
    await env.client.create(stateful_set(1))
    await ready(env, 1)
    pod = (await pods_of(env))["web-0"]
    await env.client.patch(pod, {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": None}}})
    label = "statefulset.kubernetes.io/pod-name"
    await env.eventually(lambda: pods_of(env), satisfies=lambda found: label in found["web-0"].metadata.labels)
    found = await env.eventually(lambda: events_of(env, "StatefulSet", "web"), satisfies=lambda found: len(found) == 2)
    message = "Update Pod web-0 in StatefulSet web successful"
    assert found[-1] == ("Normal", "SuccessfulUpdate", message, COMPONENT)


async def test_a_pod_of_its_name_without_a_controller_is_adopted_and_another_name_is_not(env: Environment) -> None:
    for name in ("web-0", "other-0"):
        pod = Pod(metadata=ObjectMeta(name=name, namespace=NAMESPACE, labels=LABELS), spec=template(LABELS).spec)
        await env.client.create(pod)
    owner = await env.client.create(stateful_set(1))

    def adopted(pods: dict[str, Pod]) -> bool:
        return [one.uid for one in pods["web-0"].metadata.owner_references] == [owner.metadata.uid]

    pods = await env.eventually(lambda: pods_of(env), satisfies=adopted)
    assert pods["other-0"].metadata.owner_references == []


async def test_a_pod_that_is_no_longer_selected_is_released(env: Environment) -> None:
    await env.client.create(stateful_set(1))
    pod = (await wait_for(env, "web-0"))["web-0"]
    await env.client.patch(pod, {"metadata": {"labels": {"app": "other"}}})
    await env.eventually(lambda: pods_of(env), satisfies=lambda found: not found["web-0"].metadata.owner_references)
