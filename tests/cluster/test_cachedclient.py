"""The client that reads from a cache: it reads its own writes, on every API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import pilotage as pt
from pilotage.cache.cache import Cache
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import ByObject, CacheOptions
from pilotage.client import Client
from pilotage.client.outcome import Outcome, create_or_patch
from pilotage.cluster import Cluster
from pilotage.cluster.cachedclient import CachedClient, CachedClientOptions
from pilotage.cluster.refusals import Refusals
from pilotage.cluster.writes import TrackedTransport, WriteTracker
from pilotage.errors import BadRequest, NoMatch, NotFound, StaleCache
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta
from pilotage.meta.unstructured import metadata_only
from pilotage.rest import APIRequest, Page, Transport, TransportWrapper, Verb, WatchEvent
from pilotage.rest.listing import ListerWatcher
from pilotage.telemetry.logs import log_context
from pilotage.types.core.v1 import ConfigMap, Namespace, Secret

from ..client.kinds import WIDGET, WIDGETS, Widget, WidgetStatus, new_widget
from ..environments import Environment


class Gate(TransportWrapper):
    """A transport whose watches can be delayed, and which records requests."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.open = asyncio.Event()
        self.open.set()
        self.reads: list[Verb] = []

    def prepare(self, request: APIRequest) -> APIRequest:
        self.reads.append(request.verb)
        return request

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with self._inner.watch(request) as events:
            yield self._gated(events)

    async def _gated(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            await self.open.wait()
            yield event


@dataclass
class CachedClientSetup:
    """A cached client, and what is behind it."""

    client: CachedClient
    gate: Gate
    tracker: WriteTracker
    informers: list[InformerOptions] = field(default_factory=list)


@asynccontextmanager
async def cached_client(
    transport: Transport, options: CacheOptions | None = None, client_options: CachedClientOptions | None = None
) -> AsyncIterator[CachedClientSetup]:
    gate, tracker = Gate(transport), WriteTracker()
    live = Client(TrackedTransport(gate, tracker, Refusals()))
    asked: list[InformerOptions] = []

    async def lister_watcher_for(options: InformerOptions) -> ListerWatcher:
        asked.append(options)
        return await live.lister_watcher(options.kind, namespace=options.namespace)

    cache = Cache(lister_watcher_for, options)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        await asyncio.sleep(0)
        yield CachedClientSetup(CachedClient(live, cache, tracker, client_options), gate, tracker, asked)
        task.cancel()


def config_map(namespace: str, name: str, value: str = "1", **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), data={"key": value})


async def test_a_request_is_read_from_the_cache_by_its_name_and_namespace(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        await made.client.create(config_map(environment.namespace, "a"))
        request = pt.Request("a", environment.namespace)
        assert (await made.client.get(ConfigMap, request)).data == {"key": "1"}
        made.gate.reads.clear()
        assert (await made.client.get(metadata_only(ConfigMap), request)).metadata.name == "a"
        assert await made.client.find(ConfigMap, pt.Request("b", environment.namespace)) is None
        assert made.gate.reads == []
        await made.client.delete(ConfigMap, request)
        assert await made.client.find(ConfigMap, request) is None


@pytest.mark.covers("T136")
async def test_every_form_is_read_from_one_informer(environment: Environment) -> None:
    await environment.install(WIDGETS)
    async with cached_client(environment.transport) as made:
        client = made.client
        await client.create(new_widget(environment.namespace, size=3))
        assert (await client.get(Widget, "one", namespace=environment.namespace)).spec.size == 3
        made.gate.reads.clear()
        assert (await client.get(WIDGET, "one", namespace=environment.namespace))["spec"]["size"] == 3
        assert (await client.get(metadata_only(Widget), "one", namespace=environment.namespace)).metadata.name == "one"
        assert [widget.spec.size for widget in await client.list(Widget, namespace=environment.namespace)] == [3]
        assert await client.find(Widget, "two", namespace=environment.namespace) is None
        with pytest.raises(NotFound) as caught:
            await client.get(Widget, "two", namespace=environment.namespace)
        error = caught.value
        assert (error.group, error.kind, error.namespace, error.name) == (
            WIDGET.group,
            "Widget",
            environment.namespace,
            "two",
        )
        assert made.gate.reads == []
        assert len(made.informers) == 1


async def test_every_write_is_read_back_at_once(environment: Environment) -> None:
    await environment.install(WIDGETS)
    async with cached_client(environment.transport) as made:
        client, namespace = made.client, environment.namespace
        assert len(await client.list(Widget, namespace=namespace)) == 0
        for number in range(10):
            widget = await client.create(new_widget(namespace, size=1))
            assert (await client.get(Widget, "one", namespace=namespace)).metadata.uid == widget.metadata.uid
            widget.spec.size = 2
            await client.update(widget)
            assert (await client.get(Widget, "one", namespace=namespace)).spec.size == 2
            await client.patch_status(widget, {"status": {"phase": f"{number}"}})
            assert (await client.get(Widget, "one", namespace=namespace)).status == WidgetStatus(phase=f"{number}")
            await client.patch(widget, {"spec": {"size": 2}})  # changes nothing, so that no event comes
            assert len(await client.list(Widget, namespace=namespace)) == 1
            if number % 2:
                await client.delete(widget)
            else:
                await client.delete_all_of(Widget, namespace=namespace)
            assert await client.find(Widget, "one", namespace=namespace) is None


async def test_a_deletion_that_waits_for_finalizers_is_read_back_too(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        client, namespace = made.client, environment.namespace
        held = config_map(namespace, "held")
        held.metadata.finalizers = ["tests.pilotage.dev/hold"]
        await client.create(held)
        await client.delete(held)
        found = await client.get(ConfigMap, "held", namespace=namespace)
        assert found.metadata.deletion_timestamp is not None
        found.metadata.finalizers = []
        await client.update(found)
        assert await client.find(ConfigMap, "held", namespace=namespace) is None


async def test_a_namespace_that_is_being_emptied_is_no_deletion_to_wait_for(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        namespace = await made.client.create(Namespace(metadata=ObjectMeta(generate_name="gone-")))
        await made.client.list(Namespace)
        await made.client.delete(namespace)
        found = await made.client.find(Namespace, namespace.metadata.name)
        assert found is None or found.metadata.deletion_timestamp is not None


async def test_a_cache_that_does_not_catch_up_raises_and_never_returns_stale_data(environment: Environment) -> None:
    options = CachedClientOptions(stale_after=0.05)
    async with cached_client(environment.transport, client_options=options) as made:
        client, namespace = made.client, environment.namespace
        first = await client.create(config_map(namespace, "first"))
        await client.list(ConfigMap, namespace=namespace)
        assert await client.find(Secret, "another-kind", namespace=namespace) is None
        made.gate.open.clear()
        await client.create(config_map(namespace, "second"))
        with pytest.raises(StaleCache, match=r"configmaps.* within 0\.05 s.*client\.api_reader") as caught:
            await client.get(ConfigMap, "second", namespace=namespace)
        assert int(caught.value.wanted) > int(caught.value.version)
        with pytest.raises(StaleCache):
            await client.list(ConfigMap, namespace=namespace)
        assert (await client.api_reader.get(ConfigMap, "second", namespace=namespace)).data == {"key": "1"}
        assert await client.find(Secret, "another-kind", namespace=namespace) is None
        made.gate.open.set()
        async with asyncio.timeout(60):
            while True:
                try:
                    assert (await client.get(ConfigMap, "second", namespace=namespace)).data == {"key": "1"}
                    break
                except StaleCache:
                    continue
        made.gate.open.clear()
        await client.delete(first)
        with pytest.raises(StaleCache, match="deleted or changed"):
            await client.find(ConfigMap, "first", namespace=namespace)


async def test_it_can_be_turned_off(environment: Environment) -> None:
    options = CachedClientOptions(read_your_writes=False)
    async with cached_client(environment.transport, client_options=options) as made:
        await made.client.list(ConfigMap)
        made.gate.open.clear()
        await made.client.create(config_map(environment.namespace, "a"))
        assert await made.client.find(ConfigMap, "a", namespace=environment.namespace) is None


async def test_objects_that_the_cache_does_not_select_are_not_waited_for(environment: Environment) -> None:
    by_object = {ConfigMap: ByObject(namespaces=[environment.namespace], label_selector={"team": "red"})}
    options = CachedClientOptions(stale_after=50)
    async with cached_client(environment.transport, CacheOptions(by_object=by_object), options) as made:
        client, namespace = made.client, environment.namespace
        await client.list(ConfigMap, namespace=namespace)
        inside = await client.create(config_map(namespace, "inside", team="red"))
        assert (await client.list(ConfigMap, namespace=namespace)).names == ["inside"]
        made.gate.open.clear()
        await client.create(config_map(namespace, "outside", team="blue"))
        await client.create(config_map("default", f"elsewhere-{namespace}", team="red"))
        async with asyncio.timeout(40):  # sooner than StaleCache would be raised
            assert (await client.list(ConfigMap, namespace=namespace)).names == ["inside"]
        made.gate.open.set()
        await client.patch(inside, {"metadata": {"labels": {"team": "blue"}}})  # it leaves the selection
        assert (await client.list(ConfigMap, namespace=namespace)).names == []


async def test_an_object_that_is_selected_by_its_fields_can_be_read_after_it_was_changed(
    environment: Environment,
) -> None:
    """The metadata of the answer to a write do not show whether it is still selected."""
    by_object = {Secret: ByObject(namespaces=[environment.namespace], field_selector={"type": "Opaque"})}
    options = CachedClientOptions(stale_after=50)
    async with cached_client(environment.transport, CacheOptions(by_object=by_object), options) as made:
        client = made.client
        secret = await client.create(
            Secret(metadata=ObjectMeta(name="s", namespace=environment.namespace), type="Opaque")
        )
        await client.list(Secret, namespace=environment.namespace)
        for number in range(3):
            await client.patch(secret, {"metadata": {"labels": {"number": str(number)}}})
            async with asyncio.timeout(40):  # sooner than StaleCache would be raised
                read = await client.get(Secret, "s", namespace=environment.namespace)
            assert read.metadata.labels == {"number": str(number)}


@pytest.mark.covers("T136")
async def test_kinds_that_are_to_be_read_live_are(environment: Environment) -> None:
    options = CachedClientOptions(disable_for=[Secret])
    async with cached_client(environment.transport, client_options=options) as made:
        await made.client.create(Secret(metadata=ObjectMeta(name="s", namespace=environment.namespace)))
        made.gate.reads.clear()
        await made.client.get(Secret, "s", namespace=environment.namespace)
        assert made.gate.reads == [Verb.GET]
        assert made.informers == []


async def test_pages_and_versions_are_read_live(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        for name in "abc":
            await made.client.create(config_map(environment.namespace, name))
        page = await made.client.list(ConfigMap, namespace=environment.namespace, limit=2)
        assert page.continue_token
        rest = await made.client.list(
            ConfigMap, namespace=environment.namespace, limit=2, continue_token=page.continue_token
        )
        assert len(page) + len(rest) >= 3
        await made.client.get(ConfigMap, "a", namespace=environment.namespace, resource_version="0")
        assert made.informers == []


async def test_clients_made_from_it_read_from_the_cache_too(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        client = made.client.with_namespace(environment.namespace)
        await client.create(ConfigMap(metadata=ObjectMeta(name="a")))
        made.gate.reads.clear()
        assert (await client.get(ConfigMap, "a")).metadata.namespace == environment.namespace
        with pytest.raises(BadRequest, match="this client is for"):
            await client.get(ConfigMap, "a", namespace="default")
        assert made.gate.reads.count(Verb.GET) == 0
        await client.api_reader.get(ConfigMap, "a")
        assert made.gate.reads.count(Verb.GET) == 1


async def test_create_or_patch_works_on_the_cache(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        for number in range(5):
            wanted = config_map(environment.namespace, "a", str(number))
            expected = Outcome.CREATED if number == 0 else Outcome.UPDATED
            assert await create_or_patch(made.client, wanted) is expected
        made.gate.reads.clear()
        assert await create_or_patch(made.client, config_map(environment.namespace, "a", "4")) is Outcome.UNCHANGED
        assert made.gate.reads == []


async def test_a_stale_cache_does_not_stop_create_or_patch_from_finding_the_object(environment: Environment) -> None:
    async with cached_client(environment.transport) as made:
        await made.client.list(ConfigMap)
        made.gate.open.clear()
        await environment.client.create(config_map(environment.namespace, "a"))  # by another client
        desired = config_map(environment.namespace, "a", "2")
        assert await create_or_patch(made.client, desired) is Outcome.UPDATED


async def test_an_informer_that_was_removed_is_not_waited_for(environment: Environment) -> None:
    async with cached_client(environment.transport, client_options=CachedClientOptions(stale_after=1)) as made:
        for name in ("a", "b"):
            await made.client.create(config_map(environment.namespace, name))
            assert await made.client.find(ConfigMap, name, namespace=environment.namespace) is not None
            made.client.cache.remove_informer(ConfigMap)
        assert len(made.informers) == 2


async def test_many_writers_and_readers_see_no_stale_state() -> None:
    """Each worker writes and reads its own object, and deletes it now and then, while all others do the same."""
    async with Cluster.embedded("memory:") as cluster, asyncio.TaskGroup() as group:
        cache = cluster.new_cache()
        running = group.create_task(cache.run())
        await asyncio.sleep(0)
        client = cluster.cached_client(cache).with_namespace("default")

        async def worker(name: str) -> None:
            for number in range(50):
                desired = ConfigMap(metadata=ObjectMeta(name=name), data={"number": str(number)})
                await create_or_patch(client, desired)
                found = await client.get(ConfigMap, name)
                assert found.metadata.resource_version == desired.metadata.resource_version
                listed = await client.list(ConfigMap, labels={"none": "such"}) if number % 9 else ()
                assert len(listed) == 0
                if number % 10 == 9:
                    await client.delete(found)
                    assert await client.find(ConfigMap, name) is None

        async with asyncio.TaskGroup() as workers:
            for number in range(20):
                workers.create_task(worker(f"w{number}"))
        running.cancel()


async def test_a_class_that_is_not_served_raises_and_keeps_no_informer() -> None:
    async with Cluster.embedded("memory:") as cluster, asyncio.TaskGroup() as group:
        cache = cluster.new_cache()
        running = group.create_task(cache.run())
        await asyncio.sleep(0)
        client = cluster.cached_client(cache)
        async with asyncio.timeout(60):
            for _ in range(2):
                with pytest.raises(NoMatch, match="install its CustomResourceDefinition first"):
                    await client.get(Widget, "a", namespace="default")
            assert cache.informer(Widget) is None
            await cluster.install(Widget)
            assert await client.find(Widget, "a", namespace="default") is None
        assert cache.has_synced
        running.cancel()


async def test_an_informer_does_not_log_with_the_context_of_its_first_reader(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster.embedded("memory:") as cluster, asyncio.TaskGroup() as group:
        cache = cluster.new_cache()
        running = group.create_task(cache.run())
        await asyncio.sleep(0)
        with log_context(reconcileID="of-one-reconcile"), pytest.raises(NoMatch):
            await cluster.cached_client(cache).get(Widget, "a", namespace="default")
        assert "failed; retrying" in caplog.text
        assert "of-one-reconcile" not in caplog.text
        running.cancel()


async def test_a_kind_that_is_not_served_raises() -> None:
    async with Cluster.embedded("memory:") as cluster, asyncio.TaskGroup() as group:
        cache = cluster.new_cache()
        running = group.create_task(cache.run())
        await asyncio.sleep(0)
        client = cluster.cached_client(cache)
        with pytest.raises(NoMatch):
            await client.get(GroupVersionKind("no.such", "v1", "Kind"), "a", namespace="b")
        running.cancel()


class Injected:
    """Objects that do not come from an API server."""

    silence_seconds, streaming = 60.0, False

    async def list(self, options: Any) -> Page:
        body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","resourceVersion":"1"}}'
        return Page([body], "1")

    def watch(self, options: Any) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._watch()

    @asynccontextmanager
    async def _watch(self) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async def nothing() -> AsyncIterator[WatchEvent]:
            await asyncio.Event().wait()
            yield WatchEvent("BOOKMARK", b"{}")

        yield nothing()


async def test_without_a_cluster_injected_informers_can_be_read() -> None:
    def new_informer(options: InformerOptions) -> Informer[Any] | None:
        return Informer(Injected(), options) if options.kind == ConfigMap else None

    async with Cluster.none() as cluster, asyncio.TaskGroup() as group:
        cache = cluster.new_cache(CacheOptions(new_informer=new_informer))
        running = group.create_task(cache.run())
        await asyncio.sleep(0)
        client = cluster.cached_client(cache)
        assert (await client.get(ConfigMap, "a", namespace="b")).metadata.resource_version == "1"
        assert (await client.list(ConfigMap)).names == ["a"]
        running.cancel()
