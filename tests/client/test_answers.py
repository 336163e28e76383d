"""Answers of an unexpected type or form, for every call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pilotage.client.client import Client
from pilotage.errors import UnexpectedAnswer
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.models import ObjectMeta
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured, metadata_only
from pilotage.rest import Page
from pilotage.types.core.v1 import ConfigMap

from .fakes import Recorder

GVK = GroupVersionKind("", "v1", "ConfigMap")
FORMS = [ConfigMap, GVK, metadata_only(ConfigMap)]
SERVED = [RESTMapping(GVK, GroupVersionResource("", "v1", "configmaps"), True)]


def document(kind: str = "ConfigMap", api_version: str = "v1", name: str = "a", namespace: str = "n") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}


WRONG = {
    "a Status": {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"},
    "another kind": document("Pod"),
    "another group": document(api_version="example.com/v1"),
    "another name": document(name="b"),
    "another namespace": document(namespace="m"),
    "nothing": {},
}


def config_map() -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="a", namespace="n"))


def client(*answers: Any) -> Client:
    return Client(Recorder(*answers, served=SERVED))


@pytest.mark.parametrize("form", FORMS, ids=["typed", "unstructured", "metadata"])
@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
async def test_get_takes_nothing_else(answer: dict[str, Any], form: Any) -> None:
    with pytest.raises(UnexpectedAnswer, match="asked for ConfigMap of v1"):
        await client(answer).get(form, "a", namespace="n")
    with pytest.raises(UnexpectedAnswer):
        await client(answer).find(form, "a", namespace="n")


WRITES: dict[str, Callable[[Client, Any], Awaitable[Any]]] = {
    "create": lambda client, obj: client.create(obj),
    "update": lambda client, obj: client.update(obj),
    "update_status": lambda client, obj: client.update_status(obj),
    "patch": lambda client, obj: client.patch(obj, {"data": {"x": "y"}}),
    "apply": lambda client, obj: client.apply(obj, field_owner="me"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("answer", [WRONG["a Status"], WRONG["another kind"], WRONG["another group"], WRONG["nothing"]])
@pytest.mark.parametrize(
    "obj", [config_map, lambda: Unstructured(document() | {"data": {"x": "z"}})], ids=["typed", "unstructured"]
)
async def test_a_write_takes_nothing_else_and_leaves_the_object_as_it_was(
    answer: dict[str, Any], write: Callable[[Client, Any], Awaitable[Any]], obj: Callable[[], Any]
) -> None:
    written, same = obj(), obj()
    with pytest.raises(UnexpectedAnswer):
        await write(client(answer), written)
    assert written == same


async def test_a_patch_of_metadata_takes_nothing_else() -> None:
    partial = PartialObjectMetadata(GVK, ObjectMeta(name="a", namespace="n"))
    with pytest.raises(UnexpectedAnswer):
        await client(document("Pod")).patch(partial, {"metadata": {"labels": {"x": "y"}}})


@pytest.mark.parametrize("form", FORMS, ids=["typed", "unstructured", "metadata"])
@pytest.mark.parametrize("kind", ["Status", "PodList", "ConfigMap"])
async def test_list_takes_nothing_else(kind: str, form: Any) -> None:
    with pytest.raises(UnexpectedAnswer, match="asked for a list of ConfigMap of v1"):
        await client(Page([], "5", list_kind=kind, list_api_version="v1")).list(form, namespace="n")


@pytest.mark.parametrize("form", FORMS, ids=["typed", "unstructured", "metadata"])
async def test_an_object_of_another_kind_in_a_list_is_not_read(form: Any) -> None:
    found = await client([document(), document("Pod")]).list(form, namespace="n")
    assert found[0].metadata.name == "a"
    with pytest.raises(UnexpectedAnswer):
        _ = found[1]


@pytest.mark.parametrize("form", FORMS, ids=["typed", "unstructured", "metadata"])
async def test_an_object_of_another_kind_in_a_watch_ends_it(form: Any) -> None:
    async with client([("ADDED", document()), ("ADDED", document("Pod"))]).watch(form) as events:
        assert (await anext(events)).object.metadata.name == "a"
        with pytest.raises(UnexpectedAnswer, match="asked for ConfigMap of v1 and answered with Pod of v1"):
            await anext(events)


async def test_a_delete_may_answer_with_a_status_or_the_object() -> None:
    await client(WRONG["a Status"]).delete(ConfigMap, "a", namespace="n")
    await client(document()).delete(ConfigMap, "a", namespace="n")
    await client(Page([], "", list_kind="Status", list_api_version="v1")).delete_all_of(ConfigMap, namespace="n")
