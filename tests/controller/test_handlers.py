from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, cast

import pytest

from pilotage.controller import (
    Event,
    Handler,
    Request,
    enqueue_request_for_object,
    enqueue_request_for_owner,
    enqueue_requests_from,
)
from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping

from .fakes import Fleet, Widget, owner, widget


def requests(handler: Handler, event: Event) -> list[Request]:
    return list(cast(Iterable[Request], handler(event)))


@pytest.mark.covers("T159")
def test_the_object_handler_gives_one_request_for_each_event() -> None:
    one = [Request("a", "default")]
    obj = widget("a")
    for event in (Event.create(obj), Event.delete(obj), Event.generic(obj), Event.update(obj, obj)):
        assert requests(enqueue_request_for_object, event) == one
    assert requests(enqueue_request_for_object, Event.update(widget("b"), obj)) == one
    assert requests(enqueue_request_for_object, Event.update(obj, None)) == one
    assert requests(enqueue_request_for_object, Event.create(None)) == []


@pytest.mark.covers("T160")
def test_the_map_handler_is_called_for_old_and_new_of_an_update() -> None:
    seen: list[str] = []

    def mapped(obj: Widget) -> list[Request]:
        seen.append(obj.metadata.name)
        return [Request(obj.metadata.name), Request("both")]

    handler = enqueue_requests_from(mapped)
    assert requests(handler, Event.update(widget("old"), widget("new"))) == [
        Request("old"),
        Request("both"),
        Request("new"),
        Request("both"),
    ]
    assert requests(handler, Event.delete(widget("gone"))) == [Request("gone"), Request("both")]
    assert requests(handler, Event.create(None)) == []
    assert seen == ["old", "new", "gone"]


async def test_a_map_function_may_be_async() -> None:
    async def mapped(obj: Widget) -> list[Request]:
        return [Request(obj.metadata.name)]

    found = enqueue_requests_from(mapped)(Event.update(widget("a"), widget("b")))
    assert inspect.isawaitable(found)
    assert await found == [Request("a"), Request("b")]


@pytest.mark.covers("T161")
def test_the_owner_handler_matches_group_and_kind_whatever_the_version() -> None:
    handler = enqueue_request_for_owner(Widget)
    owned = widget(
        "part",
        owner_references=[
            owner("Widget", "one"),
            owner("Widget", "two", group="demo.pilotage.dev/v1beta7", controller=True),
            owner("Gadget", "other kind"),
            owner("Widget", "other group", group="other.dev/v1"),
            owner("Widget", "nonsense", group="a/b/c"),
        ],
    )
    assert requests(handler, Event.create(owned)) == [Request("one", "default"), Request("two", "default")]
    assert requests(handler, Event.create(widget("lonely"))) == []


@pytest.mark.covers("T161")
def test_old_and_new_owners_are_meant_each_once() -> None:
    handler = enqueue_request_for_owner(Widget)
    old = widget("part", owner_references=[owner("Widget", "one"), owner("Widget", "two")])
    new = widget("part", owner_references=[owner("Widget", "two"), owner("Widget", "three")])
    names = [request.name for request in requests(handler, Event.update(old, new))]
    assert names == ["one", "two", "three"]


@pytest.mark.covers("T161")
def test_only_the_first_controller_counts_if_so_asked() -> None:
    handler = enqueue_request_for_owner(Widget, only_controller=True)
    references = [owner("Widget", "a"), owner("Widget", "b", controller=True), owner("Widget", "c", controller=True)]
    assert requests(handler, Event.create(widget("x", owner_references=references))) == [Request("b", "default")]
    assert requests(handler, Event.create(widget("x", owner_references=references[:1]))) == []
    foreign = [owner("Gadget", "g", controller=True), owner("Widget", "b", controller=True)]
    assert requests(handler, Event.create(widget("x", owner_references=foreign))) == []


@pytest.mark.covers("T161")
def test_an_owner_without_a_namespace_has_none_in_its_request() -> None:
    owned = widget("x", owner_references=[owner("Fleet", "f")])
    assert requests(enqueue_request_for_owner(Fleet), Event.create(owned)) == [Request("f")]
    gvk = GroupVersionKind("demo.pilotage.dev", "v1", "Fleet")
    mapper = RESTMapper()
    handler = enqueue_request_for_owner(gvk, rest_mapper=mapper)
    assert requests(handler, Event.create(owned)) == [Request("f", "default")]
    mapper.replace([RESTMapping(gvk, GroupVersionResource(gvk.group, "v1", "fleets"), namespaced=False)])
    assert requests(handler, Event.create(owned)) == [Request("f")]


@pytest.mark.covers("T161")
def test_what_is_no_kind_is_refused_where_it_is_given() -> None:
    bad: Any = int
    with pytest.raises(InvalidDefinition, match="int is not a kind"):
        enqueue_request_for_owner(bad)


def test_a_type_error_of_a_map_function_that_is_a_generator_is_its_own() -> None:
    def names(obj: Widget) -> Iterable[Request]:
        yield Request("a" + cast(str, 5))

    with pytest.raises(TypeError, match="can only concatenate str"):
        enqueue_requests_from(names)(Event.create(widget("a")))
