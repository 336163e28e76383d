from __future__ import annotations

import asyncio
import logging

import pytest

from pilotage.cache.event import ResourceEventHandler
from pilotage.cache.options import InformerOptions
from pilotage.errors import Gone, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.rest.response import Page, WatchEvent
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import Scripted, added, config_map, error, modified, page

from .informers import Diary, informer, running, synced, until

pytestmark = pytest.mark.virtual_time


# Reading


@pytest.mark.covers("T112")
async def test_objects_are_read_by_name_namespace_labels_and_index() -> None:
    items = [
        config_map("a", 1, namespace="one", metadata={"labels": {"team": "red"}}),
        config_map("b", 1, namespace="one", metadata={"labels": {"team": "blue"}}),
        config_map("a", 1, namespace="two", metadata={"labels": {"team": "red"}}),
    ]
    made = informer(Scripted([Page(items, "1")], [[5.0, modified("b", 2, namespace="one")]]))
    made.add_index("team", lambda one: [one.metadata.labels["team"]] if one.metadata.labels else [])
    async with running(made):
        await made.wait_for_sync()
        assert made.get("a", namespace="two").metadata.namespace == "two"
        assert made.find("c", namespace="two") is None
        with pytest.raises(NotFound) as caught:
            made.get("c", namespace="two")
        assert (caught.value.kind, caught.value.namespace, caught.value.name) == ("ConfigMap", "two", "c")
        assert len(made.list()) == 3
        assert made.list(namespace="one").names == ["a", "b"]
        assert len(made.list(labels={"team": "red"})) == 2
        assert made.list(namespace="two", labels="team in (red)").names == ["a"]
        assert made.list(limit=2, labels={"team": "red"}).names == ["a", "a"]
        assert len(made.by_index("team", "red")) == 2
        assert made.by_index("team", "blue", namespace="one")[0].metadata.name == "b"
        await until(lambda: made.resource_version == "2")
        assert len(made.by_index("team", "blue")) == 0
        assert len(made.list(labels={"team": "blue"})) == 0


@pytest.mark.covers("F24", "T116")
async def test_what_is_read_is_the_callers_own() -> None:
    async with synced(Scripted([Page([config_map("a", 1, data={"k": "v"})], "1")])) as made:
        first = made.get("a", namespace="default")
        first.data["k"] = "changed"
        assert made.get("a", namespace="default").data == {"k": "v"}
        assert made.list()[0].data == {"k": "v"}


@pytest.mark.covers("T116", "T119")
async def test_one_informer_serves_all_forms() -> None:
    nameless = b'{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"},"data":{"k":"v"}}'
    gvk = GroupVersionKind("", "v1", "ConfigMap")
    async with synced(Scripted([Page([nameless], "1")])) as made:
        assert made.get("a", namespace="default").data == {"k": "v"}
        document = made.lister(gvk).get("a", namespace="default")
        assert isinstance(document, Unstructured)
        assert (document.kind, document.api_version, document["data"]) == ("ConfigMap", "v1", {"k": "v"})
        metadata = made.lister(metadata_only(ConfigMap)).get("a", namespace="default")
        assert (metadata.gvk, metadata.metadata.uid) == (gvk, "u")


async def test_the_options_kind_can_be_compared() -> None:
    assert InformerOptions(ConfigMap).kind == ConfigMap
    assert InformerOptions(ConfigMap) == InformerOptions(ConfigMap)


# Transforms


@pytest.mark.covers("T104", "T109")
async def test_a_transform_runs_once_before_anybody_sees_the_object() -> None:
    calls: list[str] = []

    def redact(obj: Unstructured) -> Unstructured:
        calls.append(f"{obj.header.name}@{obj.header.resource_version}")
        obj["data"] = {"k": "redacted"}
        return obj

    secret = Page([config_map("a", 1, data={"k": "secret"})], "1")
    source = Scripted([secret, page(version=9)], [[modified("a", 2, data={"k": "s"}), 5.0, error(Gone())]])
    diary = Diary()
    made = informer(source, transform=redact)
    made.add_event_handler(diary)
    async with running(made):
        await until(lambda: len(diary.events) == 2)
        assert made.get("a", namespace="default").data == {"k": "redacted"}
        await until(lambda: len(diary.events) == 3)
    assert [event.object.data for event in diary.events] == [{"k": "redacted"}] * 3
    assert diary.events[2].unknown_final_state
    assert calls == ["a@1", "a@2"]


@pytest.mark.covers("T103", "T109")
@pytest.mark.parametrize("failure", [KeyError, asyncio.CancelledError, SystemExit])
async def test_a_transform_that_fails_leaves_out_one_object_and_is_logged(failure: type[BaseException]) -> None:
    def picky(obj: Unstructured) -> Unstructured:
        if obj.header.name == "bad":
            raise failure("bad")
        return obj

    async with synced(Scripted([page("bad", "good", version=1)]), transform=picky) as made:
        assert made.list().names == ["good"]
        assert f"picky failed: {failure.__name__}" in made.undecodable["default", "bad"]


# What cannot be read


async def test_an_object_that_its_class_cannot_read_is_reported_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    items = [config_map("bad", 1, data="not a map"), config_map("good", 1)]
    source = Scripted([Page(items, "1")], [[5.0, modified("bad", 2, data={"now": "good"})]])
    heard: list[str] = []
    made = informer(source)
    made.add_event_handler(
        ResourceEventHandler(
            on_add=lambda new: heard.append(new.metadata.name),
            on_update=lambda old, new: heard.append("never: old cannot be read"),
        )
    )
    diary = Diary()
    made.add_event_handler(diary)
    with caplog.at_level(logging.ERROR):
        async with running(made):
            await made.wait_for_sync()
            assert heard == ["good"]
            assert diary.heard == [("create", "bad"), ("create", "good")], "by name it can be told"
            assert list(made.undecodable) == [("default", "bad")]
            assert made.statistics().undecodable == 1
            with pytest.raises(Exception, match=r"ConfigMap default/bad cannot be read"):
                made.get("bad", namespace="default")
            assert made.get("good", namespace="default")
            await until(lambda: made.resource_version == "2")
            assert made.get("bad", namespace="default").data == {"now": "good"}
    assert caplog.text.count("Object cannot be decoded") == 2, "once for each version"


async def test_an_object_whose_metadata_cannot_be_read_is_reported_until_a_list_has_it_right() -> None:
    broken = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"n","labels":5}}'
    source = Scripted(
        [Page([broken, config_map("a", 1)], "1"), page("a", version=9)],
        [[WatchEvent("MODIFIED", broken), added("b", 2), 5.0, error(Gone())]],
    )
    async with synced(source) as made:
        await until(lambda: made.resource_version == "2")
        assert made.list().names == ["a", "b"]
        assert list(made.undecodable) == [("n", "x")]
        await until(lambda: made.resource_version == "9")
        assert not made.undecodable


@pytest.mark.covers("T112")
@pytest.mark.parametrize("failure", [KeyError, asyncio.CancelledError, SystemExit])
async def test_an_index_function_that_fails_leaves_out_one_object_and_is_logged(failure: type[BaseException]) -> None:
    def by_key(one: ConfigMap) -> list[str]:
        if "key" not in one.data:
            raise failure("key")
        return [one.data["key"]]

    source = Scripted([Page([config_map("a", 1), config_map("b", 1, data={"key": "x"})], "1")])
    made = informer(source)
    made.add_index("key", by_key)
    async with running(made):
        await made.wait_for_sync()
        assert made.by_index("key", "x").names == ["b"]
        assert len(made.list()) == 2
        assert failure.__name__ in made.undecodable["default", "a"]
