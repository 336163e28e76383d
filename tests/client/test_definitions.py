"""CustomResourceDefinitions through the client, on every API server."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from pilotage.errors import AlreadyExists, Invalid, NoMatch, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured

from ..environments import DEFINITION, WITHIN, Environment
from .kinds import GROUP, definition


def fresh(environment: Environment, **version: Any) -> tuple[dict[str, Any], GroupVersionKind]:
    """A definition that no other test has, for the real server outlives a test."""
    kind = f"Thing{environment.namespace.removeprefix('test-')}"
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    return definition(kind, {"spec": spec}, **version), GroupVersionKind(GROUP, "v1", kind)


async def test_the_server_completes_a_definition(environment: Environment) -> None:
    document, gvk = fresh(environment)
    del document["spec"]["names"]["singular"], document["spec"]["names"]["listKind"]
    created = await environment.client.create(Unstructured(document))
    assert created["spec"]["names"]["singular"] == gvk.kind.lower()
    assert created["spec"]["names"]["listKind"] == f"{gvk.kind}List"
    assert created["spec"]["conversion"] == {"strategy": "None"}
    assert created["status"]["storedVersions"] == ["v1"]
    assert created.metadata.generation == 1


async def test_a_definition_is_served_when_it_is_established(environment: Environment) -> None:
    document, gvk = fresh(environment)
    name = document["metadata"]["name"]
    await environment.install(document)
    found = await environment.client.get(DEFINITION, name)
    conditions = {one["type"]: (one["status"], one["reason"]) for one in found["status"]["conditions"]}
    assert conditions["NamesAccepted"] == ("True", "NoConflicts")
    assert conditions["Established"] == ("True", "InitialNamesAccepted")
    assert found["status"]["acceptedNames"]["plural"] == name.partition(".")[0]
    assert len(await environment.client.list(gvk, namespace=environment.namespace)) == 0


async def test_a_definition_is_named_by_plural_and_group(environment: Environment) -> None:
    document, _ = fresh(environment)
    document["metadata"]["name"] = f"others.{GROUP}"
    with pytest.raises(Invalid) as caught:
        await environment.client.create(Unstructured(document))
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueInvalid", "metadata.name")]
    assert 'must be spec.names.plural+"."+spec.group' in str(caught.value)


async def test_a_version_needs_a_schema(environment: Environment) -> None:
    document, _ = fresh(environment)
    del document["spec"]["versions"][0]["schema"]
    with pytest.raises(Invalid) as caught:
        await environment.client.create(Unstructured(document))
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [
        ("FieldValueRequired", "spec.versions[0].schema.openAPIV3Schema")
    ]


async def test_one_version_is_stored(environment: Environment) -> None:
    document, _ = fresh(environment)
    document["spec"]["versions"].append(copy.deepcopy(document["spec"]["versions"][0]) | {"name": "v2"})
    with pytest.raises(Invalid, match="must have exactly one version marked as storage version"):
        await environment.client.create(Unstructured(document))


async def test_a_group_has_a_dot(environment: Environment) -> None:
    document, _ = fresh(environment)
    document["spec"]["group"] = "nodots"
    document["metadata"]["name"] = f"{document['spec']['names']['plural']}.nodots"
    with pytest.raises(Invalid) as caught:
        await environment.client.create(Unstructured(document))
    causes = {cause.field: cause.message for cause in caught.value.causes}
    assert causes["spec.group"] == 'Invalid value: "nodots": should be a domain with at least one dot'


async def test_a_scope_must_exist(environment: Environment) -> None:
    document, _ = fresh(environment)
    document["spec"]["scope"] = "Galaxy"
    with pytest.raises(Invalid) as caught:
        await environment.client.create(Unstructured(document))
    assert [cause.message for cause in caught.value.causes] == [
        'Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'
    ]


async def test_a_definition_exists_once(environment: Environment) -> None:
    document, _ = fresh(environment)
    await environment.client.create(Unstructured(copy.deepcopy(document)))
    with pytest.raises(AlreadyExists, match=r"customresourcedefinitions\.apiextensions\.k8s\.io"):
        await environment.client.create(Unstructured(document))


async def test_a_definition_that_goes_takes_its_objects_along(environment: Environment) -> None:
    document, gvk = fresh(environment)
    name = document["metadata"]["name"]
    await environment.install(document)
    made = {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "metadata": {"name": "a", "namespace": environment.namespace},
    }
    await environment.client.create(Unstructured(made))
    version = (await environment.client.get(DEFINITION, name)).metadata.resource_version
    await environment.client.delete(DEFINITION, name)
    async with (
        asyncio.timeout(WITHIN),
        environment.client.watch(DEFINITION, fields={"metadata.name": name}, resource_version=version) as events,
    ):
        async for event in events:
            if event.type == "DELETED":
                break
    with pytest.raises(NoMatch):
        await asyncio.wait_for(
            _list_for_ever(environment, gvk), WITHIN
        )  # the real server forgets the paths a moment later


async def test_a_field_added_to_the_schema_is_kept_from_then_on(environment: Environment) -> None:
    document, gvk = fresh(environment)
    await environment.install(document)
    metadata = {"name": "a", "namespace": environment.namespace}
    made = Unstructured(
        {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "spec": {"size": 1, "colour": "red"}}
    )
    await environment.client.create(made)
    assert made["spec"] == {"size": 1}
    found = await environment.client.get(DEFINITION, document["metadata"]["name"])
    properties = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["colour"] = {"type": "string"}
    await environment.client.update(found)
    assert found.metadata.generation == 2
    async with asyncio.timeout(WITHIN):
        while "colour" not in made["spec"]:  # the real server takes a moment
            await environment.client.patch(made, {"spec": {"colour": "red"}})
    assert made["spec"] == {"size": 1, "colour": "red"}


async def test_a_second_version_shows_the_same_objects(environment: Environment) -> None:
    document, gvk = fresh(environment)
    second = copy.deepcopy(document["spec"]["versions"][0]) | {"name": "v2", "storage": False}
    document["spec"]["versions"].append(second)
    await environment.install(document)
    metadata = {"name": "a", "namespace": environment.namespace}
    made = Unstructured({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "spec": {"size": 1}})
    await environment.client.create(made)
    other = await environment.client.get(gvk._replace(version="v2"), "a", namespace=environment.namespace)
    assert (other.api_version, other["spec"]) == (f"{GROUP}/v2", {"size": 1})
    assert other.metadata.uid == made.metadata.uid
    with pytest.raises(NotFound):
        await environment.client.get(gvk._replace(version="v2"), "b", namespace=environment.namespace)


async def _list_for_ever(environment: Environment, gvk: GroupVersionKind) -> None:
    while True:
        await environment.client.list(gvk, namespace=environment.namespace)
