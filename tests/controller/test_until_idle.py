"""`run_until_idle` with real controllers: what counts as work, and how it is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from pilotage.cluster import Cluster
from pilotage.controller import (
    ControllerBuilder,
    ControllerOptions,
    Event,
    Request,
    Result,
    TerminalError,
)
from pilotage.controller.handlers import Handler
from pilotage.manager.errors import NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta, OwnerReference, Resource, resource
from pilotage.types.core.v1 import ConfigMap, Namespace, Secret
from pilotage.workqueue import ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter, RateLimiter

virtual = pytest.mark.virtual_time

Reconcile = Callable[[Request], Awaitable[Result | None]]


def config_map(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="shop"))


@asynccontextmanager
async def managed(
    reconcile: Reconcile, limiter: RateLimiter[Request] | None = None, name: str = "web", handler: Handler | None = None
) -> AsyncIterator[Manager]:
    """A manager with one controller and one object."""
    cluster = Cluster.embedded()
    async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=0)) as manager:
        builder = ControllerBuilder(manager).for_(ConfigMap).named(name)
        if handler is not None:
            builder.watches(Secret, handler)
        builder.with_options(ControllerOptions(rate_limiter=limiter)).complete(reconcile)
        await cluster.client.create(Namespace(metadata=ObjectMeta(name="shop")))
        await cluster.client.create(config_map())
        yield manager


def only_in_shop(reconcile: Reconcile) -> Reconcile:
    """Other namespaces have ConfigMaps of their own."""

    async def reconciled(request: Request) -> Result | None:
        return await reconcile(request) if request.namespace == "shop" else None

    return reconciled


async def report(manager: Manager, timeout: float, horizon: float = 0) -> tuple[str, ...]:
    with pytest.raises(NotIdle) as raised:
        await manager.run_until_idle(timeout, horizon)
    return raised.value.busy


@virtual
async def test_a_request_that_failed_is_work_until_its_retry_succeeds() -> None:
    tries = 0

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        nonlocal tries
        tries += 1
        if tries < 8:
            raise ValueError("not yet")
        return None

    async with managed(reconcile) as manager:
        await manager.run_until_idle(timeout=60)
    assert tries == 8


async def test_in_real_time_too() -> None:
    tries = 0

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ValueError("not yet")
        return None

    async with managed(reconcile) as manager:
        await manager.run_until_idle(timeout=60)
    assert tries == 3


@virtual
@pytest.mark.parametrize("others", [0, 20])
async def test_what_is_failing_is_named_if_nothing_else_is_left(others: int) -> None:
    blocked, release = asyncio.Event(), asyncio.Event()

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        if request.name == "blocked":
            blocked.set()
            await release.wait()
            return None
        raise ValueError("not yet")

    def failing(error: NotIdle) -> list[str]:
        assert {controller for controller, _ in error.failing} <= {"web"}
        return sorted(request for _, request in error.failing)

    names = ["a", *(f"b{number:02}" for number in range(others))]
    async with managed(reconcile) as manager:
        for name in names[1:]:
            await manager.cluster.client.create(config_map(name))
        with pytest.raises(NotIdle) as raised:
            await manager.run_until_idle(timeout=10)
        assert failing(raised.value) == [f"shop/{name}" for name in names]
        await manager.cluster.client.create(config_map("blocked"))
        await blocked.wait()
        with pytest.raises(NotIdle) as raised:
            await manager.run_until_idle(timeout=0)
        assert failing(raised.value) == []
        release.set()


@virtual
async def test_a_terminal_error_ends_the_work() -> None:
    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        raise TerminalError("the name is taken")

    async with managed(reconcile) as manager:
        await manager.run_until_idle(timeout=60)


@virtual
async def test_a_failed_request_whose_object_is_deleted_is_no_work_any_more() -> None:
    failed = asyncio.Event()

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        await manager.client.get(ConfigMap, request.name, namespace=request.namespace)
        failed.set()
        raise ValueError("wrong")

    async with managed(reconcile) as manager:
        waiting = asyncio.ensure_future(manager.run_until_idle(timeout=600))
        await failed.wait()
        await manager.cluster.client.delete(ConfigMap, "a", namespace="shop")
        await waiting


@virtual
async def test_a_request_that_never_succeeds_is_named_with_its_tries_and_its_last_error() -> None:
    tries = 0

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        nonlocal tries
        tries += 1
        raise ConnectionError(f"no answer {tries}")

    async with managed(reconcile, ItemFastSlowRateLimiter(1, 1000, 3)) as manager:
        busy = await report(manager, 10)
    assert busy == (
        "controller web: shop/a failed 4 times, last with ConnectionError: no answer 4; the next attempt is in 993 s",
    )


@virtual
async def test_of_a_group_of_errors_the_first_is_named() -> None:
    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.wait_for(asyncio.Event().wait(), 0))
        return None

    async with managed(reconcile, ItemFastSlowRateLimiter(1, 1000, 3)) as manager:
        [busy] = await report(manager, 10)
    assert "last with ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception): TimeoutError; the next" in busy


@virtual
async def test_the_horizon_is_for_requeue_after_alone() -> None:
    outcomes = iter([Result(requeue_after=100)])

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        return next(outcomes, None)

    async with managed(reconcile) as manager:
        await manager.run_until_idle(timeout=60, horizon=99)
        busy = await report(manager, 1, horizon=200)
        assert busy == ("controller web: shop/a is due again in 99 s, which is within the horizon of 200 s",)
        await manager.run_until_idle(timeout=600, horizon=200)


@virtual
async def test_a_request_that_asks_to_come_again_at_once_is_work() -> None:
    """`Result(requeue=True)` names no time, so no horizon can leave it out."""
    tries = 0

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        nonlocal tries
        tries += 1
        return Result(requeue=True) if tries < 5 else None

    async with managed(reconcile, ItemExponentialFailureRateLimiter(1, 1000)) as manager:
        busy = await report(manager, 4)
        assert busy == ("controller web: shop/a returned Result(requeue=True) 3 times; the next attempt is in 3 s",)
        await manager.run_until_idle(timeout=60)
    assert tries == 5


@virtual
async def test_a_reconcile_that_is_still_running_is_named_with_its_time_and_place() -> None:
    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        await asyncio.sleep(20)
        return None

    async with managed(reconcile) as manager:
        (busy,) = await report(manager, 5)
    assert busy.startswith(f"controller.reconcile web shop/a has been running for 5.0 s, at {__file__}:")


@pytest.mark.parametrize("seconds", [0.0, 0.01])
@virtual
async def test_a_reconciler_that_triggers_itself_is_reported_as_such(seconds: float) -> None:
    """Without a pause virtual time stands still, and the timeout would never come."""
    written = 0

    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        nonlocal written
        written += 1
        await asyncio.sleep(seconds)
        patch = {"data": {"written": str(written)}}
        await manager.client.patch(ConfigMap, patch, name=request.name, namespace=request.namespace)
        return None

    async with managed(reconcile) as manager:
        busy = await report(manager, 5)
    assert busy[0].startswith(f"controller web: shop/a was reconciled {written - (seconds > 0)} times in this run")
    last = f"data.written: '{written - 1 - (seconds > 0)}' → '{written - (seconds > 0)}'"
    assert f"the last write of its reconcile was: patch ConfigMap shop/a: {last}; " in busy[0]
    assert "triggers itself" in busy[0]
    assert not [reason for reason in busy if "cache" in reason]


@virtual
async def test_a_handler_that_fails_is_work_too() -> None:
    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        return None

    def handler(event: Event) -> list[Request]:
        raise KeyError("label")

    async with managed(reconcile, handler=handler) as manager:
        await manager.run_until_idle(timeout=60)
        await manager.client.create(Secret(metadata=ObjectMeta(name="login", namespace="shop")))
        [busy] = await report(manager, 1)
    assert busy.startswith("controller web: kind source: *v1.Secret: the handler or a predicate failed ")
    assert busy.endswith("last with KeyError: 'label'")


@virtual
async def test_a_controller_whose_source_does_not_sync_is_named_with_the_source() -> None:
    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        return None

    async def never(event: Event) -> list[Request]:
        await asyncio.Event().wait()
        return []

    cluster = Cluster.embedded()
    async with Manager(cluster) as manager:
        builder = ControllerBuilder(manager).for_(ConfigMap).named("unsynced")
        builder.watches(Secret, never).complete(reconcile)
        await cluster.client.create(Secret(metadata=ObjectMeta(name="a", namespace="default")))
        busy = await report(manager, 5)
    assert busy == ("controller unsynced: it has not started: it waits for kind source: *v1.Secret to sync",)


@resource(group="demo.pilotage.dev", version="v1")
class Absent(Resource):
    pass


@virtual
async def test_a_controller_whose_kind_is_not_served_is_reported() -> None:
    @only_in_shop
    async def reconcile(request: Request) -> Result | None:
        return None

    async with Manager(Cluster.embedded()) as manager:
        gvk = Absent.__resource__.gvk
        ControllerBuilder(manager).for_(gvk).named("absent").complete(reconcile)
        [busy] = await report(manager, 5)
    assert "kind source: *v1.Absent (the server does not serve Absent of demo.pilotage.dev/v1: install its" in busy


@virtual
async def test_requests_that_wait_for_a_worker_are_counted_and_the_first_are_named() -> None:
    async def reconcile(request: Request) -> Result | None:
        await asyncio.sleep(20)
        return None

    async with managed(reconcile, name="crowded") as manager:
        for number in range(12):
            await manager.cluster.client.create(config_map(f"more-{number:02}"))
        busy = await report(manager, 5)
    assert any(" waiting for a worker: " in reason and reason.endswith("more") for reason in busy)


@virtual
async def test_a_garbage_collection_in_progress_is_work() -> None:
    seen: list[str] = []

    async def reconcile(request: Request) -> Result | None:
        seen.append(request.name)
        return None

    async with managed(only_in_shop(reconcile)) as manager:
        client = manager.cluster.client
        owner = await client.get(ConfigMap, "a", namespace="shop")
        reference = OwnerReference(api_version="v1", kind="ConfigMap", name="a", uid=owner.metadata.uid)
        for number in range(300):
            dependent = config_map(f"dependent-{number}")
            dependent.metadata.owner_references = [reference]
            await client.create(dependent)
        await manager.run_until_idle(30)
        seen.clear()
        await client.delete(owner)
        await manager.run_until_idle(30)
        assert [one.metadata.name for one in await manager.client.list(ConfigMap, namespace="shop")] == []
        assert len(set(seen)) == 301, "each deletion was reconciled before the manager was idle"
