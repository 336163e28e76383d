"""Deployments on a whole API server, in virtual time; the kubelet is played by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import (
    Deployment,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    RollingUpdateDeployment,
)
from pilotage.types.core.v1 import Pod
from pilotage.workloads.deployments.revisions import DESIRED_REPLICAS, MAX_REPLICAS, REVISION, REVISION_HISTORY
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, make_all_ready, pass_time, selecting, template

LABELS = {"app": "web"}
CONTROLLERS = ("replicaset-controller", "deployment-controller")


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(controllers=CONTROLLERS)):
        yield pilotage_env


def deployment(
    replicas: int = 3,
    *,
    strategy: DeploymentStrategy | None = None,
    deadline: int | None = None,
    history: int | None = None,
) -> Deployment:
    return Deployment(
        metadata=ObjectMeta(name="web", namespace=NAMESPACE, annotations={"team": "a"}),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=selecting(LABELS),
            template=template(LABELS),
            strategy=strategy,
            progress_deadline_seconds=deadline,
            revision_history_limit=history,
        ),
    )


RECREATE = DeploymentStrategy(type="Recreate")


async def read(env: Environment) -> Deployment:
    return await env.client.get(Deployment, "web", namespace=NAMESPACE)


async def status_of(env: Environment) -> DeploymentStatus:
    return (await read(env)).status or DeploymentStatus()


async def conditions_of(env: Environment) -> dict[str, tuple[str, str | None, str | None]]:
    return {each.type: (each.status, each.reason, each.message) for each in (await status_of(env)).conditions}


async def replica_sets(env: Environment) -> list[ReplicaSet]:
    found = list(await env.client.list(ReplicaSet, namespace=NAMESPACE))
    return sorted(found, key=lambda each: int(each.metadata.annotations.get(REVISION, "0")))


async def sizes(env: Environment) -> list[int | None]:
    return [each.spec.replicas for each in await replica_sets(env)]


async def pods_of(env: Environment) -> list[Pod]:
    return list(await env.client.list(Pod, namespace=NAMESPACE))


async def messages_of(env: Environment) -> list[str]:
    return [message for _, _, message, _ in await events_of(env, "Deployment", "web")]


async def roll_out(env: Environment, replicas: int = 3) -> None:
    """Make Pods ready until the Deployment is complete."""

    async def complete() -> bool:
        await make_all_ready(env, LABELS)
        found = await read(env)
        status = found.status or DeploymentStatus()
        counts = status.replicas, status.updated_replicas, status.available_replicas, status.observed_generation
        return counts == (replicas or None,) * 3 + (found.metadata.generation,)

    await env.eventually(complete)


async def set_image(env: Environment, image: str) -> None:
    container = {"name": "main", "image": image}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    await env.client.patch(Deployment, patch, name="web", namespace=NAMESPACE)


async def test_a_deployment_creates_a_replica_set_and_reports_it(env: Environment) -> None:
    await env.client.create(deployment())
    await env.eventually(lambda: pods_of(env), satisfies=lambda pods: len(pods) == 3)
    [made] = await replica_sets(env)
    label = made.metadata.labels["pod-template-hash"]
    assert made.metadata.name == f"web-{label}"
    assert made.metadata.labels == {**LABELS, "pod-template-hash": label} == made.spec.selector.match_labels
    assert made.metadata.annotations == {
        "team": "a",
        REVISION: "1",
        DESIRED_REPLICAS: "3",
        MAX_REPLICAS: "4",
    }
    assert [pod.metadata.labels for pod in await pods_of(env)] == [made.metadata.labels] * 3
    assert (await read(env)).metadata.annotations == {"team": "a", REVISION: "1"}
    await env.eventually(
        lambda: conditions_of(env),
        satisfies=lambda found: (
            found.get("Available")
            == ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        ),
    )
    await roll_out(env)
    await env.eventually(
        lambda: conditions_of(env),
        equals={
            "Available": ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            "Progressing": (
                "True",
                "NewReplicaSetAvailable",
                f'ReplicaSet "{made.metadata.name}" has successfully progressed.',
            ),
        },
    )
    status = await status_of(env)
    assert (status.ready_replicas, status.unavailable_replicas, status.terminating_replicas) == (3, None, 0)
    expected = ("Normal", "ScalingReplicaSet", f"Scaled up replica set {made.metadata.name} from 0 to 3")
    await env.eventually(lambda: events_of(env, "Deployment", "web"), equals=[(*expected, "deployment-controller")])


async def test_a_rolling_update_keeps_within_surge_and_unavailable(env: Environment) -> None:
    limits = RollingUpdateDeployment(max_surge=1, max_unavailable=0)
    await env.client.create(deployment(strategy=DeploymentStrategy(type="RollingUpdate", rolling_update=limits)))
    await roll_out(env)
    await set_image(env, "nginx:2")
    seen: list[tuple[int, int]] = []

    async def done() -> bool:
        status = await status_of(env)
        seen.append((sum(count or 0 for count in await sizes(env)), status.available_replicas or 0))
        await make_all_ready(env, LABELS)
        return await sizes(env) == [0, 3] and (await status_of(env)).updated_replicas == 3

    await env.eventually(done)
    assert max(wanted for wanted, _ in seen) == 4
    assert min(available for _, available in seen) >= 3
    new, old = (await replica_sets(env))[1], (await replica_sets(env))[0]
    assert (new.metadata.annotations[REVISION], old.metadata.annotations[REVISION]) == ("2", "1")
    name, before = new.metadata.name, old.metadata.name
    expected = [
        f"Scaled up replica set {before} from 0 to 3",
        f"Scaled up replica set {name} from 0 to 1",
        f"Scaled down replica set {before} from 3 to 2",
        f"Scaled up replica set {name} from 1 to 2",
        f"Scaled down replica set {before} from 2 to 1",
        f"Scaled up replica set {name} from 2 to 3",
        f"Scaled down replica set {before} from 1 to 0",
    ]
    await env.eventually(lambda: messages_of(env), equals=expected)


async def test_recreate_waits_until_all_old_pods_have_gone(env: Environment) -> None:
    await env.client.create(deployment(strategy=RECREATE))
    await roll_out(env)
    pods = await pods_of(env)
    for pod in pods:
        await env.client.patch(pod, {"metadata": {"finalizers": ["test/hold"]}})
    await set_image(env, "nginx:2")
    await env.eventually(lambda: sizes(env), equals=[0])
    await pass_time(env, 30)
    assert await sizes(env) == [0]
    for pod in pods:
        await env.client.patch(pod, {"metadata": {"finalizers": None}})
    await env.eventually(lambda: sizes(env), equals=[0, 3])
    await roll_out(env)


async def test_a_rollback_uses_the_old_replica_set_and_keeps_the_history(env: Environment) -> None:
    await env.client.create(deployment())
    await roll_out(env)
    [first] = await replica_sets(env)
    await set_image(env, "nginx:2")
    await roll_out(env)
    await set_image(env, "nginx")
    await roll_out(env)
    _, current = await replica_sets(env)
    assert current.metadata.uid == first.metadata.uid
    assert current.metadata.annotations[REVISION] == "3"
    assert current.metadata.annotations[REVISION_HISTORY] == "1"
    assert (await read(env)).metadata.annotations[REVISION] == "3"


async def test_scaling_during_a_rollout_is_proportional(env: Environment) -> None:
    limits = RollingUpdateDeployment(max_surge=3, max_unavailable=2)
    strategy = DeploymentStrategy(type="RollingUpdate", rolling_update=limits)
    await env.client.create(deployment(10, strategy=strategy))
    await roll_out(env, 10)
    await set_image(env, "nginx:broken")
    await env.eventually(lambda: sizes(env), equals=[8, 5])
    await env.client.patch(Deployment, {"spec": {"replicas": 15}}, name="web", namespace=NAMESPACE)
    await env.eventually(lambda: sizes(env), equals=[11, 7])


async def test_a_scaled_deployment_scales_its_only_replica_set(env: Environment) -> None:
    await env.client.create(deployment())
    await roll_out(env)
    [made] = await replica_sets(env)
    await env.client.patch(Deployment, {"spec": {"replicas": 5}}, name="web", namespace=NAMESPACE)
    await roll_out(env, 5)
    await env.client.patch(Deployment, {"spec": {"replicas": 1}}, name="web", namespace=NAMESPACE)
    await roll_out(env, 1)
    expected = [
        f"Scaled up replica set {made.metadata.name} from 0 to 3",
        f"Scaled up replica set {made.metadata.name} from 3 to 5",
        f"Scaled down replica set {made.metadata.name} from 5 to 1",
    ]
    await env.eventually(lambda: messages_of(env), equals=expected)
    [scaled] = await replica_sets(env)
    assert scaled.metadata.annotations[DESIRED_REPLICAS] == "1"


async def test_a_paused_deployment_does_not_roll_out_until_it_is_resumed(env: Environment) -> None:
    await env.client.create(deployment())
    await roll_out(env)
    await env.client.patch(Deployment, {"spec": {"paused": True}}, name="web", namespace=NAMESPACE)
    await set_image(env, "nginx:2")
    paused = ("Unknown", "DeploymentPaused", "Deployment is paused")
    await env.eventually(lambda: conditions_of(env), satisfies=lambda found: found["Progressing"] == paused)
    await pass_time(env, 700)
    assert await sizes(env) == [3]
    await env.client.patch(Deployment, {"spec": {"paused": None}}, name="web", namespace=NAMESPACE)
    await roll_out(env)
    assert await sizes(env) == [0, 3]


async def test_a_rollout_without_progress_exceeds_its_deadline(env: Environment) -> None:
    await env.client.create(deployment(deadline=60))
    start = env.clock()
    [made] = await env.eventually(lambda: replica_sets(env), satisfies=lambda found: len(found) == 1)
    message = f'ReplicaSet "{made.metadata.name}" has timed out progressing.'
    expected = ("False", "ProgressDeadlineExceeded", message)
    await env.eventually(
        lambda: conditions_of(env), satisfies=lambda found: found.get("Progressing") == expected, timeout=100
    )
    assert 60 <= (env.clock() - start).total_seconds() <= 63
    await roll_out(env)
    await env.eventually(lambda: conditions_of(env), satisfies=lambda found: found["Progressing"][0] == "True")


async def test_old_replica_sets_beyond_the_history_limit_are_deleted(env: Environment) -> None:
    await env.client.create(deployment(1, history=1))
    await roll_out(env, 1)
    for version in range(3):
        await set_image(env, f"nginx:{version}")
        await roll_out(env, 1)
    await env.eventually(
        lambda: replica_sets(env),
        satisfies=lambda found: [each.metadata.annotations[REVISION] for each in found] == ["3", "4"],
    )


async def test_a_collision_of_hashes_gets_another_hash(env: Environment) -> None:
    await env.client.create(deployment())
    await roll_out(env)
    [made] = await replica_sets(env)
    await env.client.patch(made, {"metadata": {"ownerReferences": None, "labels": {"app": "other"}}})
    await env.eventually(lambda: replica_sets(env), satisfies=lambda found: len(found) == 2)
    assert (await status_of(env)).collision_count == 1


async def test_a_replica_set_without_a_controller_is_adopted(env: Environment) -> None:
    await env.client.create(deployment())
    await roll_out(env)
    [made] = await replica_sets(env)
    await env.client.patch(made, {"metadata": {"ownerReferences": None}})
    await env.eventually(lambda: replica_sets(env), satisfies=lambda found: bool(found[0].metadata.owner_references))
    assert len(await replica_sets(env)) == 1


async def test_changed_annotations_and_min_ready_seconds_reach_the_replica_set(env: Environment) -> None:
    await env.client.create(deployment())
    await roll_out(env)
    patch = {"metadata": {"annotations": {"team": "b"}}, "spec": {"minReadySeconds": 7}}
    await env.client.patch(Deployment, patch, name="web", namespace=NAMESPACE)

    async def reached() -> tuple[str, int | None]:
        [found] = await replica_sets(env)
        return found.metadata.annotations["team"], found.spec.min_ready_seconds

    await env.eventually(reached, equals=("b", 7))


async def test_sync_deployment_does_not_do_anything_during_deletion(env: Environment) -> None:
    held = deployment()
    held.metadata.finalizers = ["test/hold"]
    await env.client.create(held)
    await roll_out(env)
    [made] = await replica_sets(env)
    await env.client.patch(made, {"metadata": {"finalizers": ["test/hold"]}})
    await env.client.delete(Deployment, "web", namespace=NAMESPACE)
    await set_image(env, "nginx:2")
    await env.eventually(lambda: status_of(env), satisfies=lambda status: status.observed_generation == 3)
    assert len(await replica_sets(env)) == 1


async def test_get_replica_sets_for_deployment_of_two_with_the_same_selector(env: Environment) -> None:
    await env.client.create(deployment(1))
    await roll_out(env, 1)
    other = deployment(2)
    other.metadata.name = "other"
    other.spec.template = template(LABELS, "nginx:other")
    await env.client.create(other)
    found = await env.eventually(lambda: replica_sets(env), satisfies=lambda found: len(found) == 2)
    assert {each.metadata.owner_references[0].name: each.spec.replicas for each in found} == {"web": 1, "other": 2}


async def test_get_replica_sets_for_deployment_adopt_release(env: Environment) -> None:
    await env.client.create(deployment(1))
    await roll_out(env, 1)
    [made] = await replica_sets(env)
    await env.client.patch(made, {"metadata": {"labels": {"app": "released"}}})

    async def controllers() -> list[int]:
        found = await env.client.get(ReplicaSet, made.metadata.name, namespace=NAMESPACE)
        return [len(found.metadata.owner_references), (await status_of(env)).collision_count or 0]

    await env.eventually(controllers, equals=[0, 1])
    await env.client.patch(made, {"metadata": {"labels": LABELS}})
    await env.eventually(controllers, equals=[1, 1])


async def test_a_deleted_replica_set_is_created_again(env: Environment) -> None:
    await env.client.create(deployment(1))
    await roll_out(env, 1)
    [made] = await replica_sets(env)
    await env.client.delete(made)
    await env.eventually(
        lambda: replica_sets(env),
        satisfies=lambda found: [each.metadata.uid for each in found] not in ([], [made.metadata.uid]),
    )
    [again] = await replica_sets(env)
    assert again.metadata.name == made.metadata.name
