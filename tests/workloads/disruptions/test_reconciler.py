"""PodDisruptionBudgets on a whole API server, in virtual time; the kubelet is played by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilotage.errors import TooManyRequests
from pilotage.meta.conditions import find_status_condition
from pilotage.meta.markers import Scale
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.owners import set_controller_reference
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import (
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetSpec,
    StatefulSet,
    StatefulSetSpec,
)
from pilotage.types.core.v1 import (
    Container,
    Pod,
    PodCondition,
    PodSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from pilotage.types.policy.v1 import Eviction, PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, pass_time, selecting, set_running, template

LABELS = {"app": "web"}


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    options = WorkloadOptions(nodes=0, controllers=("disruption-controller",))
    async with Workloads(pilotage_env.cluster, options):
        yield pilotage_env


async def add_budget(env: Environment, **spec: Any) -> None:
    given = PodDisruptionBudgetSpec(selector=selecting(LABELS), **spec)
    await env.client.create(PodDisruptionBudget(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=given))


async def add_pod(env: Environment, name: str, owner: Resource | None = None, *, ready: bool = True) -> Pod:
    """A Pod that runs."""
    metadata = ObjectMeta(name=name, namespace=NAMESPACE, labels=dict(LABELS))
    pod = Pod(metadata=metadata, spec=PodSpec(containers=[Container(name="main", image="nginx")], node_name="node-1"))
    if owner is not None:
        set_controller_reference(owner, pod)
    return await set_running(env.client, await env.client.create(pod), ready=ready, now=env.clock())


async def status_of(env: Environment) -> PodDisruptionBudgetStatus:
    found = await env.client.get(PodDisruptionBudget, "web", namespace=NAMESPACE)
    return found.status or PodDisruptionBudgetStatus()


async def figures(env: Environment) -> tuple[int | None, ...]:
    """Allowed disruptions, and the current, desired and expected Pods."""
    status = await status_of(env)
    return status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods


async def touch(env: Environment) -> None:
    """Change the budget in a way that only causes a reconcile."""
    patch = {"metadata": {"annotations": {"touched": str(env.clock())}}}
    await env.client.patch(PodDisruptionBudget, patch, name="web", namespace=NAMESPACE)


def replica_set(replicas: int) -> ReplicaSet:
    spec = ReplicaSetSpec(replicas=replicas, selector=selecting(LABELS), template=template(LABELS))
    return ReplicaSet(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=spec)


async def test_a_budget_counts_the_pods_that_are_ready(env: Environment) -> None:
    await add_budget(env, min_available=3)
    for number in range(4):
        await env.eventually(lambda: figures(env), equals=(0, number, 3, number))
        await add_pod(env, f"web-{number}")
    await env.eventually(lambda: figures(env), equals=(1, 4, 3, 4))
    status = await status_of(env)
    condition = find_status_condition(status.conditions, "DisruptionAllowed")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == ("True", "SufficientPods", "")
    assert (condition.observed_generation, status.observed_generation) == (1, 1)
    pod = await env.client.get(Pod, "web-0", namespace=NAMESPACE)
    await set_running(env.client, pod, ready=False, now=env.clock())
    await env.eventually(lambda: figures(env), equals=(0, 3, 3, 4))
    condition = find_status_condition((await status_of(env)).conditions, "DisruptionAllowed")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "InsufficientPods")


async def test_a_budget_without_pods_says_so(env: Environment) -> None:
    await add_budget(env, min_available=1)
    wanted = ("Normal", "NoPods", "No matching pods found", "controllermanager")
    await env.eventually(lambda: events_of(env, "PodDisruptionBudget", "web"), satisfies=lambda found: wanted in found)


async def test_a_percentage_is_of_the_scale_of_a_replica_set(env: Environment) -> None:
    owner = await env.client.create(replica_set(7))
    await add_pod(env, "web-0", owner)
    await add_budget(env, max_unavailable="30%")
    await env.eventually(lambda: figures(env), equals=(0, 1, 4, 7))
    await env.client.patch(ReplicaSet, {"spec": {"replicas": 3}}, name="web", namespace=NAMESPACE)
    await touch(env)
    await env.eventually(lambda: figures(env), equals=(0, 1, 2, 3))


async def test_a_percentage_is_of_the_scale_of_the_deployment_of_a_replica_set(env: Environment) -> None:
    spec = DeploymentSpec(replicas=8, selector=selecting(LABELS), template=template(LABELS))
    deployment = await env.client.create(Deployment(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=spec))
    owned = replica_set(3)
    set_controller_reference(deployment, owned)
    await add_pod(env, "web-0", await env.client.create(owned))
    await add_budget(env, min_available="25%")
    await env.eventually(lambda: figures(env), equals=(0, 1, 2, 8))


async def test_the_scales_of_several_controllers_add_up(env: Environment) -> None:
    controller = ReplicationController(
        metadata=ObjectMeta(name="old", namespace=NAMESPACE),
        spec=ReplicationControllerSpec(replicas=2, selector=LABELS, template=template(LABELS)),
    )
    stateful = StatefulSet(
        metadata=ObjectMeta(name="db", namespace=NAMESPACE),
        spec=StatefulSetSpec(replicas=3, selector=selecting(LABELS), template=template(LABELS), service_name="db"),
    )
    await add_pod(env, "old-0", await env.client.create(controller))
    await add_pod(env, "db-0", await env.client.create(stateful))
    await add_budget(env, max_unavailable=4)
    await env.eventually(lambda: figures(env), equals=(1, 2, 1, 5))


class ShopSpec(Model):
    replicas: int = 1


class ShopStatus(Model):
    replicas: int = 0


@resource(group="shops.pilotage.dev", version="v1", scale=Scale(".spec.replicas", ".status.replicas"), status=True)
class Shop(Resource):
    spec: ShopSpec
    status: ShopStatus | None = None


async def test_the_scale_of_a_custom_resource_counts(env: Environment) -> None:
    await env.cluster.install(Shop)
    shop = await env.client.create(
        Shop(metadata=ObjectMeta(name="shop", namespace=NAMESPACE), spec=ShopSpec(replicas=10))
    )
    for number in range(4):
        await add_pod(env, f"web-{number}", shop)
    await add_budget(env, max_unavailable=5)
    await env.eventually(lambda: figures(env), equals=(0, 4, 5, 10))
    for number in range(4, 7):
        await add_pod(env, f"web-{number}", shop)
    await env.eventually(lambda: figures(env), equals=(2, 7, 5, 10))


async def test_a_pod_without_a_controller_has_no_scale(env: Environment) -> None:
    await add_budget(env, max_unavailable=1)
    await env.eventually(lambda: figures(env), equals=(0, 0, 0, 0))
    await add_pod(env, "naked")
    await env.eventually(lambda: figures(env), equals=(0, 1, 0, 0))
    found = await env.eventually(
        lambda: events_of(env, "PodDisruptionBudget", "web"),
        satisfies=lambda found: any(one[1] == "UnmanagedPods" for one in found),
    )
    text = next(one[2] for one in found if one[1] == "UnmanagedPods")
    assert text.startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},"
    )


async def test_a_budget_whose_pods_have_an_unknown_controller_allows_nothing(env: Environment) -> None:
    spec = DaemonSetSpec(selector=selecting(LABELS), template=template(LABELS))
    await add_pod(
        env,
        "web-0",
        await env.client.create(DaemonSet(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=spec)),
    )
    await add_budget(env, min_available="28%")

    async def message() -> tuple[str, str] | None:
        found = find_status_condition((await status_of(env)).conditions, "DisruptionAllowed")
        return (found.reason, found.message) if found is not None else None

    text = "daemonsets.apps does not implement the scale subresource"
    await env.eventually(message, equals=("SyncFailed", text))
    failed = ("Warning", "CalculateExpectedPodCountFailed", f"Failed to calculate the number of expected pods: {text}")
    await env.eventually(
        lambda: events_of(env, "PodDisruptionBudget", "web"),
        satisfies=lambda found: (*failed, "controllermanager") in found,
    )


async def evict(env: Environment, name: str) -> None:
    eviction = Eviction(metadata=ObjectMeta(name=name, namespace=NAMESPACE))
    await env.client.subresource("eviction", Eviction).create(Pod, eviction, name=name, namespace=NAMESPACE)


async def test_an_eviction_spends_the_budget_until_the_pod_is_replaced(env: Environment) -> None:
    await add_budget(env, min_available=2)
    for number in range(3):
        await add_pod(env, f"web-{number}")
    await env.eventually(lambda: figures(env), equals=(1, 3, 2, 3))
    await evict(env, "web-0")
    with pytest.raises(TooManyRequests) as refused:
        await evict(env, "web-1")
    assert refused.value.causes[0].reason == "DisruptionBudget"
    await env.eventually(lambda: figures(env), equals=(0, 2, 2, 3))
    with pytest.raises(TooManyRequests) as refused:
        await evict(env, "web-1")
    assert refused.value.causes[0].message == "The disruption budget web needs 2 healthy pods and has 2 currently"
    await env.client.delete(Pod, "web-0", namespace=NAMESPACE, grace_period_seconds=0)
    await env.eventually(lambda: figures(env), equals=(0, 2, 2, 2))
    assert (await status_of(env)).disrupted_pods == {}
    await add_pod(env, "web-3")
    await env.eventually(lambda: figures(env), equals=(1, 3, 2, 3))
    await evict(env, "web-1")


async def test_an_eviction_waits_for_the_status_of_a_new_budget(env: Environment) -> None:
    await add_pod(env, "web-0")
    await add_budget(env, min_available=1)
    with pytest.raises(TooManyRequests) as refused:
        await evict(env, "web-0")
    assert refused.value.retry_after_seconds == 10
    text = "The disruption budget web is still being processed by the server."
    assert refused.value.causes[0].message == text


async def test_pods_that_are_not_ready_may_be_evicted_where_the_policy_says_so(env: Environment) -> None:
    await add_budget(env, min_available=2, unhealthy_pod_eviction_policy="AlwaysAllow")
    await add_pod(env, "web-0")
    await add_pod(env, "web-1", ready=False)
    await env.eventually(lambda: figures(env), equals=(0, 1, 2, 2))
    with pytest.raises(TooManyRequests):
        await evict(env, "web-0")
    await evict(env, "web-1")


async def test_a_disruption_that_did_not_happen_is_reset_after_two_minutes(env: Environment) -> None:
    pod = await add_pod(env, "web-0")
    assert pod.status is not None
    pod.status.conditions.append(
        PodCondition(type="DisruptionTarget", status="True", last_transition_time=env.clock(), reason="Test")
    )
    await env.client.update_status(pod)

    async def target() -> str:
        found = await env.client.get(Pod, "web-0", namespace=NAMESPACE)
        conditions = found.status.conditions if found.status is not None else []
        condition = find_status_condition(conditions, "DisruptionTarget")
        return condition.status if condition is not None else ""

    await pass_time(env, 110)
    assert await target() == "True"
    await env.eventually(target, equals="False")


async def test_a_pod_of_several_budgets_says_so(env: Environment) -> None:
    await add_budget(env, min_available=1)
    other = PodDisruptionBudgetSpec(selector=selecting(LABELS), min_available=1)
    await env.client.create(PodDisruptionBudget(metadata=ObjectMeta(name="xyz", namespace=NAMESPACE), spec=other))
    await env.eventually(lambda: figures(env), equals=(0, 0, 1, 0))
    await add_pod(env, "web-0")
    text = 'Pod "default"/"web-0" matches multiple PodDisruptionBudgets.  Chose "web" arbitrarily.'
    wanted = ("Warning", "MultiplePodDisruptionBudgets", text, "controllermanager")
    await env.eventually(lambda: events_of(env, "Pod", "web-0"), satisfies=lambda found: wanted in found)
