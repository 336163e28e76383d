"""Controllers on the embedded API server: manager, cache, client and all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pilotage.cluster import Cluster
from pilotage.controller import (
    Channel,
    ControllerBuilder,
    ControllerOptions,
    Finalizers,
    Request,
    Result,
    enqueue_request_for_object,
    enqueue_requests_from,
    wait,
)
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.owners import set_controller_reference
from pilotage.types.core.v1 import ConfigMap, Secret

WITHIN = 100.0


class BoxSpec(Model):
    size: int = 1


@resource(group="boxes.pilotage.dev", version="v1")
class Box(Resource):
    spec: BoxSpec


@asynccontextmanager
async def manager(*kinds: type[Resource]) -> AsyncIterator[Manager]:
    """A manager on an embedded cluster that serves these kinds too."""
    options = ManagerOptions(handle_signals=False)
    cluster = Cluster.embedded("memory:")
    async with asyncio.timeout(WITHIN), cluster, Manager(cluster, options) as made:
        await cluster.install(*kinds)
        yield made


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@pytest.mark.covers("T56")
@pytest.mark.parametrize("warm_up", [False, True])
async def test_object_and_child_cause_reconciles_through_their_lives(warm_up: bool) -> None:
    seen: list[str] = []
    async with manager(Box) as made:

        async def reconcile(request: Request) -> None:
            box = await made.client.find(Box, request.name, namespace=request.namespace)
            child = await made.client.find(ConfigMap, f"{request.name}-child", namespace=request.namespace)
            seen.append(f"{box.spec.size if box else None} {child.data.get('x') if child else None}")

        options = ControllerOptions(enable_warmup=warm_up)
        ControllerBuilder(made).for_(Box).owns(ConfigMap).with_options(options).complete(reconcile)
        client = made.cluster.client
        await made.run_until_idle()
        assert seen == []
        box = await client.create(Box(metadata=ObjectMeta(name="a", namespace="default"), spec=BoxSpec(size=1)))
        await made.run_until_idle()
        child = config_map("a-child", x="1")
        set_controller_reference(box, child)
        child = await client.create(child)
        await made.run_until_idle()
        child.data["x"] = "2"
        await client.update(child)
        await made.run_until_idle()
        await client.delete(ConfigMap, "a-child", namespace="default")
        await made.run_until_idle()
        box.spec.size = 5
        await client.update(box)
        await made.run_until_idle()
        await client.delete(Box, "a", namespace="default")
        await made.run_until_idle()
    assert seen == ["1 None", "1 1", "1 2", "1 None", "5 None", "None None"]


async def test_a_reconciler_that_is_not_async_reads_and_writes_through_wait() -> None:
    async with manager() as made:

        def reconcile(request: Request) -> Result:
            found = wait(made.client.get(ConfigMap, request.name, namespace=request.namespace))
            if "seen" not in found.data:
                found.data["seen"] = "yes"
                wait(made.client.update(found))
            return Result()

        ControllerBuilder(made).for_(ConfigMap).complete(reconcile)
        await made.cluster.client.create(config_map("a"))
        await made.run_until_idle()
        found = await made.cluster.client.get(ConfigMap, "a", namespace="default")
        assert found.data == {"seen": "yes"}


async def test_two_controllers_of_one_kind_in_two_forms_both_see_it() -> None:
    seen: dict[str, list[Any]] = {"typed": [], "document": []}
    async with manager() as made:

        def mapped(form: str) -> Any:
            def requests(obj: Any) -> list[Request]:
                seen[form].append(type(obj).__name__)
                return [Request.of(obj)]

            return enqueue_requests_from(requests)

        async def reconcile(request: Request) -> None:
            pass

        gvk = ConfigMap.__resource__.gvk
        ControllerBuilder(made).named("typed").watches(ConfigMap, mapped("typed")).complete(reconcile)
        ControllerBuilder(made).named("document").watches(gvk, mapped("document")).complete(reconcile)
        await made.cluster.client.create(config_map("a"))
        await made.run_until_idle()
    assert seen == {"typed": ["ConfigMap"], "document": ["Unstructured"]}


async def test_waiting_for_a_secret_ends_when_it_appears() -> None:
    ready = asyncio.Event()
    async with manager() as made:

        async def reconcile(request: Request) -> Result | None:
            await made.client.get(ConfigMap, request.name, namespace=request.namespace)
            if await made.client.find(Secret, request.name, namespace=request.namespace) is None:
                return Result(requeue_after=3600)
            ready.set()
            return None

        builder = ControllerBuilder(made).for_(ConfigMap).watches(Secret, enqueue_request_for_object)
        controller = builder.complete(reconcile)
        await made.cluster.client.create(config_map("a"))
        await made.run_until_idle()
        assert not ready.is_set()
        assert controller.queue.statistics().delayed == 1
        await made.cluster.client.create(
            Secret(metadata=ObjectMeta(name="a", namespace="default"), string_data={"password": "correct horse"})
        )
        await made.run_until_idle()
        assert ready.is_set()
        assert controller.queue.statistics().delayed == 0  # the immediate add has taken the delayed one's place


async def test_a_finalizer_cleans_up_before_the_object_goes() -> None:
    cleaned: list[str] = []

    async def clean(obj: ConfigMap) -> None:
        cleaned.append(obj.metadata.name)

    finalizers: Finalizers[ConfigMap] = Finalizers()
    finalizers.register("boxes.pilotage.dev/clean", clean)
    async with manager() as made:

        async def reconcile(request: Request) -> None:
            found = await made.client.get(ConfigMap, request.name, namespace=request.namespace)
            result = await finalizers.finalize(found)
            if result.updated:
                await made.client.update(found)

        ControllerBuilder(made).for_(ConfigMap).complete(reconcile)
        client = made.cluster.client
        await client.create(config_map("a"))
        await made.run_until_idle()
        await client.delete(ConfigMap, "a", namespace="default")
        await made.run_until_idle()
        assert cleaned == ["a"]
        assert await client.find(ConfigMap, "a", namespace="default") is None


async def test_an_event_from_the_program_itself_is_reconciled() -> None:
    events: asyncio.Queue[Any] = asyncio.Queue()
    seen: list[str] = []
    async with manager() as made:

        async def reconcile(request: Request) -> None:
            seen.append(str(request))

        source = Channel(events, enqueue_request_for_object)
        ControllerBuilder(made).named("outside").watches_raw_source(source).complete(reconcile)
        events.put_nowait(config_map("early"))
        await made.run_until_idle()
        events.put_nowait(config_map("late"))
        await made.run_until_idle()
    assert seen == ["default/early", "default/late"]


@pytest.mark.virtual_time
async def test_a_shutdown_lets_a_running_reconcile_finish() -> None:
    started, finished = asyncio.Event(), asyncio.Event()
    async with manager() as made:

        async def reconcile(request: Request) -> None:
            started.set()
            await asyncio.sleep(0.05)
            finished.set()

        ControllerBuilder(made).for_(ConfigMap).complete(reconcile)
        await made.cluster.client.create(config_map("a"))
        running = asyncio.ensure_future(made.start())
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert finished.is_set()
