"""Watches, with time that does not pass by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilotage.errors import Invalid, NotFound, TooManyRequests
from pilotage.meta.documents import Document
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.verbs.watch import BOOKMARK_SECONDS
from tests.seeds import seeds

from ..registries import (
    CONFIG_MAPS,
    DEFINITIONS,
    WIDGETS,
    WIDGETS_V2,
    Api,
    Pausing,
    create_in_dropped_version,
    definition,
    opened,
    widget,
)

Events = AsyncIterator[tuple[str, Document]]


def config_map(name: str, **labels: str) -> Document:
    return {"metadata": {"name": name, "labels": labels}}


async def names(events: Events, count: int) -> list[tuple[str, str]]:
    found = []
    async with asyncio.timeout(60):
        async for kind, document in events:
            found.append((kind, document["metadata"].get("name", "")))
            if len(found) == count:
                break
    return found


async def end_of_initial_events(events: Events) -> None:
    """The bookmark that a watch without a version gets after the present state."""
    kind, document = await anext(events)
    assert (kind, document["metadata"]["annotations"]["k8s.io/initial-events-end"]) == ("BOOKMARK", "true")


@pytest.mark.virtual_time
async def test_a_silent_watch_gets_bookmarks() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS, allow_watch_bookmarks=True) as events:
        await end_of_initial_events(events)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        kind, first = await anext(events)
        assert (kind, loop.time() - begin) == ("BOOKMARK", BOOKMARK_SECONDS)
        assert first == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": first["metadata"]}
        assert first["metadata"] == {
            "resourceVersion": await api.version(CONFIG_MAPS),
            "annotations": {"pilotage.dev/bookmark-seconds": "3"},
        }


@pytest.mark.virtual_time
async def test_a_client_without_the_preference_gets_a_bookmark_each_minute_and_before_the_end() -> None:
    options: dict[str, Any] = {"allow_watch_bookmarks": True, "frequent_bookmarks": False, "timeout_seconds": 100}
    async with opened() as api, api.watch(CONFIG_MAPS, **options) as events:
        await end_of_initial_events(events)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        found = [(round(loop.time() - begin), kind, document["metadata"].keys()) async for kind, document in events]
    assert found == [(60, "BOOKMARK", {"resourceVersion"}), (98, "BOOKMARK", {"resourceVersion"})]


@pytest.mark.virtual_time
async def test_a_short_watch_gets_no_bookmark_at_its_end() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS, allow_watch_bookmarks=True, timeout_seconds=1) as events:
        await end_of_initial_events(events)
        assert [kind async for kind, _ in events] == []


@pytest.mark.virtual_time
async def test_initial_events_in_the_future_are_an_error_event_after_a_while() -> None:
    options: dict[str, Any] = {"send_initial_events": True, "resource_version_match": "NotOlderThan"}
    async with opened() as api:
        version = int(await api.version(CONFIG_MAPS)) + 100
        async with api.watch(CONFIG_MAPS, resource_version=str(version), **options) as events:
            begin = asyncio.get_running_loop().time()
            [(kind, status)] = [event async for event in events]
            assert (kind, status["code"], asyncio.get_running_loop().time() - begin) == ("ERROR", 504, 3)
            assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.virtual_time
async def test_initial_events_wait_for_a_version_that_is_near() -> None:
    options: dict[str, Any] = {"send_initial_events": True, "resource_version_match": "NotOlderThan"}
    async with opened() as api:
        version = int(await api.version(CONFIG_MAPS)) + 1
        async with api.watch(CONFIG_MAPS, resource_version=str(version), timeout_seconds=1, **options) as events:
            waiting = asyncio.ensure_future(names(events, 1))
            await asyncio.sleep(0.5)
            await api.create(CONFIG_MAPS, config_map("one"), "default")
            assert await waiting == [("ADDED", "one")]


@pytest.mark.virtual_time
async def test_a_watch_from_the_future_gets_no_bookmark_before_its_version_is_reached() -> None:
    async with opened() as api:
        version = int(await api.version(CONFIG_MAPS)) + 2
        options: dict[str, Any] = {"allow_watch_bookmarks": True, "timeout_seconds": 100}
        async with api.watch(CONFIG_MAPS, resource_version=str(version), **options) as events:
            first = asyncio.ensure_future(anext(events))
            await asyncio.sleep(50)
            assert not first.done()
            for name in ("one", "two", "three"):
                await api.create(CONFIG_MAPS, config_map(name), "default")
            kind, document = await first
            assert (kind, document["metadata"]["name"]) == ("ADDED", "three")


@pytest.mark.virtual_time
async def test_a_bookmark_follows_the_changes_of_other_kinds() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS, allow_watch_bookmarks=True) as events:
        await end_of_initial_events(events)
        await anext(events)
        await api.create(DEFINITIONS, definition())
        made = await api.get(DEFINITIONS, "widgets.test.example.com")
        _, bookmark = await anext(events)
        assert bookmark["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@pytest.mark.virtual_time
async def test_bookmarks_are_sent_on_request_only() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS, timeout_seconds=600) as events:
        assert [event async for event in events] == []


@pytest.mark.virtual_time
async def test_a_watch_ends_at_its_time() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS, timeout_seconds=7) as events:
        begin = asyncio.get_running_loop().time()
        await api.create(CONFIG_MAPS, config_map("one"), "default")
        assert [kind async for kind, _ in events] == ["ADDED"]
        assert asyncio.get_running_loop().time() - begin == pytest.approx(7)


@pytest.mark.virtual_time
async def test_what_enters_and_leaves_a_selection_is_added_and_deleted() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS, label_selector="in=yes") as events:
        await api.create(CONFIG_MAPS, config_map("one"), "default")
        await api.patch(CONFIG_MAPS, "one", {"metadata": {"labels": {"in": "yes"}}}, "default")
        await api.patch(CONFIG_MAPS, "one", {"data": {"a": "b"}}, "default")
        left = await api.patch(CONFIG_MAPS, "one", {"metadata": {"labels": {"in": "no"}}}, "default")
        assert await names(events, 2) == [("ADDED", "one"), ("MODIFIED", "one")]
        kind, document = await anext(events)
        assert kind == "DELETED"
        assert document["metadata"]["labels"] == {"in": "yes"}, "as it was when it was still selected"
        assert document["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


@pytest.mark.virtual_time
async def test_initial_events_end_with_an_annotated_bookmark() -> None:
    async with opened() as api:
        await api.create(CONFIG_MAPS, config_map("one"), "default")
        options: dict[str, Any] = {
            "send_initial_events": True,
            "resource_version_match": "NotOlderThan",
            "allow_watch_bookmarks": True,
        }
        async with api.watch(CONFIG_MAPS, **options) as events:
            assert (await anext(events))[0] == "ADDED"
            kind, bookmark = await anext(events)
            assert kind == "BOOKMARK"
            assert bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
            await api.create(CONFIG_MAPS, config_map("two"), "default")
            assert await names(events, 1) == [("ADDED", "two")]


@pytest.mark.virtual_time
async def test_without_initial_events_a_watch_begins_now() -> None:
    async with opened() as api:
        await api.create(CONFIG_MAPS, config_map("one"), "default")
        options: dict[str, Any] = {"send_initial_events": False, "resource_version_match": "NotOlderThan"}
        async with api.watch(CONFIG_MAPS, **options) as events:
            await api.create(CONFIG_MAPS, config_map("two"), "default")
            assert await names(events, 1) == [("ADDED", "two")]


@pytest.mark.virtual_time
async def test_a_version_that_is_forgotten_is_an_expired_error() -> None:
    async with opened() as api:
        version = await api.version(CONFIG_MAPS)
        for name in ("a", "b", "c"):
            await api.create(CONFIG_MAPS, config_map(name), "default")
        storage = api.registry.context.storage
        await storage.compact(storage.revision)
        async with api.watch(CONFIG_MAPS, resource_version=version) as events:
            seen = [event async for event in events]
        assert [kind for kind, _ in seen] == ["ERROR"]
        status = seen[0][1]
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"] == f"too old resource version: {version} ({storage.oldest - 1})"


@pytest.mark.virtual_time
async def test_a_watch_that_is_too_slow_gets_an_error() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS) as events:
        await api.create(CONFIG_MAPS, config_map("a"), "default")
        assert await names(events, 1) == [("ADDED", "a")]
        for name in ("b", "c", "d", "e"):
            await api.create(CONFIG_MAPS, config_map(name), "default")
        await asyncio.sleep(0)
        storage = api.registry.context.storage
        await api.create(DEFINITIONS, definition())
        await storage.compact(storage.revision)
        kinds = [kind async for kind, _ in events]
        assert kinds[-1] == "ERROR"


@pytest.mark.virtual_time
async def test_a_change_of_the_schema_ends_watches_but_one_of_conditions_does_not() -> None:
    async with opened() as api:
        made = await api.create(DEFINITIONS, definition())
        async with api.watch(WIDGETS, "default", timeout_seconds=600) as events:
            name = made["metadata"]["name"]
            await api.patch(DEFINITIONS, name, {"metadata": {"labels": {"a": "b"}}})
            await api.create(WIDGETS, widget("one"), "default")
            assert await names(events, 1) == [("ADDED", "one")]
            names_ = made["spec"]["names"] | {"shortNames": ["wd"]}
            await api.patch(DEFINITIONS, name, {"spec": {"names": names_}})
            begin = asyncio.get_running_loop().time()
            assert [event async for event in events] == []
            assert asyncio.get_running_loop().time() == begin, "it ended at once"


@pytest.mark.virtual_time
async def test_the_end_of_a_definition_ends_its_watches() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one"), "default")
        async with api.watch(WIDGETS, "default", timeout_seconds=600) as events:
            await api.delete(DEFINITIONS, "widgets.test.example.com")
            seen = [kind async for kind, _ in events]
            assert seen in (["ADDED", "DELETED"], ["ADDED"])
            assert asyncio.get_running_loop().time() < 10


@pytest.mark.virtual_time
async def test_what_is_wrong_with_a_watch_is_raised_before_it_is_open() -> None:
    async with opened() as api:
        with pytest.raises(Invalid):
            async with api.watch(CONFIG_MAPS, send_initial_events=True):
                pass
        with pytest.raises(NotFound):
            async with api.watch(WIDGETS):
                pass


@pytest.mark.virtual_time
async def test_a_closed_storage_ends_watches_quietly() -> None:
    async with opened() as api, api.watch(CONFIG_MAPS) as events:
        waiting = asyncio.ensure_future(anext(events, None))
        await asyncio.sleep(0.1)
        await api.registry.context.storage.close()
        assert await waiting is None


async def numbered(api: Api, count: int, name: str) -> None:
    for number in range(count):
        await api.create(CONFIG_MAPS, config_map(f"{name}-{number}"), "default")
        await asyncio.sleep(0)


@seeds(2, 8)
def test_a_watch_from_a_list_sees_every_later_commit_once_and_in_order(seed: int) -> None:
    from pilotage.testing import loop

    loop.run(_every_commit_once(), seed=seed)


async def _every_commit_once() -> None:
    async with opened(Pausing()) as api, asyncio.TaskGroup() as writers:
        for writer in "abc":
            writers.create_task(numbered(api, 10, writer))
        for _ in range(7):
            await asyncio.sleep(0)
        page = await api.registry.list(APIRequest(Verb.LIST, CONFIG_MAPS))
        known = {json.loads(bytes(item))["metadata"]["name"] for item in page.items}
        async with api.watch(CONFIG_MAPS, resource_version=page.resource_version) as events:
            seen: list[Document] = []
            async with asyncio.timeout(60):
                while len(known) + len(seen) < 30:
                    kind, document = await anext(events)
                    assert kind == "ADDED"
                    seen.append(document)
        versions = [int(one["metadata"]["resourceVersion"]) for one in seen]
        assert versions == sorted(set(versions))
        assert {one["metadata"]["name"] for one in seen}.isdisjoint(known)


async def test_a_watch_cannot_begin_with_an_object_in_a_version_that_the_definition_has_dropped() -> None:
    async with opened() as api:
        await create_in_dropped_version(api)
        with pytest.raises(TooManyRequests, match="failed to list"):
            async with api.watch(WIDGETS_V2):
                pass
