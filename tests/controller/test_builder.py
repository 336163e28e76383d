from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.cluster.cluster import Cluster
from pilotage.controller import (
    Controller,
    ControllerBuilder,
    ControllerOptions,
    Event,
    Kind,
    Request,
    enqueue_request_for_object,
    enqueue_requests_from,
    generation_changed,
    on_object,
)
from pilotage.errors import InvalidDefinition
from pilotage.manager.manager import Manager
from pilotage.manager.options import ControllerDefaults
from pilotage.meta import forms
from pilotage.meta.unstructured import MetadataOnly, metadata_only
from pilotage.types.core.v1 import ConfigMap, Node, Pod, Secret

from .fakes import FakeManager, Feed, Part, Widget, owner, running, widget

pytestmark = pytest.mark.virtual_time


class Recorder:
    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def reconcile(self, request: Request) -> None:
        self.requests.append(request)

    def names(self) -> list[str]:
        names = [request.name for request in self.requests]
        self.requests.clear()
        return names


def part(name: str, *references: Any) -> Part:
    return Part(metadata=widget(name, owner_references=list(references)).metadata)


@pytest.mark.covers("T157")
async def test_a_controller_is_made_named_and_added_to_its_manager() -> None:
    manager, recorder = FakeManager(), Recorder()
    controller = ControllerBuilder(manager).for_(Widget).complete(recorder)
    assert manager.added == [controller]
    assert (controller.name, controller.kind) == ("widget", Widget.__resource__.gvk)
    other = ControllerBuilder(manager).for_(Widget).named("other").complete(recorder)
    assert (other.name, manager.added) == ("other", [controller, other])


async def always(event: Event) -> bool:
    return True


@pytest.mark.covers("T157")
def test_what_cannot_work_is_refused_with_what_to_do() -> None:
    manager, recorder = FakeManager(), Recorder()
    nothing: Any = None

    def new() -> ControllerBuilder:
        return ControllerBuilder(manager)

    with pytest.raises(InvalidDefinition, match="needs a manager"):
        ControllerBuilder(nothing)
    with pytest.raises(InvalidDefinition, match="needs a reconciler"):
        new().for_(Widget).complete(nothing)
    with pytest.raises(InvalidDefinition, match="not a reconciler"):
        new().for_(Widget).complete(5)  # type: ignore[arg-type]  # it is the point
    with pytest.raises(
        InvalidDefinition,
        match=r"has no for_\(…\), which declares the kind .* call for_\(Database\);.* call named\(…\)",
    ):
        new().watches(Part, enqueue_request_for_object).complete(recorder)
    with pytest.raises(InvalidDefinition, match=r"owns\(Part\) needs for_"):
        new().named("x").owns(Part).complete(recorder)
    with pytest.raises(InvalidDefinition, match="watches nothing"):
        new().named("x").complete(recorder)
    with pytest.raises(InvalidDefinition, match=r"predicates is a list: predicates=\[generation_changed\]"):
        new().for_(Widget, predicates=generation_changed)  # type: ignore[arg-type]  # it is the point
    with pytest.raises(InvalidDefinition, match="5 is not a predicate"):
        new().for_(Widget, predicates=[5])  # type: ignore[list-item]  # it is the point
    with pytest.raises(InvalidDefinition, match="the predicate always is async"):
        new().for_(Widget).with_event_filter(always)  # type: ignore[arg-type]  # it is the point
    with pytest.raises(InvalidDefinition, match="a Widget object is not a kind: give the class Widget"):
        new().for_(widget("a"))  # type: ignore[arg-type]  # it is the point
    with pytest.raises(InvalidDefinition, match="for_ was called already, with Widget"):
        new().for_(Widget).for_(Part)
    with pytest.raises(InvalidDefinition, match="not a kind"):
        new().for_(nothing)
    with pytest.raises(InvalidDefinition, match="needs a handler"):
        new().watches(Part, nothing)
    assert manager.added == []
    new().for_(Widget).complete(recorder)  # nothing of what failed has taken the name


@pytest.mark.covers("T35")
def test_a_name_is_used_once_in_a_manager_unless_that_is_allowed() -> None:
    manager, recorder = FakeManager(), Recorder()
    ControllerBuilder(manager).for_(Widget).complete(recorder)
    with pytest.raises(InvalidDefinition, match="has a controller 'widget' already"):
        ControllerBuilder(manager).for_(Widget).complete(recorder)
    assert len(manager.added) == 1
    ControllerBuilder(FakeManager()).for_(Widget).complete(recorder)
    allowed = ControllerOptions(skip_name_validation=True)
    ControllerBuilder(manager).for_(Widget).with_options(allowed).complete(recorder)
    lenient = FakeManager(ControllerDefaults(skip_name_validation=True))
    for _ in range(2):
        ControllerBuilder(lenient).for_(Widget).complete(recorder)
    assert len(lenient.added) == 2


@pytest.mark.covers("T157")
def test_options_override_the_manager_s() -> None:
    manager = FakeManager(
        ControllerDefaults(max_concurrent_reconciles=3, group_kind_concurrency={"Part.demo.pilotage.dev": 5})
    )
    workers = {
        "widget": ControllerBuilder(manager).for_(Widget),
        "part": ControllerBuilder(manager).for_(Part),
        "own": ControllerBuilder(manager).for_(Part).named("own").with_options(ControllerOptions(9)),
    }
    found = {name: made.complete(Recorder()).settings.max_concurrent_reconciles for name, made in workers.items()}
    assert found == {"widget": 3, "part": 5, "own": 9}


@pytest.mark.covers("T56", "T158")
async def test_changes_of_the_object_and_of_what_it_controls_are_reconciled() -> None:
    manager, recorder = FakeManager(), Recorder()
    controller = ControllerBuilder(manager).for_(Widget).owns(Part).complete(recorder)
    async with running(controller):
        await asyncio.sleep(1)
        widgets, parts = manager.cache.fakes[Widget], manager.cache.fakes[Part]
        widgets.tell(Event.create(widget("a")))
        await asyncio.sleep(1)
        widgets.tell(Event.update(widget("a", version="1"), widget("a", version="2")))
        await asyncio.sleep(1)
        widgets.tell(Event.delete(widget("a")))
        await asyncio.sleep(1)
        assert recorder.names() == ["a", "a", "a"]
        parts.tell(Event.create(part("p", owner("Widget", "controls", controller=True), owner("Widget", "owns"))))
        parts.tell(Event.create(part("p", owner("Part", "other", controller=True))))
        await asyncio.sleep(1)
        assert recorder.names() == ["controls"]


@pytest.mark.covers("T158")
async def test_every_owner_counts_if_so_asked() -> None:
    manager, recorder = FakeManager(), Recorder()
    controller = ControllerBuilder(manager).for_(Widget).owns(Part, match_every_owner=True).complete(recorder)
    async with running(controller):
        await asyncio.sleep(1)
        manager.cache.fakes[Part].tell(Event.create(part("p", owner("Widget", "one"), owner("Widget", "two"))))
        await asyncio.sleep(1)
        assert recorder.names() == ["one", "two"]


@pytest.mark.covers("T157")
async def test_predicates_of_a_watch_hold_there_and_filters_everywhere_but_for_raw_sources() -> None:
    manager, recorder = FakeManager(), Recorder()
    controller = (
        ControllerBuilder(manager)
        .for_(Widget, predicates=[generation_changed])
        .watches(Part, enqueue_requests_from(lambda obj: [Request(obj.metadata.name)]))
        .with_event_filter(on_object(lambda obj: obj.metadata.name != "unwanted"))
        .with_event_filter(on_object(lambda obj: obj.metadata.name != "unloved"))
        .watches_raw_source(Feed("unwanted"))
        .complete(recorder)
    )
    async with running(controller):
        await asyncio.sleep(1)
        assert recorder.names() == ["unwanted"]
        widgets, parts = manager.cache.fakes[Widget], manager.cache.fakes[Part]
        widgets.tell(Event.update(widget("same", generation=1), widget("same", version="2", generation=1)))
        widgets.tell(Event.update(widget("new", generation=1), widget("new", generation=2)))
        for name in ("unwanted", "unloved", "loved"):
            parts.tell(Event.update(part(name), part(name)))
        await asyncio.sleep(1)
        assert sorted(recorder.names()) == ["loved", "new"]


async def test_predicates_of_an_iterator_hold_too() -> None:
    manager, recorder = FakeManager(), Recorder()
    predicates = iter([generation_changed])
    builder = ControllerBuilder(manager).for_(Widget, predicates=predicates)  # type: ignore[arg-type]  # it is the point
    async with running(builder.complete(recorder)):
        await asyncio.sleep(1)
        widgets = manager.cache.fakes[Widget]
        widgets.tell(Event.update(widget("same", generation=1), widget("same", version="2", generation=1)))
        widgets.tell(Event.update(widget("new", generation=1), widget("new", generation=2)))
        await asyncio.sleep(1)
        assert recorder.names() == ["new"]


@pytest.mark.covers("T157")
async def test_kinds_may_be_watched_by_their_metadata_alone() -> None:
    manager = FakeManager()
    controller = (
        ControllerBuilder(manager)
        .for_(metadata_only(Widget))
        .owns(metadata_only(Part))
        .watches(metadata_only(Part), enqueue_request_for_object)
        .complete(Recorder())
    )
    async with running(controller):
        await asyncio.sleep(1)
    assert set(manager.cache.asked) == {metadata_only(Widget), metadata_only(Part)}


@pytest.mark.covers("T157")
async def test_requests_of_one_s_own_reach_the_reconciler() -> None:
    class Sync(Request, frozen=True):
        cluster: str = ""

    manager, recorder = FakeManager(), Recorder()

    def mapped(obj: Widget) -> list[Request]:
        return [Sync(obj.metadata.name, "", cluster) for cluster in ("east", "west")]

    controller = ControllerBuilder(manager).named("x").watches(Widget, enqueue_requests_from(mapped)).complete(recorder)
    async with running(controller):
        await asyncio.sleep(1)
        manager.cache.fakes[Widget].tell(Event.create(widget("a")))
        await asyncio.sleep(1)
    assert recorder.requests == [Sync("a", "", "east"), Sync("a", "", "west")]


async def test_the_priority_of_the_initial_list_can_be_chosen() -> None:
    seen: list[int] = []
    manager = FakeManager()

    async def reconcile(request: Request) -> None:
        seen.append(controller.queue.priority_of(request))

    controller: Controller = (
        ControllerBuilder(manager).for_(Widget).with_options(ControllerOptions(low_priority=0)).complete(reconcile)
    )
    async with running(controller):
        await asyncio.sleep(1)
        manager.cache.fakes[Widget].tell(Event.create(widget("a"), is_in_initial_list=True))
        await asyncio.sleep(1)
    assert seen == [0]


async def test_what_was_declared_can_be_read_without_a_start() -> None:
    async with Manager(Cluster.embedded()) as manager, Cluster.embedded() as other:
        member = await manager.add_cluster(other, name="edge")
        builder = ControllerBuilder(manager).for_(ConfigMap).owns(metadata_only(Secret))
        builder.watches(Pod, enqueue_request_for_object, cluster=member)
        builder.watches_raw_source(Kind(manager.cache, Node, enqueue_request_for_object))
        assert manager.declared.watches == [], "only with the controller"
        builder.complete(Recorder())
        manager.event_recorder_for("me")
        watches, recorders = manager.declared.watches, manager.declared.recorders
    assert [(each.controller, each.relation, forms.gvk_of(each.kind).kind, each.cluster) for each in watches] == [
        ("configmap", "for", "ConfigMap", ""),
        ("configmap", "owns", "Secret", ""),
        ("configmap", "watches", "Pod", "edge"),
        ("configmap", "watches", "Node", ""),
    ]
    assert isinstance(watches[1].kind, MetadataOnly)
    places = [each.place for each in watches] + [each.place for each in recorders]
    assert all(place.startswith(f"{__file__}:") for place in places)
    assert [each.name for each in recorders] == ["me"]


def test_a_rate_limiter_that_is_none_is_rejected_where_it_is_given() -> None:
    with pytest.raises(InvalidDefinition, match=r"rate_limiter=.*: give an object with when, forget and num_requeues"):
        ControllerOptions(rate_limiter=lambda: 1.0)  # type: ignore[arg-type]


async def test_a_source_without_a_handler_may_be_given_instead_of_a_kind() -> None:
    manager, recorder = FakeManager(), Recorder()
    builder = ControllerBuilder(manager).for_(Widget)
    controller = builder.watches(Kind(manager.cache, Part), enqueue_request_for_object).complete(recorder)
    async with running(controller):
        await asyncio.sleep(1)
        manager.cache.fakes[Part].tell(Event.create(part("p")))
        await asyncio.sleep(1)
        assert recorder.names() == ["p"]


def test_a_source_with_a_handler_of_its_own_or_of_another_cache_is_a_raw_source() -> None:
    manager = FakeManager()
    own = Kind(manager.cache, Part, enqueue_request_for_object)
    with pytest.raises(InvalidDefinition, match=r"has a handler of its own: use watches_raw_source\(source\)"):
        ControllerBuilder(manager).watches(own, enqueue_request_for_object)
    with pytest.raises(InvalidDefinition, match="reads another cache than the manager's caches"):
        ControllerBuilder(manager).watches(Kind(FakeManager().cache, Part), enqueue_request_for_object)
