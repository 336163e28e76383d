from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.listing import ListerWatcher, RestListerWatcher
from pilotage.rest.request import APIRequest, Form, ListOptions, Verb
from pilotage.rest.response import Page, Response, WatchEvent

PODS = GroupVersionResource("", "v1", "pods")


class Recorder:
    """A transport that records requests."""

    def __init__(self) -> None:
        self.requests: list[APIRequest] = []

    async def call(self, request: APIRequest) -> Response:
        raise AssertionError("nothing but lists and watches")

    async def list(self, request: APIRequest) -> Page:
        self.requests.append(request)
        return Page([], "5")

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.requests.append(request)
        yield _one()

    async def resources(self) -> Sequence[RESTMapping]:
        return []

    async def close(self) -> None:
        pass


async def _one() -> AsyncIterator[WatchEvent]:
    yield WatchEvent("ADDED", b"{}")


async def test_lists_and_watches_are_of_one_collection_in_one_form() -> None:
    transport = Recorder()
    source: ListerWatcher = RestListerWatcher(transport, PODS, "default", Form.METADATA, user_agent="me")
    options = ListOptions(resource_version="5", label_selector="app=web")
    assert (await source.list(options)).resource_version == "5"
    async with source.watch(options) as events:
        assert [event.type async for event in events] == ["ADDED"]
    assert [request.verb for request in transport.requests] == [Verb.LIST, Verb.WATCH]
    for request in transport.requests:
        assert (request.resource, request.namespace, request.form, request.options, request.user_agent) == (
            PODS,
            "default",
            Form.METADATA,
            options,
            "me",
        )


def test_a_real_server_is_given_more_time_than_its_bookmarks_are_apart() -> None:
    assert RestListerWatcher(Recorder(), PODS).silence_seconds == 75
