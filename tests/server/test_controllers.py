"""Which of kube-controller-manager's controllers run in the server."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.errors import InvalidDefinition
from pilotage.server.controllers import ALL, selected
from pilotage.types.core.v1 import ConfigMap, Namespace, ServiceAccount


@pytest.mark.parametrize(
    ("flag", "missing"),
    [
        (["*"], set()),
        (["*", "-garbage-collector-controller"], {"garbage-collector-controller"}),
        (["*", "-garbagecollector", "-podgc"], {"garbage-collector-controller", "pod-garbage-collector-controller"}),
        (["namespace"], ALL - {"namespace-controller"}),
        (["-namespace"], ALL),  # without *, only what is named runs
        (["-namespace", "namespace", "*"], {"namespace-controller"}),  # the first of two counts
        ([], ALL),
    ],
)
def test_the_flag_selects_as_that_of_kube_controller_manager(flag: list[str], missing: set[str]) -> None:
    assert selected(flag) == ALL - missing
    assert selected(iter(flag)) == ALL - missing


@pytest.mark.parametrize("word", ["deployment-controller", "-garbage", ""])
def test_a_name_that_is_not_known_is_an_error_with_those_that_are(word: str) -> None:
    with pytest.raises(InvalidDefinition) as raised:
        selected(["*", word])
    assert f"no controller {word.removeprefix('-')!r}" in str(raised.value)
    assert all(name in str(raised.value) for name in ALL)


async def test_without_the_garbage_collector_dependents_stay() -> None:
    cluster = pt.Cluster.embedded(controllers=["*", "-garbage-collector-controller"])
    async with pt.Manager(cluster) as manager:
        owner = await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="owner", namespace="default")))
        child = ConfigMap(metadata=pt.ObjectMeta(name="child", namespace="default"))
        pt.set_owner_reference(owner, child)
        await cluster.client.create(child)
        await cluster.client.delete(owner)
        await manager.run_until_idle(timeout=30)
        assert await cluster.client.find(ConfigMap, "child", namespace="default") is not None


async def test_without_the_service_account_controller_a_program_can_bring_its_own() -> None:
    async with pt.Cluster.embedded(controllers=["*", "-serviceaccount"]) as cluster:
        await cluster.client.create(Namespace(metadata=pt.ObjectMeta(name="team")))
        assert not await cluster.client.list(ServiceAccount)
        await cluster.client.create(ServiceAccount(metadata=pt.ObjectMeta(name="default", namespace="team")))


async def test_without_the_namespace_controller_a_namespace_waits_for_its_finalizer() -> None:
    cluster = pt.Cluster.embedded(controllers=["*", "-namespace-controller"])
    async with pt.Manager(cluster) as manager:
        namespace = await cluster.client.create(Namespace(metadata=pt.ObjectMeta(name="team")))
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="settings", namespace="team")))
        await cluster.client.delete(namespace)
        await manager.run_until_idle(timeout=30)
        found = await cluster.client.get(Namespace, "team")
        assert found.metadata.deletion_timestamp is not None
        assert await cluster.client.find(ConfigMap, "settings", namespace="team") is not None


@pytest.mark.parametrize("controllers", [["*"], ["*", "-pvc-protection"]])
async def test_without_the_protection_of_claims_their_finalizer_stays(controllers: list[str]) -> None:
    from pilotage.types.core.v1 import PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements

    cluster = pt.Cluster.embedded(controllers=controllers)
    async with pt.Manager(cluster) as manager:
        spec = PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=VolumeResourceRequirements(requests={"storage": pt.Quantity("1Gi")}),
        )
        meta = pt.ObjectMeta(name="data", namespace="default")
        claim = await cluster.client.create(PersistentVolumeClaim(metadata=meta, spec=spec))
        await cluster.client.delete(claim)
        await manager.run_until_idle(timeout=30)
        left = await cluster.client.find(PersistentVolumeClaim, "data", namespace="default")
        assert (left is not None) == (len(controllers) > 1)
