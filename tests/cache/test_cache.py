from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.cache.cache import Cache
from pilotage.cache.errors import CacheNotStarted, NotCached
from pilotage.cache.group import InformerGroup
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import ByObject, CacheOptions
from pilotage.errors import BadRequest, ConnectionLost, InvalidDefinition, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured, metadata_only
from pilotage.rest.listing import ListerWatcher
from pilotage.rest.response import Page
from pilotage.types.core.v1 import ConfigMap, Node
from tests.reflector.scripted import Scripted, added, config_map, page

from .informers import Diary, running, until

pytestmark = pytest.mark.virtual_time

GVK = GroupVersionKind("", "v1", "ConfigMap")


class Server:
    """Returns scripted collections, and records the options."""

    def __init__(self, **sources: Scripted) -> None:
        self.sources = sources
        self.asked: list[InformerOptions] = []

    async def __call__(self, options: InformerOptions) -> ListerWatcher:
        self.asked.append(options)
        await asyncio.sleep(0)  # finding out where a kind is served takes a moment
        return self.sources.get(options.namespace or "everywhere", Scripted([page("a", "b", version=5)]))


def everywhere(*items: bytes) -> Server:
    return Server(everywhere=Scripted([Page(items, "5")]))


@pytest.mark.covers("T114")
async def test_a_read_makes_an_informer_and_waits_until_it_has_synced() -> None:
    server = Server()
    cache = Cache(server)
    async with running(cache):
        await asyncio.sleep(0)
        found = await cache.get(ConfigMap, "a", namespace="default")
        assert found.metadata.name == "a"
        assert (await cache.list(ConfigMap)).names == ["a", "b"]
        assert [options.kind for options in server.asked] == [ConfigMap]
        assert cache.has_synced


@pytest.mark.covers("T114")
async def test_many_first_reads_at_once_make_one_informer() -> None:
    server = Server()
    cache = Cache(server)
    async with running(cache):
        await cache.wait_for_sync()
        await asyncio.gather(*(cache.get(ConfigMap, "a", namespace="default") for _ in range(10)))
    assert len(server.asked) == 1


@pytest.mark.covers("T114")
async def test_a_read_that_waits_can_be_given_up() -> None:
    cache = Cache(Server(everywhere=Scripted([ConnectionLost("down")] * 1000)))
    async with running(cache):
        await cache.wait_for_sync()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await cache.get(ConfigMap, "a", namespace="default")
        assert not cache.live


async def test_a_read_before_the_start_is_an_error_and_not_a_hang() -> None:
    cache = Cache(Server())
    with pytest.raises(CacheNotStarted, match="has not been started"):
        await cache.get(ConfigMap, "a", namespace="default")


@pytest.mark.covers("T115")
async def test_a_cache_may_refuse_kinds_without_an_informer() -> None:
    cache = Cache(Server(), CacheOptions(reader_fail_on_missing_informer=True))
    await cache.informer_for(ConfigMap)
    async with running(cache):
        await cache.wait_for_sync()
        assert await cache.get(ConfigMap, "a", namespace="default")
        assert await cache.get(GVK, "a", namespace="default")
        with pytest.raises(NotCached, match="Node is not cached"):
            await cache.get(Node, "a")


@pytest.mark.covers("T116", "T119", "T126")
async def test_one_informer_serves_typed_unstructured_and_metadata_readers() -> None:
    server = everywhere(config_map("a", 5, data={"k": "v"}))
    cache = Cache(server)
    async with running(cache):
        await cache.wait_for_sync()
        typed = await cache.get(ConfigMap, "a", namespace="default")
        assert typed.data == {"k": "v"}
        document = await cache.get(GVK, "a", namespace="default")
        assert isinstance(document, Unstructured)
        assert document.gvk == GVK
        metadata = await cache.get(metadata_only(GVK), "a", namespace="default")
        assert isinstance(metadata, PartialObjectMetadata)
        assert isinstance((await cache.list(GVK))[0], Unstructured)
        assert isinstance((await cache.list(metadata_only(ConfigMap)))[0], PartialObjectMetadata)
        assert len(server.asked) == 1
        document["data"]["k"] = "changed"
        typed.data["k"] = "changed too"
        assert (await cache.get(ConfigMap, "a", namespace="default")).data == {"k": "v"}


async def test_a_reader_of_metadata_stores_metadata_only_until_whole_objects_are_read() -> None:
    server = Server()
    cache = Cache(server)
    async with running(cache):
        await cache.wait_for_sync()
        await cache.get(metadata_only(ConfigMap), "a", namespace="default")
        assert [type(options.kind) for options in server.asked] == [type(metadata_only(ConfigMap))]
        await cache.get(ConfigMap, "a", namespace="default")
        assert len(server.asked) == 2
        await cache.get(metadata_only(ConfigMap), "a", namespace="default")
        assert len(server.asked) == 2


@pytest.mark.covers("T117")
async def test_not_found_has_group_kind_namespace_and_name() -> None:
    cache = Cache(Server())
    async with running(cache):
        await cache.wait_for_sync()
        with pytest.raises(NotFound, match='ConfigMap "x" not found') as caught:
            await cache.get(ConfigMap, "x", namespace="default")
        error = caught.value
        assert (error.group, error.kind, error.namespace, error.name) == ("", "ConfigMap", "default", "x")
        assert await cache.find(ConfigMap, "x", namespace="default") is None


async def test_a_namespace_is_passed_over_where_the_kind_lives_in_none() -> None:
    node = b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","resourceVersion":"5"}}'
    cache = Cache(everywhere(node))
    async with running(cache):
        await cache.wait_for_sync()
        assert (await cache.get(Node, "n", namespace="default")).metadata.name == "n"


@pytest.mark.covers("T118")
async def test_lists_are_cut_but_not_paged() -> None:
    red = {"labels": {"colour": "red"}}
    cache = Cache(everywhere(*(config_map(f"c{n}", 5, metadata=red if n % 2 else {}) for n in range(10))))
    async with running(cache):
        await cache.wait_for_sync()
        assert len(await cache.list(ConfigMap, labels={"colour": "red"})) == 5
        assert len(await cache.list(ConfigMap, labels={"colour": "red"}, limit=3)) == 3
        assert (await cache.list(ConfigMap)).resource_version == "5"
        with pytest.raises(BadRequest, match="not pages"):
            await cache.list(ConfigMap, limit=3, continue_token="more")


@pytest.mark.covers("T117", "T119")
async def test_a_cache_of_some_namespaces_has_those_and_no_others() -> None:
    server = Server(
        one=Scripted([Page([config_map("a", 5, namespace="one")], "5")], [[5.0, added("c", 8, namespace="one")]]),
        two=Scripted([Page([config_map("a", 6, namespace="two"), config_map("b", 6, namespace="two")], "6")]),
    )
    cache = Cache(server, CacheOptions(default_namespaces=["one", "two"]))
    async with running(cache):
        await cache.wait_for_sync()
        for kind in (ConfigMap, GVK, metadata_only(GVK)):
            found: Any = await cache.list(kind)
            assert sorted((header.namespace, header.name) for header in found.headers) == [
                ("one", "a"),
                ("two", "a"),
                ("two", "b"),
            ]
        assert (await cache.get(ConfigMap, "a", namespace="two")).metadata.resource_version == "6"
        assert (await cache.list(ConfigMap, namespace="one")).names == ["a"]
        with pytest.raises(NotCached, match="in the namespaces one, two and not in three"):
            await cache.get(ConfigMap, "a", namespace="three")
        with pytest.raises(NotCached):
            await cache.list(ConfigMap, namespace="three")
        await cache.list(Node)
        assert server.asked[-1].namespace == "", "kinds without namespaces still work"


async def test_informers_of_several_namespaces_are_as_one() -> None:
    server = Server(
        one=Scripted([Page([config_map("a", 5, namespace="one")], "5")], [[5.0, added("c", 8, namespace="one")]]),
        two=Scripted([page(version=6)], [[9.0, added("d", 9, namespace="two")]]),
    )
    cache = Cache(server, CacheOptions(default_namespaces=["one", "two"]))
    informer = await cache.informer_for(ConfigMap)
    assert isinstance(informer, InformerGroup)
    diary = Diary()
    registration = informer.add_event_handler(diary)
    informer.add_index("name", lambda found: [found.metadata.name])
    assert not informer.has_synced
    assert informer.last_contact is None
    async with running(cache):
        await informer.wait_for_sync()
        assert registration.has_synced
        assert informer.resource_version == "5"
        await until(lambda: informer.live)
        await informer.wait_for_version(8, timeout=10)
        assert diary.heard == [("create", "a"), ("create", "c"), ("create", "d")]
        assert len(informer.list()) == 3
        assert informer.by_index("name", "c").names == ["c"]
        assert informer.by_index("name", "c", namespace="two").names == []
        assert informer.holds("uid-a")
        assert informer.last_contact is not None
        assert not informer.undecodable
        assert informer.last_error is None
        with pytest.raises(TimeoutError):
            await informer.wait_for_release("uid-a", timeout=1)
        registration.remove()


@pytest.mark.covers("T122")
async def test_an_informer_is_shared_and_gets_events() -> None:
    cache = Cache(Server(everywhere=Scripted([page("a", version=5)], [[5.0, added("b", 6)]])))
    informer = await cache.informer_for(ConfigMap)
    assert await cache.informer_for(GVK) is informer
    assert cache.informer(ConfigMap) is informer
    assert cache.informer(Node) is None
    diary = Diary()
    informer.add_event_handler(diary)
    async with running(cache):
        assert await cache.informer_for(ConfigMap, block_until_synced=True) is informer
        await until(lambda: len(diary.events) == 2)
        assert cache.informers() == (informer,)
        assert await cache.informers_for(ConfigMap) == (informer,)
        assert cache.live


@pytest.mark.covers("T122")
async def test_a_removed_informer_stops_and_a_later_read_makes_another() -> None:
    server = Server()
    cache = Cache(server)
    async with running(cache):
        await cache.wait_for_sync()
        await cache.get(ConfigMap, "a", namespace="default")
        informer = await cache.informer_for(ConfigMap)
        cache.remove_informer(ConfigMap)
        cache.remove_informer(ConfigMap)
        await until(lambda: not informer.live)
        assert cache.informers() == ()
        await cache.get(ConfigMap, "a", namespace="default")
        assert await cache.informer_for(ConfigMap) is not informer
    assert len(server.asked) == 2


@pytest.mark.covers("T122")
async def test_a_read_that_waits_for_an_informer_that_is_removed_ends() -> None:
    cache = Cache(Server(everywhere=Scripted([ConnectionLost("down")] * 1000)))
    async with running(cache):
        await cache.wait_for_sync()
        reading = asyncio.ensure_future(cache.get(ConfigMap, "a", namespace="default"))
        await asyncio.sleep(1)
        cache.remove_informer(ConfigMap)
        with pytest.raises(InvalidDefinition, match="stopped before it had synced"):
            await reading


@pytest.mark.covers("T123", "T150")
async def test_fields_that_are_indexed_can_be_read_by() -> None:
    cache = Cache(
        everywhere(
            config_map("a", 5, data={"node": "x", "team": "red"}),
            config_map("b", 5, namespace="other", data={"node": "x", "team": "blue"}),
            config_map("c", 5, data={"node": "y", "team": "red"}),
        )
    )
    cache.index_field(ConfigMap, "data.node", lambda found: [found.data["node"]])
    async with running(cache):
        await cache.wait_for_sync()
        assert (await cache.list(ConfigMap, fields={"data.node": "x"})).names == ["a", "b"]
        cache.index_field(ConfigMap, "data.team", lambda found: [found.data["team"]])
        assert (await cache.list(ConfigMap, fields={"data.node": "x", "data.team": "red"})).names == ["a"]
        assert (await cache.list(ConfigMap, fields="data.node=x", namespace="other")).names == ["b"]
        assert (await cache.list(GVK, fields="data.node=x", namespace="other"))[0]["data"]["team"] == "blue"
        message = (
            r"no index 'data\.size' \(existing indexes: 'data\.node', 'data\.team'\): add it with "
            r"cache\.index_field\(ConfigMap, 'data\.size', function\), or list with client\.api_reader"
        )
        with pytest.raises(InvalidDefinition, match=message):
            await cache.list(ConfigMap, fields={"data.size": "1"})
        with pytest.raises(BadRequest, match="of the form name=value"):
            await cache.list(ConfigMap, fields="data.node!=x")
        with pytest.raises(InvalidDefinition, match="already"):
            cache.index_field(ConfigMap, "data.node", lambda found: [])


@pytest.mark.covers("T123")
async def test_index_functions_and_handlers_get_the_form_they_ask_for_in_any_order() -> None:
    cache = Cache(everywhere(config_map("a", 5, data={"k": "v"})))
    cache.index_field(ConfigMap, "typed", lambda found: [found.data["k"]])
    informer = await cache.informer_for(GVK)
    cache.index_field(metadata_only(GVK), "name", lambda found: [found.metadata.name])
    forms: list[type] = []
    informer.add_event_handler(lambda event: forms.append(type(event.object)))
    informer.add_event_handler(lambda event: forms.append(type(event.object)), kind=ConfigMap)
    async with running(cache):
        await cache.wait_for_sync()
        assert forms == [Unstructured, ConfigMap]
        assert (await cache.list(GVK, fields={"typed": "v", "name": "a"})).names == ["a"]
        assert not informer.undecodable


@pytest.mark.covers("T123")
async def test_objects_without_a_namespace_are_indexed_by_their_own_values() -> None:
    nodes = [
        b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n%d","resourceVersion":"5"}}' % number
        for number in range(3)
    ]
    cache = Cache(everywhere(*nodes))
    cache.index_field(Node, "metadata.name", lambda node: [node.metadata.name])
    async with running(cache):
        await cache.wait_for_sync()
        assert (await cache.list(Node, fields={"metadata.name": "n1"})).names == ["n1"]


@pytest.mark.covers("T124")
async def test_a_cache_runs_once() -> None:
    cache = Cache(Server())
    async with running(cache):
        await cache.wait_for_sync()
        with pytest.raises(InvalidDefinition, match="is already running"):
            await cache.run()
    with pytest.raises(InvalidDefinition, match="has stopped"):
        await cache.run()
    with pytest.raises(InvalidDefinition, match="has stopped"):
        await cache.informer_for(ConfigMap)


async def test_an_informer_can_be_injected() -> None:
    server, device = Server(), Scripted([page("gpu", version=5)])

    def new_informer(options: InformerOptions) -> Informer[Any] | None:
        return Informer(device, options) if options.kind == ConfigMap else None

    cache = Cache(server, CacheOptions(new_informer=new_informer))
    async with running(cache):
        await cache.wait_for_sync()
        assert (await cache.list(ConfigMap)).names == ["gpu"]
        await cache.list(Node)
    assert [options.kind for options in server.asked] == [Node]


@pytest.mark.covers("T121")
async def test_options_of_a_kind_reach_its_informer() -> None:
    def shout(obj: Unstructured) -> Unstructured:
        obj["data"] = {"k": obj["data"]["k"].upper()}
        return obj

    server = everywhere(config_map("a", 5, data={"k": "v"}))
    cache = Cache(server, CacheOptions(by_object={ConfigMap: ByObject(transform=shout, label_selector="app=web")}))
    async with running(cache):
        await cache.wait_for_sync()
        assert (await cache.get(ConfigMap, "a", namespace="default")).data == {"k": "V"}
    source = server.sources["everywhere"]
    assert [options.label_selector for options in source.listed + source.watched] == ["app=web", "app=web"]


async def test_a_kind_that_no_type_stands_for_is_asked_about() -> None:
    asked: list[GroupVersionKind] = []

    async def namespaced(gvk: GroupVersionKind) -> bool:
        asked.append(gvk)
        return False

    server = Server()
    cache = Cache(server, CacheOptions(default_namespaces=["one"]), namespaced=namespaced)
    await cache.informer_for(GroupVersionKind("example.com", "v1", "Thing"))
    assert [one.kind for one in asked] == ["Thing"]
    assert [options.namespace for options in server.asked] == [""]
