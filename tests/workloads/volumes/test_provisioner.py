"""Claims and volumes on the embedded server, with the scheduler and the kubelet: what a user sees."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.quantity import Quantity
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import StatefulSet, StatefulSetSpec
from pilotage.types.core.v1 import (
    Container,
    HostPathVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    PodSpec,
    Volume,
    VolumeResourceRequirements,
)
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.faults.fault import Fault
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, pass_time, selecting, template

FAST = "fast.csi.example.com"


@pytest.fixture
async def workloads(pilotage_env: Environment) -> AsyncIterator[Workloads]:
    async with pilotage_env.workloads(nodes=2) as made:
        yield made


def fast(mode: str = "Immediate", policy: str = "Delete") -> StorageClass:
    return StorageClass(
        metadata=ObjectMeta(name="fast"), provisioner=FAST, volume_binding_mode=mode, reclaim_policy=policy
    )


def claim(name: str = "data", storage_class: str | None = None, size: str = "1Gi") -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": Quantity(size)})
    spec = PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"], resources=resources, storage_class_name=storage_class
    )
    return PersistentVolumeClaim(metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec)


def pod(claims: Sequence[str] = ("data",), name: str = "user") -> Pod:
    sources = {each: PersistentVolumeClaimVolumeSource(claim_name=each) for each in claims}
    volumes = [Volume(name=each, persistent_volume_claim=source) for each, source in sources.items()]
    spec = PodSpec(containers=[Container(name="main", image="app")], volumes=volumes)
    return Pod(metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec)


def disk(name: str, storage_class: str = "", policy: str = "Retain", path: str = "/data") -> PersistentVolume:
    spec = PersistentVolumeSpec(
        access_modes=["ReadWriteOnce"],
        capacity={"storage": Quantity("5Gi")},
        storage_class_name=storage_class,
        persistent_volume_reclaim_policy=policy,
        host_path=HostPathVolumeSource(path=path),
    )
    return PersistentVolume(metadata=ObjectMeta(name=name), spec=spec)


async def found(env: Environment, name: str = "data") -> PersistentVolumeClaim:
    return await env.client.get(PersistentVolumeClaim, name, namespace=NAMESPACE)


async def phase(env: Environment, name: str = "data") -> str | None:
    obj = await found(env, name)
    return obj.status.phase if obj.status else None


async def volume_of(env: Environment, name: str = "data") -> PersistentVolume:
    obj = await found(env, name)
    assert obj.spec is not None
    return await env.client.get(PersistentVolume, obj.spec.volume_name or "")


async def volume_phase(env: Environment, name: str) -> str | None:
    obj = await env.client.find(PersistentVolume, name)
    return obj.status.phase if obj is not None and obj.status else None


async def test_a_claim_of_an_immediate_class_is_provisioned(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(fast(), claim(storage_class="fast"))
    await env.eventually(lambda: phase(env), equals="Bound")
    bound, volume = await found(env), await volume_of(env)
    assert bound.metadata.annotations == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
        "volume.beta.kubernetes.io/storage-provisioner": FAST,
        "volume.kubernetes.io/storage-provisioner": FAST,
    }
    assert volume.metadata.name == f"pvc-{bound.metadata.uid}"
    assert volume.metadata.annotations == {"pv.kubernetes.io/provisioned-by": FAST}
    assert volume.spec is not None
    assert volume.spec.csi is not None
    assert (volume.spec.csi.driver, volume.spec.storage_class_name) == (FAST, "fast")
    assert volume.status is not None
    assert volume.status.phase == "Bound"
    text = f"Successfully provisioned volume {volume.metadata.name}"
    await env.run_until_idle()
    events = await events_of(env, "PersistentVolumeClaim", "data")
    assert ("Normal", "ProvisioningSucceeded", text, FAST) in events
    assert ("ExternalProvisioning", "persistentvolume-controller") in {(each[1], each[3]) for each in events}


async def test_a_claim_without_a_class_gets_the_one_of_kind_and_waits_for_its_pod(
    pilotage_env: Environment, workloads: Workloads
) -> None:
    env = pilotage_env
    await env.given(claim())
    await env.run_until_idle()
    assert await phase(env) == "Pending"
    events = await events_of(env, "PersistentVolumeClaim", "data")
    assert [each[1:3] for each in events] == [
        ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    ]
    await env.given(pod())
    await env.eventually(lambda: phase(env), equals="Bound")
    await env.run_until_idle()
    user, volume = await env.client.get(Pod, "user", namespace=NAMESPACE), await volume_of(env)
    assert user.spec is not None
    assert user.status is not None
    assert user.status.phase == "Running"
    assert (await found(env)).metadata.annotations["volume.kubernetes.io/selected-node"] == user.spec.node_name
    assert volume.metadata.annotations["pv.kubernetes.io/provisioned-by"] == "rancher.io/local-path"
    assert volume.spec is not None
    assert volume.spec.node_affinity is not None


async def test_an_api_server_with_a_class_gets_no_other(pilotage_env: Environment) -> None:
    env = pilotage_env
    await env.given(fast())
    async with env.workloads():
        assert [one.metadata.name for one in await env.client.list(StorageClass)] == ["fast"]


async def test_a_volume_is_deleted_with_its_claim(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(fast(), claim(storage_class="fast"))
    await env.eventually(lambda: phase(env), equals="Bound")
    name = (await volume_of(env)).metadata.name
    await env.client.delete(PersistentVolumeClaim, "data", namespace=NAMESPACE)
    await env.eventually(lambda: volume_phase(env, name), is_=None)
    assert await env.client.find(PersistentVolume, name) is None


async def test_a_retained_volume_is_released(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(disk("disk"), claim(storage_class=""))
    await env.eventually(lambda: volume_phase(env, "disk"), equals="Bound")
    await env.client.delete(PersistentVolumeClaim, "data", namespace=NAMESPACE)
    await env.eventually(lambda: volume_phase(env, "disk"), equals="Released")
    await env.given(claim("other", ""))
    await env.run_until_idle()
    assert await phase(env, "other") == "Pending"


async def test_a_claim_in_use_is_kept_until_its_pod_is_gone(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(disk("disk"), claim(storage_class=""), pod())
    await env.run_until_idle()
    await env.client.delete(PersistentVolumeClaim, "data", namespace=NAMESPACE)
    await env.run_until_idle()
    assert (await found(env)).metadata.deletion_timestamp is not None
    assert await volume_phase(env, "disk") == "Bound"
    await env.client.delete(Pod, "user", namespace=NAMESPACE)
    await env.eventually(lambda: volume_phase(env, "disk"), equals="Released")


async def test_a_volume_of_another_kind_cannot_be_deleted_here(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(disk("disk", policy="Delete"), claim(storage_class=""))
    await env.eventually(lambda: phase(env), equals="Bound")
    await env.client.delete(PersistentVolumeClaim, "data", namespace=NAMESPACE)
    await env.eventually(lambda: volume_phase(env, "disk"), equals="Failed")
    volume = await env.client.get(PersistentVolume, "disk")
    assert volume.status is not None
    assert volume.status.message == "host_path deleter only supports /tmp/.+ but received provided /data"


async def test_a_free_volume_is_found_by_a_claim_that_waits(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(claim(storage_class=""))
    await env.run_until_idle()
    assert await phase(env) == "Pending"
    await env.given(disk("disk"))
    await env.eventually(lambda: phase(env), equals="Bound", timeout=1)


async def test_a_statefulset_with_claims_runs_and_keeps_its_volumes(
    pilotage_env: Environment, workloads: Workloads
) -> None:
    env = pilotage_env
    labels = {"app": "db"}
    spec = StatefulSetSpec(
        replicas=3,
        selector=selecting(labels),
        service_name="db",
        template=template(labels),
        volume_claim_templates=[claim()],
    )
    await env.given(StatefulSet(metadata=ObjectMeta(name="db", namespace=NAMESPACE), spec=spec))
    await env.run_until_idle()
    phases = {pod.status.phase for pod in await env.client.list(Pod, namespace=NAMESPACE) if pod.status}
    assert phases == {"Running"}
    before = {one.metadata.name for one in await env.client.list(PersistentVolume)}
    assert len(before) == 3
    await env.client.patch(StatefulSet, {"spec": {"replicas": 0}}, name="db", namespace=NAMESPACE)
    await env.run_until_idle()
    await env.client.patch(StatefulSet, {"spec": {"replicas": 3}}, name="db", namespace=NAMESPACE)
    await env.run_until_idle()
    assert {one.metadata.name for one in await env.client.list(PersistentVolume)} == before


async def test_a_slow_volume_is_provisioned_late(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    workloads.inject(Fault("slow-volume", after=300))
    began = env.clock()
    await env.given(fast(), claim(storage_class="fast"), claim("other", "fast"))
    await env.run_until_idle()
    assert await phase(env) == "Bound"
    assert 300 <= (env.clock() - began).total_seconds() < 330


async def test_a_slow_volume_of_one_pod_delays_no_other(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    workloads.inject(Fault("slow-volume", after=300, pod="user"))
    await env.given(claim(), claim("other"), pod(), pod(["other"], "quick"))
    await env.eventually(lambda: phase(env, "other"), equals="Bound", timeout=20)
    assert await phase(env) == "Pending"
    await env.eventually(lambda: phase(env), equals="Bound", timeout=400)


async def test_a_pod_of_a_lost_node_waits_where_its_volume_is(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(claim(), pod())
    await env.run_until_idle()
    user = await env.client.get(Pod, "user", namespace=NAMESPACE)
    assert user.spec is not None
    workloads.lose_node(user.spec.node_name or "")
    await pass_time(env, 60)
    await env.given(pod(name="second"))
    await env.run_until_idle()
    second = await env.client.get(Pod, "second", namespace=NAMESPACE)
    assert second.spec is not None
    assert not second.spec.node_name
    assert second.status is not None
    assert "1 node(s) didn't match PersistentVolume's node affinity" in (second.status.conditions[0].message or "")
