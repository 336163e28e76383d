"""Lists: pages and their tokens."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from pilotage.errors import ApiError, Gone, Timeout, TooManyRequests
from pilotage.rest.request import APIRequest, Deadline, ListOptions, Verb
from pilotage.rest.response import Page
from pilotage.server.openapi.schemas import custom_schemas
from pilotage.server.verbs.read import WAIT_SECONDS

from ..registries import (
    CONFIG_MAPS,
    DEFINITIONS,
    WIDGETS,
    WIDGETS_V2,
    Api,
    create_in_dropped_version,
    definition,
    opened,
    widget,
)


async def page(api: Api, **options: object) -> Page:
    return await api.registry.list(
        APIRequest(Verb.LIST, CONFIG_MAPS, namespace="default", options=ListOptions(**options))  # type: ignore[arg-type]
    )


async def fill(api: Api, names: str, selected: str) -> None:
    for name in names:
        labels = {"selected": str(name in selected).lower()}
        await api.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}}, "default")


@pytest.mark.parametrize(("selected", "more"), [("ab", True), ("de", False), ("a", False)])
async def test_a_full_page_has_a_token_wherever_keys_are_left_selected_or_not(selected: str, more: bool) -> None:
    async with opened() as api:
        await fill(api, "abcde", selected)
        first = await page(api, limit=2, label_selector="selected=true")
        assert (len(first.items), bool(first.continue_token)) == (len(selected), more)
        assert first.remaining_item_count is None
        if more:
            token = first.continue_token
            rest = await page(api, limit=2, label_selector="selected=true", continue_token=token)
            assert (list(rest.items), rest.continue_token) == ([], "")


async def test_the_page_of_one_name_has_no_token() -> None:
    async with opened() as api:
        await fill(api, "abc", "")
        one = await page(api, limit=1, field_selector="metadata.name=a")
        assert (len(one.items), one.continue_token) == (1, "")


async def test_a_list_at_a_version_that_is_forgotten_is_expired() -> None:
    async with opened() as api:
        await fill(api, "abc", "")
        first = await page(api, limit=1)
        await fill(api, "de", "")
        storage = api.registry.context.storage
        await storage.compact(storage.revision)
        exact = {"resource_version": first.resource_version, "resource_version_match": "Exact"}
        with pytest.raises(Gone) as expired:
            await page(api, **exact)
        assert str(expired.value) == "The resourceVersion for the provided list is too old."
        with pytest.raises(Gone, match=r"a new list without the continue parameter\.$"):
            await page(api, limit=1, **exact)
        with pytest.raises(Gone, match="use the continue token in this response") as inconsistent:
            await page(api, limit=1, continue_token=first.continue_token)
        rest = await page(api, continue_token=inconsistent.value.status.continue_token)
        assert len(rest.items) == 4


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("seconds", "message"), [(1, "did not complete within the allotted"), (5, "Too large resource")]
)
async def test_a_read_waits_for_a_version_of_the_future_no_longer_than_its_client(seconds: float, message: str) -> None:
    async with opened() as api:
        await fill(api, "a", "")
        loop = asyncio.get_running_loop()
        options = ListOptions(resource_version=str(int(await api.version(CONFIG_MAPS)) + 100))
        for verb, name in ((Verb.GET, "a"), (Verb.LIST, "")):
            begin = loop.time()
            request = APIRequest(verb, CONFIG_MAPS, "default", name, options=options)
            request = replace(request, deadline=Deadline(begin + seconds, allotted=True))
            with pytest.raises(Timeout, match=message):
                await (api.registry.list(request) if verb is Verb.LIST else api.registry.call(request))
            assert loop.time() - begin == min(seconds, WAIT_SECONDS)


async def test_a_list_of_custom_resources_has_the_kind_that_their_definition_declares() -> None:
    async with opened() as api:
        names = {"plural": "widgets", "kind": "Widget", "listKind": "ManyWidgets"}
        await api.create(DEFINITIONS, definition(names=names))
        assert (await api.registry.list(APIRequest(Verb.LIST, WIDGETS))).list_kind == "ManyWidgets"
        (info,) = await api.registry.custom_resources()
        assert sorted(custom_schemas(info)) == ["com.example.test.v1.ManyWidgets", "com.example.test.v1.Widget"]


async def test_an_object_in_a_version_that_the_definition_has_dropped_cannot_be_read_or_written() -> None:
    error = "request to convert CR from an invalid group/version: test.example.com/v1"
    async with opened() as api:
        await create_in_dropped_version(api)
        await api.create(WIDGETS_V2, widget("new", apiVersion="test.example.com/v2"), "default")
        for refused in (
            api.get(WIDGETS_V2, "old", "default"),
            api.patch(WIDGETS_V2, "old", {"spec": {"a": 1}}, "default"),
            api.delete(WIDGETS_V2, "old", "default"),
            api.registry.list(APIRequest(Verb.DELETE_COLLECTION, WIDGETS_V2, namespace="default")),
        ):
            with pytest.raises(ApiError) as raised:
                await refused
            assert (raised.value.status.code, raised.value.status.reason, str(raised.value)) == (500, "", error)
        with pytest.raises(TooManyRequests) as listed:
            await api.all(WIDGETS_V2)
        text = f"storage is (re)initializing: failed to list test.example.com/v2, Kind=Widget: {error}"
        assert (str(listed.value), listed.value.retry_after_seconds) == (text, 1)
        assert (await api.get(WIDGETS_V2, "new", "default"))["metadata"]["name"] == "new"
