"""The webhook server of a manager, and waiting until the manager is ready."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt

from ..webhook.books import Book, BookWebhook


class Slow(pt.webhook.WebhookServer):
    """Starts when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_start = asyncio.Event()
        self.ended = False

    async def wait_started(self) -> None:
        await self.may_start.wait()

    async def start(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


@pytest.mark.covers("T72")
async def test_a_webhook_server_is_made_once_when_it_is_first_used() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        server = manager.webhook_server
        assert manager.webhook_server is server
        pt.WebhookBuilder(manager).for_(Book).with_defaulter(BookWebhook()).complete()
        assert server.handles("/mutate-books-pilotage-dev-v1-book")


@pytest.mark.covers("T72")
async def test_a_given_server_of_any_class_is_used_and_awaited() -> None:
    server = Slow()
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=server)) as manager:
        assert manager.webhook_server is server
        running = asyncio.ensure_future(manager.start())
        ready = asyncio.ensure_future(manager.ready())
        await asyncio.wait([ready], timeout=0.01)
        assert not ready.done()
        server.may_start.set()
        await ready
        running.cancel()
        await asyncio.wait([running])
    assert server.ended


@pytest.mark.covers("T72")
async def test_a_disabled_server_serves_and_registers_nothing() -> None:
    server = pt.webhook.WebhookServer(pt.webhook.WebhookServerOptions(port=-1))
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=server)) as manager:
        pt.WebhookBuilder(manager).for_(Book).with_defaulter(BookWebhook()).complete()
        running = asyncio.ensure_future(manager.start())
        await manager.ready()
        await server.started_check()
        gvk = pt.GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration")
        assert len(await manager.cluster.client.list(gvk)) == 0
        running.cancel()
        await asyncio.wait([running])


async def test_ready_fails_if_the_manager_stops_before() -> None:
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=Slow())) as manager:
        running = asyncio.ensure_future(manager.start(timeout=0))
        with pytest.raises(pt.manager.ManagerStopped, match="has stopped before it was ready"):
            await manager.ready()
        await running


async def test_ready_passes_the_error_of_the_start_on() -> None:
    class Failing:
        runnable_group = "http-servers"

        async def start(self) -> None:
            raise ZeroDivisionError("oops")

    server = Slow()
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=server)) as manager:
        manager.add(Failing())
        running = asyncio.ensure_future(manager.start())
        with pytest.raises(pt.manager.ManagerStopped) as raised:
            await manager.ready()
        assert isinstance(raised.value.__cause__, ZeroDivisionError)
        with pytest.raises(ZeroDivisionError):
            await running
