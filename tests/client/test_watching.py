"""Watches, on every API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from pilotage.client import WatchedEvent
from pilotage.errors import ApiError, BadRequest, DecodeError, Gone, InternalError, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta
from pilotage.meta.unstructured import metadata_only
from pilotage.server.verbs import watch
from pilotage.server.verbs.watch import Watcher
from pilotage.types.core.v1 import ConfigMap

from ..environments import WITHIN, Environment
from .kinds import WIDGET, WIDGETS, Widget, new_widget

Seen = list[tuple[str, str]]


async def collect(events: AsyncIterator[WatchedEvent[ConfigMap]], count: int) -> list[WatchedEvent[ConfigMap]]:
    """The next `count` events that are not bookmarks."""
    found: list[WatchedEvent[ConfigMap]] = []
    async with asyncio.timeout(WITHIN):
        async for event in events:
            if event.type != "BOOKMARK":
                found.append(event)
            if len(found) == count:
                break
    return found


def summary(events: list[WatchedEvent[ConfigMap]]) -> Seen:
    return [(event.type, event.header.name) for event in events]


def config_map(environment: Environment, name: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=environment.namespace, labels=labels))


@pytest.mark.covers("T156")
async def test_a_watch_goes_on_where_a_list_ended(environment: Environment) -> None:
    before = await environment.client.create(config_map(environment, "before"))
    version = (await environment.client.list(ConfigMap, namespace=environment.namespace)).resource_version
    after = await environment.client.create(config_map(environment, "after"))
    await environment.client.patch(before, {"data": {"a": "b"}})
    await environment.client.delete(after)
    async with environment.client.watch(ConfigMap, namespace=environment.namespace, resource_version=version) as events:
        seen = await collect(events, 3)
    assert summary(seen) == [("ADDED", "after"), ("MODIFIED", "before"), ("DELETED", "after")]
    assert seen[1].object == before
    versions = [int(event.header.resource_version) for event in seen]
    assert versions == sorted(set(versions))
    assert versions[0] > int(version)
    assert seen[2].object.metadata.uid == after.metadata.uid


async def test_a_watch_without_a_version_begins_with_what_is_there(environment: Environment) -> None:
    for name in ("b", "a"):
        await environment.client.create(config_map(environment, name))
    async with environment.client.watch(ConfigMap, namespace=environment.namespace) as events:
        assert sorted(summary(await collect(events, 2))) == [("ADDED", "a"), ("ADDED", "b")]
        await environment.client.create(config_map(environment, "c"))
        assert summary(await collect(events, 1)) == [("ADDED", "c")]


async def test_an_object_comes_into_a_selection_and_leaves_it(environment: Environment) -> None:
    version = (await environment.client.list(ConfigMap, namespace=environment.namespace)).resource_version
    held = await environment.client.create(config_map(environment, "a"))
    for labels in ({"in": "yes"}, {"more": "yes"}, {"in": None}):
        await environment.client.patch(held, {"metadata": {"labels": labels}})
    await environment.client.delete(held)
    await environment.client.create(config_map(environment, "end", **{"in": "yes"}))
    async with environment.client.watch(
        ConfigMap, namespace=environment.namespace, labels="in=yes", resource_version=version
    ) as events:
        seen = await collect(events, 4)
    assert summary(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "end")]
    assert seen[2].object.metadata.labels == {"in": "yes", "more": "yes"}  # as it was when it was last selected
    assert int(seen[2].header.resource_version) == int(held.metadata.resource_version)


async def test_a_watch_of_one_name(environment: Environment) -> None:
    version = (await environment.client.list(ConfigMap, namespace=environment.namespace)).resource_version
    for name in ("a", "b", "c"):
        await environment.client.create(config_map(environment, name))
    await environment.client.delete(ConfigMap, "b", namespace=environment.namespace)
    async with environment.client.watch(
        ConfigMap, namespace=environment.namespace, fields={"metadata.name": "b"}, resource_version=version
    ) as events:
        assert summary(await collect(events, 2)) == [("ADDED", "b"), ("DELETED", "b")]


async def test_a_deletion_with_a_finalizer_is_seen_in_two_steps(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    widget.metadata.finalizers = ["tests.pilotage.dev/hold"]
    await environment.client.create(widget)
    version = widget.metadata.resource_version
    await environment.client.delete(widget)
    await environment.client.patch(widget, {"metadata": {"finalizers": None}})
    async with asyncio.timeout(WITHIN):
        async with environment.client.watch(
            Widget, namespace=environment.namespace, resource_version=version
        ) as events:
            seen = [await anext(events), await anext(events)]
    assert [event.type for event in seen] == ["MODIFIED", "DELETED"]
    assert seen[0].object.metadata.deletion_timestamp is not None
    assert int(seen[1].header.resource_version) > int(seen[0].header.resource_version)


async def test_a_write_that_changes_nothing_is_not_seen(environment: Environment) -> None:
    held = await environment.client.create(config_map(environment, "a"))
    version = held.metadata.resource_version
    await environment.client.update(held)
    await environment.client.patch(held, {"metadata": {"labels": {"b": None}}})
    await environment.client.create(config_map(environment, "end"))
    async with environment.client.watch(ConfigMap, namespace=environment.namespace, resource_version=version) as events:
        assert summary(await collect(events, 1)) == [("ADDED", "end")]


@pytest.mark.parametrize("kind", [WIDGET, metadata_only(WIDGET)])
@pytest.mark.covers("T141", "T156")
async def test_a_watch_gives_each_form(environment: Environment, kind: GroupVersionKind) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    async with asyncio.timeout(WITHIN):
        async with environment.client.watch(kind, namespace=environment.namespace) as events:
            event = await anext(events)
    assert event.object.metadata.name == "one"
    assert (event.object.api_version, event.object.kind) == (WIDGET.api_version, "Widget")
    assert event.object is event.object


@pytest.mark.covers("T130")
async def test_builtin_documents_of_a_watch_know_their_kind(environment: Environment) -> None:
    await environment.client.create(config_map(environment, "a"))
    kind = GroupVersionKind("", "v1", "ConfigMap")
    async with asyncio.timeout(WITHIN):
        async with environment.client.watch(kind, namespace=environment.namespace) as events:
            document = (await anext(events)).object
    assert (document["apiVersion"], document["kind"]) == ("v1", "ConfigMap")


@pytest.fixture
def quick_bookmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our servers send bookmarks so often that one comes within a second."""
    monkeypatch.setattr(watch, "Watcher", partial(Watcher, bookmark_seconds=0.2))


@pytest.mark.usefixtures("quick_bookmarks")
async def test_a_bookmark_has_the_version_of_the_watch(environment: Environment) -> None:
    await environment.client.create(config_map(environment, "a"))
    found = await environment.client.list(ConfigMap, namespace=environment.namespace)
    async with asyncio.timeout(WITHIN):
        async with environment.client.watch(
            ConfigMap,
            namespace=environment.namespace,
            labels="none",
            timeout_seconds=3 if environment.real else 1,
            allow_bookmarks=True,
        ) as events:
            bookmarks = [event async for event in events]
    assert all(event.type == "BOOKMARK" for event in bookmarks)
    if bookmarks:  # the real server need not send any in so short a time
        assert int(bookmarks[-1].header.resource_version) >= int(found.resource_version)
        with pytest.raises(DecodeError, match="no object"):
            _ = bookmarks[-1].object
    else:
        assert environment.real


async def test_a_watch_ends_when_its_time_is_over_without_bookmarks_where_they_are_not_wanted(
    environment: Environment,
) -> None:
    async with asyncio.timeout(WITHIN):
        async with environment.client.watch(
            ConfigMap, namespace=environment.namespace, allow_bookmarks=False, timeout_seconds=1
        ) as events:
            assert [event async for event in events] == []


async def test_a_bad_selector_is_reported_before_the_watch_begins(environment: Environment) -> None:
    with pytest.raises(BadRequest):
        async with environment.client.watch(ConfigMap, namespace=environment.namespace, labels="=="):
            pytest.fail("the watch has begun")
    with pytest.raises(BadRequest, match="not a known field selector"):
        async with environment.client.watch(ConfigMap, namespace=environment.namespace, fields={"data": "x"}):
            pytest.fail("the watch has begun")


async def test_a_version_that_is_not_a_number_is_reported_before_the_watch_begins(environment: Environment) -> None:
    with pytest.raises(ApiError) as caught:
        async with environment.client.watch(ConfigMap, namespace=environment.namespace, resource_version="abc"):
            pytest.fail("the watch has begun")
    assert caught.value.status.code == 500
    assert (caught.value.kind, caught.value.namespace) == ("ConfigMap", environment.namespace)


async def test_a_forgotten_version_is_gone(environment: Environment) -> None:
    await environment.install(WIDGETS)
    if not environment.real:
        pytest.skip("nothing is forgotten so soon")
    async with (
        asyncio.timeout(WITHIN),
        environment.client.watch(Widget, namespace=environment.namespace, resource_version="1") as events,
    ):
        with pytest.raises(Gone, match="too old resource version: 1 ") as caught:
            await anext(events)
    assert (caught.value.status.code, caught.value.kind) == (410, "Widget")


async def test_what_the_callers_block_raises_is_left_alone(environment: Environment) -> None:
    error = NotFound("something of the caller's own")
    with pytest.raises(NotFound) as caught:
        async with environment.client.watch(ConfigMap, namespace=environment.namespace):
            raise error
    assert caught.value is error
    assert caught.value.kind == ""


async def test_two_watches_see_the_same_order(environment: Environment) -> None:
    async with (
        environment.client.watch(ConfigMap, namespace=environment.namespace) as one,
        environment.client.watch(ConfigMap, namespace=environment.namespace) as two,
    ):
        await asyncio.gather(
            *(environment.client.create(config_map(environment, f"n{number}")) for number in range(10))
        )
        first, second = await collect(one, 10), await collect(two, 10)
    assert summary(first) == summary(second)
    versions = [int(event.header.resource_version) for event in first]
    assert versions == sorted(versions)


async def test_a_failure_of_the_server_has_the_same_class_everywhere(environment: Environment) -> None:
    with pytest.raises(InternalError, match='resourceVersion: Invalid value: "abc"') as caught:
        async with environment.client.watch(ConfigMap, resource_version="abc") as events:
            await anext(events)
    assert (caught.value.status.code, caught.value.status.reason) == (500, "")
