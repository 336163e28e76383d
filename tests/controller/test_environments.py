"""A whole operator, the same on every API server: its own kind, what it owns, what it waits for, its events."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet, StatefulSetSpec
from pilotage.types.core.v1 import ConfigMap, Container, Event, PodSpec, PodTemplateSpec, Secret
from pilotage.types.meta.v1 import LabelSelector

from ..environments import Environment

QUIET = pt.ManagerOptions(metrics_bind_address="0", handle_signals=False)
WITHIN = 100.0


class ShopSpec(pt.Model):
    replicas: Annotated[int, pt.Minimum(1)] = 1


class ShopStatus(pt.Model):
    phase: str = "Pending"


@pt.resource(group="operators.pilotage.dev", version="v1", status=True)
class Shop(pt.Resource):
    spec: ShopSpec
    status: ShopStatus | None = None


class ShopReconciler:
    """Keeps a StatefulSet for each Shop, once its Secret is there."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.events = manager.event_recorder_for("shop")
        self.runs: list[pt.Request] = []

    async def reconcile(self, request: pt.Request) -> pt.Result:
        self.runs.append(request)
        shop = await self.client.get(Shop, request.name, namespace=request.namespace)
        if await self.client.find(Secret, request.name, namespace=request.namespace) is None:
            return pt.Result(requeue_after=60)
        outcome = await pt.create_or_patch(self.client, stateful_set_for(shop), owner=shop)
        if outcome is pt.Outcome.CREATED:
            self.events.event(shop, "Normal", "Created", "the StatefulSet was created")
        if shop.status is None or shop.status.phase != "Open":
            await self.client.patch_status(shop, {"status": {"phase": "Open"}})
        return pt.Result()

    def setup_with_manager(self, manager: pt.Manager) -> None:
        (
            pt.ControllerBuilder(manager)
            .for_(Shop)
            .owns(StatefulSet)
            .watches(Secret, pt.enqueue_requests_from(shop_of))
            .complete(self)
        )


def shop_of(secret: Secret) -> list[pt.Request]:
    name = secret.metadata.labels.get("shop")
    return [pt.Request(name, secret.metadata.namespace)] if name else []


def stateful_set_for(shop: Shop) -> StatefulSet:
    labels = {"shop": shop.metadata.name}
    pod = PodSpec(containers=[Container(name="shop", image="shop")])
    return StatefulSet(
        metadata=pt.ObjectMeta(name=shop.metadata.name, namespace=shop.metadata.namespace, labels=labels),
        spec=StatefulSetSpec(
            replicas=shop.spec.replicas,
            service_name=shop.metadata.name,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=pt.ObjectMeta(labels=labels), spec=pod),
        ),
    )


@pytest.mark.covers("T56")
async def test_an_operator_brings_its_objects_where_they_should_be(environment: Environment) -> None:
    cluster, namespace = environment.cluster(), environment.namespace
    async with pt.Manager(cluster, QUIET) as manager:
        await cluster.install(Shop)
        reconciler = ShopReconciler(manager)
        reconciler.setup_with_manager(manager)
        shop = Shop(metadata=pt.ObjectMeta(name="main", namespace=namespace), spec=ShopSpec(replicas=3))
        await cluster.client.create(shop)
        await manager.run_until_idle(timeout=WITHIN)
        assert await cluster.client.find(StatefulSet, "main", namespace=namespace) is None

        labelled = pt.ObjectMeta(name="main", namespace=namespace, labels={"shop": "main"})
        await cluster.client.create(Secret(metadata=labelled))
        await manager.run_until_idle(timeout=WITHIN)
        made = await cluster.client.get(StatefulSet, "main", namespace=namespace)
        assert (made.spec.replicas, made.metadata.owner_references[0].kind) == (3, "Shop")
        found = await cluster.client.get(Shop, "main", namespace=namespace)
        assert found.status is not None
        assert found.status.phase == "Open"

        await cluster.client.patch(made, {"spec": {"replicas": 1}})
        await manager.run_until_idle(timeout=WITHIN)
        assert (await cluster.client.get(StatefulSet, "main", namespace=namespace)).spec.replicas == 3

        await cluster.client.delete(made)
        await manager.run_until_idle(timeout=WITHIN)
        again = await cluster.client.get(StatefulSet, "main", namespace=namespace)
        assert again.metadata.uid != made.metadata.uid
        assert set(reconciler.runs) == {pt.Request("main", namespace)}
    events = await environment.client.list(Event, namespace=namespace)
    assert {event.reason for event in events} == {"Created"}


async def test_what_a_reconciler_writes_it_reads_in_the_next_line(environment: Environment) -> None:
    seen: list[str] = []

    async def reconcile(request: pt.Request) -> pt.Result:
        found = await manager.client.get(ConfigMap, request.name, namespace=request.namespace)
        if found.data:
            return pt.Result()  # its own writes are events too
        for number in range(5):
            await manager.client.patch(found, {"data": {"number": str(number)}})
            found = await manager.client.get(ConfigMap, request.name, namespace=request.namespace)
            seen.append(found.data["number"])
        return pt.Result()

    cluster = environment.cluster()
    async with pt.Manager(cluster, QUIET) as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap, predicates=[in_namespace(environment.namespace)]).complete(
            reconcile
        )
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace=environment.namespace)))
        await manager.run_until_idle(timeout=WITHIN)
    assert seen == ["0", "1", "2", "3", "4"]


def in_namespace(namespace: str) -> pt.Predicate:
    return lambda event: event.object.metadata.namespace == namespace


async def test_a_reconciler_in_a_thread_must_not_run_calls_on_a_loop_of_its_own(environment: Environment) -> None:
    refused: list[str] = []

    async with pt.Manager(environment.cluster()) as manager:

        def reconcile(request: pt.Request) -> None:
            for client in (manager.client, manager.client.api_reader):
                for _ in range(2):
                    with pytest.raises(pt.InvalidDefinition) as caught:
                        asyncio.run(client.get(ConfigMap, request.name, namespace=request.namespace))
                    refused.append(str(caught.value))
            found = pt.wait(manager.client.get(ConfigMap, request.name, namespace=request.namespace))
            found.data["seen"] = "yes"
            pt.wait(manager.client.update(found))

        in_this = in_namespace(environment.namespace)
        pt.ControllerBuilder(manager).for_(
            ConfigMap,
            predicates=[in_this, pt.on_object(lambda obj: obj.metadata.name == "a" and not obj.data)],
        ).complete(reconcile)
        live = manager.client.api_reader
        await live.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace=environment.namespace)))
        await manager.run_until_idle(WITHIN)
        assert (await live.get(ConfigMap, "a", namespace=environment.namespace)).data == {"seen": "yes"}
    assert len(refused) == 4
    assert all("it calls pt.wait(client.get(…)), and not asyncio.run" in message for message in refused)


@pytest.mark.covers("T67", "T81")
async def test_of_two_replicas_one_leads_and_the_other_takes_over(environment: Environment) -> None:
    options = pt.ManagerOptions(
        metrics_bind_address="0",
        handle_signals=False,
        leader_election=True,
        leader_election_id="test-leader",
        leader_election_namespace=environment.namespace,
        leader_election_release_on_cancel=True,
        retry_period=0.2,
    )
    first, second = (pt.Manager(environment.cluster(), options) for _ in range(2))
    async with asyncio.timeout(WITHIN), second, asyncio.TaskGroup() as group:
        async with first:
            leading = group.create_task(first.start())
            await first.elected.wait()
            waiting = group.create_task(second.start())
            await asyncio.sleep(0)
            assert not second.elected.is_set()
            leading.cancel()
        await second.elected.wait()
        waiting.cancel()
