"""Getting objects in their three forms, and kinds that are not served, on every API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

import pytest

from pilotage.controller import Request
from pilotage.errors import BadRequest, NoMatch, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta, Resource, resource
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured, metadata_only
from pilotage.types.core.v1 import ConfigMap, Namespace

from ..worlds import World
from .kinds import CONFIG_MAP, GROUP, PLANETS, WIDGET, WIDGETS, Planet, Widget, new_widget, widget_document


@resource(group="nobody.pilotage.dev", version="v1")
class Unicorn(Resource):
    """No server has it."""


@pytest.mark.covers("T127", "T155")
async def test_one_object_in_three_forms(world: World) -> None:
    await world.install(WIDGETS)
    created = await world.client.create(new_widget(world.namespace, colour="red", labels={"a": "b"}))
    widget = await world.client.get(Widget, "one", namespace=world.namespace)
    document = await world.client.get(WIDGET, "one", namespace=world.namespace)
    partial = await world.client.get(metadata_only(Widget), "one", namespace=world.namespace)
    assert_type(widget, Widget)
    assert_type(document, Unstructured)
    assert_type(partial, PartialObjectMetadata)
    assert widget == created
    assert document["spec"] == {"size": 1, "colour": "red", "mode": "fast"}
    assert document.metadata == partial.metadata == widget.metadata
    assert (partial.api_version, partial.kind) == (WIDGET.api_version, "Widget")


async def test_not_found_names_the_requested_object(world: World) -> None:
    await world.install(WIDGETS)
    for kind in (Widget, metadata_only(Widget)):
        with pytest.raises(NotFound) as caught:
            await world.client.get(kind, "nobody", namespace=world.namespace)
        error = caught.value
        assert (error.group, error.kind, error.namespace, error.name) == (GROUP, "Widget", world.namespace, "nobody")
        assert str(error) == 'widgets.tests.pilotage.dev "nobody" not found'


async def test_find_gives_none_for_what_is_not_there(world: World) -> None:
    assert await world.client.find(ConfigMap, "nobody", namespace=world.namespace) is None
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    found = await world.client.find(CONFIG_MAP, "a", namespace=world.namespace)
    assert found is not None
    assert found.kind == "ConfigMap"


@pytest.mark.covers("T127", "T155")
async def test_a_kind_that_is_not_served_is_not_an_object_that_is_missing(world: World) -> None:
    for kind in (Unicorn, GroupVersionKind("nobody.pilotage.dev", "v1", "Unicorn")):
        with pytest.raises(
            NoMatch, match=r"does not serve Unicorn of nobody.pilotage.dev/v1.*CustomResourceDefinition"
        ):
            await world.client.find(kind, "one", namespace=world.namespace)
    with pytest.raises(NoMatch):
        await world.client.list(Unicorn)
    with pytest.raises(NoMatch):
        await world.client.create(Unicorn(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    with pytest.raises(NoMatch):
        async with world.client.watch(Unicorn):
            pytest.fail("the watch has begun")


async def test_a_version_that_is_not_served_is_no_match(world: World) -> None:
    await world.install(WIDGETS)
    with pytest.raises(NoMatch, match=r"tests\.pilotage\.dev/v9"):
        await world.client.get(GroupVersionKind(GROUP, "v9", "Widget"), "one", namespace=world.namespace)


async def test_items_of_a_list_in_three_forms(world: World) -> None:
    metadata = ObjectMeta(name="a", namespace=world.namespace)
    created = await world.client.create(ConfigMap(metadata=metadata, data={"a": "b"}))
    typed = await world.client.list(ConfigMap, namespace=world.namespace)
    documents = await world.client.list(CONFIG_MAP, namespace=world.namespace)
    partials = await world.client.list(metadata_only(CONFIG_MAP), namespace=world.namespace)
    assert_type(typed[0], ConfigMap)
    assert_type(documents[0], Unstructured)
    assert_type(partials[0], PartialObjectMetadata)
    assert list(typed) == [created]
    assert (documents[0]["apiVersion"], documents[0]["kind"], documents[0]["data"]) == ("v1", "ConfigMap", {"a": "b"})
    assert partials[0].metadata == created.metadata
    assert partials[0].gvk == CONFIG_MAP


@pytest.mark.covers("T130")
async def test_a_document_from_a_list_can_be_written_again(world: World) -> None:
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace), data={"a": "b"}))
    document = (await world.client.list(CONFIG_MAP, namespace=world.namespace))[0]
    document["data"]["c"] = "d"
    await world.client.update(document)
    assert (await world.client.get(ConfigMap, "a", namespace=world.namespace)).data == {"a": "b", "c": "d"}


async def test_what_is_read_is_the_callers_own(world: World) -> None:
    await world.install(WIDGETS)
    await world.client.create(new_widget(world.namespace))
    one = await world.client.get(Widget, "one", namespace=world.namespace)
    two = await world.client.get(Widget, "one", namespace=world.namespace)
    one.spec.size = 7
    one.metadata.labels["a"] = "b"
    assert (two.spec.size, two.metadata.labels) == (1, {})
    assert (await world.client.get(Widget, "one", namespace=world.namespace)).spec.size == 1


async def test_a_get_can_ask_for_a_version_that_is_not_older(world: World) -> None:
    made = await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    version = made.metadata.resource_version
    found = await world.client.get(ConfigMap, "a", namespace=world.namespace, resource_version=version)
    assert found.metadata.resource_version == version


@pytest.mark.covers("T142")
async def test_a_kind_is_found_as_soon_as_it_is_installed(world: World) -> None:
    """Discovery is asked again for a kind that was not there before."""
    await world.install(PLANETS)
    planet = GroupVersionKind(GROUP, "v1", "Planet")
    assert await world.client.find(planet, f"nobody-{world.namespace}") is None
    mapping = world.client.rest_mapper.rest_mapping(planet)
    assert (mapping.resource.resource, mapping.namespaced) == ("planets", False)


@pytest.mark.covers("T143")
async def test_discovery_knows_the_builtin_kinds(world: World) -> None:
    mappings = {mapping.gvk: mapping for mapping in await world.transport.resources()}
    namespaces = mappings[GroupVersionKind("", "v1", "Namespace")]
    assert (namespaces.resource.resource, namespaces.namespaced) == ("namespaces", False)
    assert namespaces.short_names == ("ns",)
    config_maps = mappings[CONFIG_MAP]
    assert (config_maps.resource.resource, config_maps.namespaced, config_maps.singular) == (
        "configmaps",
        True,
        "configmap",
    )
    assert {"get", "list", "watch", "create", "update", "patch", "delete"} <= set(config_maps.verbs)
    deployments = mappings[GroupVersionKind("apps", "v1", "Deployment")]
    assert "status" in deployments.subresources


@pytest.mark.covers("T143")
async def test_discovery_has_the_names_of_a_definition(world: World) -> None:
    await world.install(WIDGETS)
    mappings = {mapping.gvk: mapping for mapping in await world.transport.resources()}
    assert mappings[WIDGET].resource.resource == "widgets"
    assert mappings[WIDGET].subresources == ("status",)


@pytest.mark.covers("T139")
async def test_a_client_for_one_namespace_needs_no_namespace(world: World) -> None:
    await world.install(WIDGETS)
    client = world.client.with_namespace(world.namespace)
    widget = await client.create(new_widget(""))
    assert widget.metadata.namespace == world.namespace
    assert (await client.get(Widget, "one")) == widget
    assert (await client.list(Widget)).names == ["one"]
    assert (await client.get(Namespace, world.namespace)).metadata.name == world.namespace
    document = await client.create(Unstructured(widget_document("", "two").document))
    assert document.metadata.namespace == world.namespace
    await client.delete_all_of(Widget)
    assert len(await world.client.list(Widget, namespace=world.namespace)) == 0


@pytest.mark.covers("T139")
async def test_a_client_for_one_namespace_refuses_another(world: World) -> None:
    client = world.client.with_namespace(world.namespace)
    with pytest.raises(BadRequest, match=f"is in namespace other, but this client is for {world.namespace}"):
        await client.get(ConfigMap, "a", namespace="other")
    with pytest.raises(BadRequest, match="this client is for"):
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="other")))


@pytest.mark.covers("T127")
async def test_cluster_scoped_kinds_take_no_notice_of_a_namespace(world: World) -> None:
    await world.install(PLANETS)
    name = f"venus-{world.namespace}"
    await world.client.create(Planet(metadata=ObjectMeta(name=name)))
    assert (await world.client.get(Planet, name, namespace="any")).metadata.name == name


@dataclass(frozen=True)
class Key:
    """Anything with a name and a namespace names an object."""

    name: str
    namespace: str = ""


async def test_a_request_stands_for_name_and_namespace(world: World) -> None:
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace), data={"x": "1"}))
    request = Request("a", world.namespace)
    typed = await world.client.get(ConfigMap, request)
    document = await world.client.get(CONFIG_MAP, request)
    partial = await world.client.get(metadata_only(ConfigMap), Key("a", world.namespace))
    found = await world.client.find(ConfigMap, typed.metadata)
    assert_type(typed, ConfigMap)
    assert_type(document, Unstructured)
    assert_type(partial, PartialObjectMetadata)
    assert_type(found, ConfigMap | None)
    assert typed == found
    assert document.metadata == partial.metadata == typed.metadata
    assert (await world.client.patch(ConfigMap, {"data": {"x": "2"}}, name=request)).data == {"x": "2"}
    await world.client.delete(ConfigMap, request)
    assert await world.client.find(ConfigMap, request) is None
    with pytest.raises(NotFound) as caught:
        await world.client.delete(ConfigMap, request)
    assert (caught.value.namespace, caught.value.name) == (world.namespace, "a")


async def test_a_request_for_a_cluster_scoped_object_has_no_namespace(world: World) -> None:
    assert (await world.client.get(Namespace, Request(world.namespace))).metadata.name == world.namespace


async def test_a_client_for_one_namespace_completes_a_request_without_one(world: World) -> None:
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    ours = world.client.with_namespace(world.namespace)
    assert (await ours.get(ConfigMap, Request("a"))).metadata.namespace == world.namespace


async def test_a_request_beside_a_namespace_is_refused(world: World) -> None:
    request = Request("a", world.namespace)
    message = f"the namespace is given twice: 'other' beside Request {world.namespace}/a; leave namespace=… out"
    for call in (world.client.get, world.client.find, world.client.delete):
        with pytest.raises(BadRequest, match=message):
            await call(ConfigMap, request, namespace="other")


async def test_what_has_no_name_is_refused_as_a_name(world: World) -> None:
    config_map = ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace))
    for wrong, message in ((config_map, "not ConfigMap; pass its metadata"), (None, "not NoneType"), (7, "int")):
        with pytest.raises(BadRequest, match=message):
            await world.client.get(ConfigMap, wrong)  # type: ignore[arg-type]  # a type checker refuses it too
