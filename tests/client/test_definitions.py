"""CustomResourceDefinitions through the client, on every API server."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from pilotage.errors import AlreadyExists, Invalid, NoMatch, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured

from ..worlds import DEFINITION, WITHIN, World
from .kinds import GROUP, definition


def fresh(world: World, **version: Any) -> tuple[dict[str, Any], GroupVersionKind]:
    """A definition that no other test has, for the real server outlives a test."""
    kind = f"Thing{world.namespace.removeprefix('test-')}"
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    return definition(kind, {"spec": spec}, **version), GroupVersionKind(GROUP, "v1", kind)


async def test_the_server_completes_a_definition(world: World) -> None:
    document, gvk = fresh(world)
    del document["spec"]["names"]["singular"], document["spec"]["names"]["listKind"]
    created = await world.client.create(Unstructured(document))
    assert created["spec"]["names"]["singular"] == gvk.kind.lower()
    assert created["spec"]["names"]["listKind"] == f"{gvk.kind}List"
    assert created["spec"]["conversion"] == {"strategy": "None"}
    assert created["status"]["storedVersions"] == ["v1"]
    assert created.metadata.generation == 1


async def test_a_definition_is_served_when_it_is_established(world: World) -> None:
    document, gvk = fresh(world)
    name = document["metadata"]["name"]
    await world.install(document)
    found = await world.client.get(DEFINITION, name)
    conditions = {one["type"]: (one["status"], one["reason"]) for one in found["status"]["conditions"]}
    assert conditions["NamesAccepted"] == ("True", "NoConflicts")
    assert conditions["Established"] == ("True", "InitialNamesAccepted")
    assert found["status"]["acceptedNames"]["plural"] == name.partition(".")[0]
    assert len(await world.client.list(gvk, namespace=world.namespace)) == 0


async def test_a_definition_is_named_by_plural_and_group(world: World) -> None:
    document, _ = fresh(world)
    document["metadata"]["name"] = f"others.{GROUP}"
    with pytest.raises(Invalid) as caught:
        await world.client.create(Unstructured(document))
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueInvalid", "metadata.name")]
    assert 'must be spec.names.plural+"."+spec.group' in str(caught.value)


async def test_a_version_needs_a_schema(world: World) -> None:
    document, _ = fresh(world)
    del document["spec"]["versions"][0]["schema"]
    with pytest.raises(Invalid) as caught:
        await world.client.create(Unstructured(document))
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [
        ("FieldValueRequired", "spec.versions[0].schema.openAPIV3Schema")
    ]


async def test_one_version_is_stored(world: World) -> None:
    document, _ = fresh(world)
    document["spec"]["versions"].append(copy.deepcopy(document["spec"]["versions"][0]) | {"name": "v2"})
    with pytest.raises(Invalid, match="must have exactly one version marked as storage version"):
        await world.client.create(Unstructured(document))


async def test_a_group_has_a_dot(world: World) -> None:
    document, _ = fresh(world)
    document["spec"]["group"] = "nodots"
    document["metadata"]["name"] = f"{document['spec']['names']['plural']}.nodots"
    with pytest.raises(Invalid) as caught:
        await world.client.create(Unstructured(document))
    causes = {cause.field: cause.message for cause in caught.value.causes}
    assert causes["spec.group"] == 'Invalid value: "nodots": should be a domain with at least one dot'


async def test_a_scope_must_exist(world: World) -> None:
    document, _ = fresh(world)
    document["spec"]["scope"] = "Galaxy"
    with pytest.raises(Invalid) as caught:
        await world.client.create(Unstructured(document))
    assert [cause.message for cause in caught.value.causes] == [
        'Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'
    ]


async def test_a_definition_exists_once(world: World) -> None:
    document, _ = fresh(world)
    await world.client.create(Unstructured(copy.deepcopy(document)))
    with pytest.raises(AlreadyExists, match=r"customresourcedefinitions\.apiextensions\.k8s\.io"):
        await world.client.create(Unstructured(document))


async def test_a_definition_that_goes_takes_its_objects_along(world: World) -> None:
    document, gvk = fresh(world)
    name = document["metadata"]["name"]
    await world.install(document)
    made = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": "a", "namespace": world.namespace}}
    await world.client.create(Unstructured(made))
    version = (await world.client.get(DEFINITION, name)).metadata.resource_version
    await world.client.delete(DEFINITION, name)
    async with (
        asyncio.timeout(WITHIN),
        world.client.watch(DEFINITION, fields={"metadata.name": name}, resource_version=version) as events,
    ):
        async for event in events:
            if event.type == "DELETED":
                break
    with pytest.raises(NoMatch):
        await asyncio.wait_for(_list_for_ever(world, gvk), WITHIN)  # the real server forgets the paths a moment later


async def test_a_field_added_to_the_schema_is_kept_from_then_on(world: World) -> None:
    document, gvk = fresh(world)
    await world.install(document)
    metadata = {"name": "a", "namespace": world.namespace}
    made = Unstructured(
        {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "spec": {"size": 1, "colour": "red"}}
    )
    await world.client.create(made)
    assert made["spec"] == {"size": 1}
    found = await world.client.get(DEFINITION, document["metadata"]["name"])
    properties = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["colour"] = {"type": "string"}
    await world.client.update(found)
    assert found.metadata.generation == 2
    async with asyncio.timeout(WITHIN):
        while "colour" not in made["spec"]:  # the real server takes a moment
            await world.client.patch(made, {"spec": {"colour": "red"}})
    assert made["spec"] == {"size": 1, "colour": "red"}


async def test_a_second_version_shows_the_same_objects(world: World) -> None:
    document, gvk = fresh(world)
    second = copy.deepcopy(document["spec"]["versions"][0]) | {"name": "v2", "storage": False}
    document["spec"]["versions"].append(second)
    await world.install(document)
    metadata = {"name": "a", "namespace": world.namespace}
    made = Unstructured({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "spec": {"size": 1}})
    await world.client.create(made)
    other = await world.client.get(gvk._replace(version="v2"), "a", namespace=world.namespace)
    assert (other.api_version, other["spec"]) == (f"{GROUP}/v2", {"size": 1})
    assert other.metadata.uid == made.metadata.uid
    with pytest.raises(NotFound):
        await world.client.get(gvk._replace(version="v2"), "b", namespace=world.namespace)


async def _list_for_ever(world: World, gvk: GroupVersionKind) -> None:
    while True:
        await world.client.list(gvk, namespace=world.namespace)
