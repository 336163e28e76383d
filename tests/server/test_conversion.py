from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pilotage.errors import ApiError
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server import conversion
from pilotage.storage.interface import Entry
from tests.server.registries import DEFINITIONS, Api, opened

from .webhooks.conversions import converted, definition

CASE = "unit"
GROUP = f"hooks-{CASE}.example.com"
V1 = GroupVersionResource(GROUP, "v1", "widgets")
V2 = GroupVersionResource(GROUP, "v2", "widgets")
URL = "https://convert.default.svc:443/c"


def _definition() -> Document:
    document = definition(CASE)
    service = {"name": "convert", "namespace": "default", "path": "/c"}
    document["spec"]["conversion"]["webhook"]["clientConfig"] = {"service": service}
    return document


def _widget(name: str, version: str = "v1", **more: Any) -> Document:
    metadata = {"name": name} | ({"labels": more.pop("labels")} if "labels" in more else {})
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": metadata} | more


class _Webhook:
    """Converts, and counts the objects of each review."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def __call__(self, review: Document) -> Document:
        self.batches.append(len(review["request"]["objects"]))
        return converted(review)


@asynccontextmanager
async def _served() -> AsyncIterator[tuple[Api, _Webhook]]:
    webhook = _Webhook()
    async with opened() as api:
        api.registry.local_webhooks.add(URL, webhook)
        await api.create(DEFINITIONS, _definition())
        yield api, webhook


async def test_a_list_is_converted_by_one_review_of_what_has_another_version() -> None:
    async with _served() as (api, webhook):
        for name in ("a", "b", "c"):
            await api.create(V1, _widget(name, spec={"size": 4}), "default")
        assert [one["spec"] for one in await api.all(V2)] == [{"length": 4}] * 3
        assert webhook.batches == [3]
        assert [one["spec"] for one in await api.all(V1)] == [{"size": 4}] * 3
        assert webhook.batches == [3]


async def test_what_was_stored_at_a_former_version_is_converted_too() -> None:
    async with _served() as (api, webhook):
        await api.create(V1, _widget("a", spec={"size": 4}), "default")
        stored = await api.get(DEFINITIONS, f"widgets.{GROUP}")
        for version in stored["spec"]["versions"]:
            version["storage"] = version["name"] == "v2"
        await api.update(DEFINITIONS, stored)
        await api.create(V2, _widget("b", "v2", spec={"length": 5}), "default")
        webhook.batches.clear()
        assert [one["spec"] for one in await api.all(V2)] == [{"length": 4}, {"length": 5}]
        assert [one["spec"] for one in await api.all(V1)] == [{"size": 4}, {"size": 5}]
        assert webhook.batches == [1, 1]
        await api.patch(V1, "a", {"metadata": {"labels": {"x": "y"}}}, "default")  # rewrites it
        webhook.batches.clear()
        await api.all(V2)
        assert webhook.batches == []


async def test_one_object_that_cannot_be_converted_fails_the_list() -> None:
    async with _served() as (api, _):
        await api.create(V1, _widget("a", spec={"size": 4}), "default")
        await api.create(V1, _widget("b", labels={"lie": "failed"}), "default")
        with pytest.raises(ApiError, match=r"conversion webhook for .*/v1, Kind=Widget failed: no way") as failed:
            await api.all(V2)
        assert failed.value.status.code == 500
        assert len(await api.all(V1)) == 2


async def test_a_watch_gets_converted_events_and_ends_with_an_error_if_that_fails() -> None:
    async with _served() as (api, _):
        await api.create(V1, _widget("a", spec={"size": 1}), "default")
        async with api.watch(V2) as events:
            assert (await anext(events))[1]["spec"] == {"length": 1}
            await api.patch(V1, "a", {"spec": {"size": 2}}, "default")
            kind, changed = await anext(events)
            assert (kind, changed["spec"], changed["apiVersion"]) == ("MODIFIED", {"length": 2}, f"{GROUP}/v2")
            await api.delete(V1, "a", "default")
            kind, deleted = await anext(events)
            assert (kind, deleted["spec"]) == ("DELETED", {"length": 2})
            await api.create(V1, _widget("b", labels={"lie": "failed"}), "default")
            kind, status = await anext(events)
            assert (kind, status["code"]) == ("ERROR", 500)
            assert [event async for event in events] == []


async def test_a_write_that_cannot_be_converted_is_not_stored() -> None:
    async with _served() as (api, _):
        with pytest.raises(ApiError, match="failed: no way"):
            await api.create(V2, _widget("a", "v2", labels={"lie": "failed"}), "default")
        assert await api.names(V1) == []


async def test_a_failed_conversion_is_reported_before_a_taken_name() -> None:
    async with _served() as (api, _):
        await api.create(V1, _widget("a"), "default")
        with pytest.raises(ApiError, match="failed: no way"):
            await api.create(V2, _widget("a", "v2", labels={"lie": "failed"}), "default")


@pytest.mark.virtual_time
async def test_a_webhook_that_does_not_answer_fails_the_request_in_time() -> None:
    async def silent(review: Document) -> Document:
        await asyncio.Event().wait()
        return review

    async with opened() as api:
        api.registry.local_webhooks.add(URL, silent)
        await api.create(DEFINITIONS, _definition())
        await api.create(V1, _widget("a"), "default")
        with pytest.raises(ApiError) as failed:
            await api.get(V2, "a", "default")
    message = f'failed: Post "{URL}?timeout=30s": context deadline exceeded'
    assert str(failed.value).endswith(message)


async def test_without_the_service_of_its_webhook_only_the_stored_version_can_be_read() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, _definition())
        await api.create(V1, _widget("a"), "default")
        assert await api.names(V1) == ["a"]
        with pytest.raises(ApiError, match='svc:443/c\\?timeout=30s": service "convert" not found'):
            await api.get(V2, "a", "default")


async def test_a_label_selector_selects_by_the_converted_labels() -> None:
    async with _served() as (api, _):
        await api.create(V1, _widget("a", labels={"lie": "annotations", "x": "y"}), "default")
        await api.create(V1, _widget("b"), "default")
        found = await api.all(V2, label_selector="x=y")
        assert [one["metadata"]["annotations"] for one in found] == [{"by": "conversion"}]


def test_a_review_has_a_bounded_number_of_objects_and_bytes() -> None:
    def batches(*sizes: int) -> list[list[int]]:
        entries = [Entry("k", b"x" * size, 1, 1) for size in sizes]
        return list(conversion._batches(range(len(entries)), entries))

    assert [len(batch) for batch in batches(*[1] * 1_001)] == [500, 500, 1]
    half = conversion.BATCH_BYTES // 2
    assert batches(half, half, half) == [[0, 1], [2]]
    assert batches(1, 3 * half, 1) == [[0], [1], [2]]
    assert batches() == []


async def _calls(api: Api, webhook: _Webhook, request: Any) -> int:
    webhook.batches.clear()
    await request
    return len(webhook.batches)


async def test_a_write_at_another_version_calls_the_webhook_to_read_to_write_and_to_answer() -> None:
    """An object that is stored at v1 is converted once to v2, once to v1 together with the object before, and once for
    the answer, whatever managers it has."""
    async with _served() as (api, webhook):
        created = _widget("a", "v2", spec={"length": 4})
        assert await _calls(api, webhook, api.create(V2, created, "default")) == 2  # nothing is read
        await api.create(V1, _widget("b", spec={"size": 4}), "default")
        found = await api.get(V2, "b", "default")
        found["spec"]["length"] = 5
        assert await _calls(api, webhook, api.update(V2, found, "default")) == 3
        assert await _calls(api, webhook, api.patch(V2, "b", {"spec": {"length": 6}}, "default")) == 3
        status = api.patch(V2, "b", {"status": {"phase": "p"}}, "default", subresource="status")
        assert await _calls(api, webhook, status) == 3
        scale = api.patch(V2, "b", {"spec": {"replicas": 7}}, "default", subresource="scale")
        assert await _calls(api, webhook, scale) == 3
        assert (await api.get(V1, "b", "default"))["spec"] == {"size": 7}
        managers = {each["apiVersion"] for each in found["metadata"]["managedFields"]}
        assert managers == {f"{GROUP}/v1"}
        assert await _calls(api, webhook, api.patch(V1, "b", {"spec": {"size": 8}}, "default")) <= 1  # its managers
        assert await _calls(api, webhook, api.delete(V2, "b", "default")) == 1


async def _apply(api: Api, gvr: GroupVersionResource, document: Document) -> None:
    name, body = document["metadata"]["name"], json.dumps(document).encode()
    write = WriteOptions(field_manager="me", force=True)
    content_type = PatchType.APPLY.value
    await api.registry.call(
        APIRequest(Verb.PATCH, gvr, "default", name=name, body=body, content_type=content_type, write=write)
    )


async def test_an_apply_at_another_version_calls_the_webhook_to_read_to_write_and_to_answer() -> None:
    async with _served() as (api, webhook):
        first = _widget("a", "v1", spec={"size": 4, "color": "red"})
        assert await _calls(api, webhook, _apply(api, V1, first)) == 0
        for length in (5, 6):
            again = _widget("a", "v2", spec={"length": length, "color": "red"})
            assert await _calls(api, webhook, _apply(api, V2, again)) == 3
        await api.patch(V1, "a", {"spec": {"color": "blue"}}, "default")
        other = _widget("a", "v2", spec={"length": 7})
        # It no longer applies the color: whether another manager owns it is decided at the version of that manager.
        assert await _calls(api, webhook, _apply(api, V2, other)) == 4
