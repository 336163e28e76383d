"""Getting objects in their three forms, and kinds that are not served, on every API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from pilotage.controller import Request
from pilotage.errors import BadRequest, InvalidDefinition, NoMatch, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta, Resource, resource
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured, metadata_only
from pilotage.types.core.v1 import ConfigMap, Namespace, Pod

from ..environments import Environment
from .kinds import CONFIG_MAP, GROUP, PLANETS, WIDGET, WIDGETS, Planet, Widget, new_widget, widget_document


@resource(group="nobody.pilotage.dev", version="v1")
class Unicorn(Resource):
    """No server has it."""


@pytest.mark.covers("T127", "T155")
async def test_one_object_in_three_forms(environment: Environment) -> None:
    await environment.install(WIDGETS)
    created = await environment.client.create(new_widget(environment.namespace, colour="red", labels={"a": "b"}))
    widget = await environment.client.get(Widget, "one", namespace=environment.namespace)
    document = await environment.client.get(WIDGET, "one", namespace=environment.namespace)
    partial = await environment.client.get(metadata_only(Widget), "one", namespace=environment.namespace)
    assert_type(widget, Widget)
    assert_type(document, Unstructured)
    assert_type(partial, PartialObjectMetadata)
    assert widget == created
    assert document["spec"] == {"size": 1, "colour": "red", "mode": "fast"}
    assert document.metadata == partial.metadata == widget.metadata
    assert (partial.api_version, partial.kind) == (WIDGET.api_version, "Widget")


async def test_not_found_names_the_requested_object(environment: Environment) -> None:
    await environment.install(WIDGETS)
    for kind in (Widget, metadata_only(Widget)):
        with pytest.raises(NotFound) as caught:
            await environment.client.get(kind, "nobody", namespace=environment.namespace)
        error = caught.value
        assert (error.group, error.kind, error.namespace, error.name) == (
            GROUP,
            "Widget",
            environment.namespace,
            "nobody",
        )
        assert str(error) == 'widgets.tests.pilotage.dev "nobody" not found'


async def test_find_gives_none_for_what_is_not_there(environment: Environment) -> None:
    assert await environment.client.find(ConfigMap, "nobody", namespace=environment.namespace) is None
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    found = await environment.client.find(CONFIG_MAP, "a", namespace=environment.namespace)
    assert found is not None
    assert found.kind == "ConfigMap"


@pytest.mark.covers("T127", "T155")
async def test_a_kind_that_is_not_served_is_not_an_object_that_is_missing(environment: Environment) -> None:
    for kind in (Unicorn, GroupVersionKind("nobody.pilotage.dev", "v1", "Unicorn")):
        with pytest.raises(
            NoMatch, match=r"does not serve Unicorn of nobody.pilotage.dev/v1.*CustomResourceDefinition"
        ):
            await environment.client.find(kind, "one", namespace=environment.namespace)
    with pytest.raises(NoMatch):
        await environment.client.list(Unicorn)
    with pytest.raises(NoMatch):
        await environment.client.create(Unicorn(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    with pytest.raises(NoMatch):
        async with environment.client.watch(Unicorn):
            pytest.fail("the watch has begun")


async def test_a_version_that_is_not_served_is_no_match(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(NoMatch, match=r"tests\.pilotage\.dev/v9"):
        await environment.client.get(GroupVersionKind(GROUP, "v9", "Widget"), "one", namespace=environment.namespace)


async def test_items_of_a_list_in_three_forms(environment: Environment) -> None:
    metadata = ObjectMeta(name="a", namespace=environment.namespace)
    created = await environment.client.create(ConfigMap(metadata=metadata, data={"a": "b"}))
    typed = await environment.client.list(ConfigMap, namespace=environment.namespace)
    documents = await environment.client.list(CONFIG_MAP, namespace=environment.namespace)
    partials = await environment.client.list(metadata_only(CONFIG_MAP), namespace=environment.namespace)
    assert_type(typed[0], ConfigMap)
    assert_type(documents[0], Unstructured)
    assert_type(partials[0], PartialObjectMetadata)
    assert list(typed) == [created]
    assert (documents[0]["apiVersion"], documents[0]["kind"], documents[0]["data"]) == ("v1", "ConfigMap", {"a": "b"})
    assert partials[0].metadata == created.metadata
    assert partials[0].gvk == CONFIG_MAP


@pytest.mark.covers("T130")
async def test_a_document_from_a_list_can_be_written_again(environment: Environment) -> None:
    await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"a": "b"})
    )
    document = (await environment.client.list(CONFIG_MAP, namespace=environment.namespace))[0]
    document["data"]["c"] = "d"
    await environment.client.update(document)
    assert (await environment.client.get(ConfigMap, "a", namespace=environment.namespace)).data == {"a": "b", "c": "d"}


async def test_what_is_read_is_the_callers_own(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    one = await environment.client.get(Widget, "one", namespace=environment.namespace)
    two = await environment.client.get(Widget, "one", namespace=environment.namespace)
    one.spec.size = 7
    one.metadata.labels["a"] = "b"
    assert (two.spec.size, two.metadata.labels) == (1, {})
    assert (await environment.client.get(Widget, "one", namespace=environment.namespace)).spec.size == 1


async def test_a_get_can_ask_for_a_version_that_is_not_older(environment: Environment) -> None:
    made = await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    version = made.metadata.resource_version
    found = await environment.client.get(ConfigMap, "a", namespace=environment.namespace, resource_version=version)
    assert found.metadata.resource_version == version


@pytest.mark.covers("T142")
async def test_a_kind_is_found_as_soon_as_it_is_installed(environment: Environment) -> None:
    """Discovery is asked again for a kind that was not there before."""
    await environment.install(PLANETS)
    planet = GroupVersionKind(GROUP, "v1", "Planet")
    assert await environment.client.find(planet, f"nobody-{environment.namespace}") is None
    mapping = environment.client.rest_mapper.rest_mapping(planet)
    assert (mapping.resource.resource, mapping.namespaced) == ("planets", False)


@pytest.mark.covers("T143")
async def test_discovery_knows_the_builtin_kinds(environment: Environment) -> None:
    mappings = {mapping.gvk: mapping for mapping in await environment.transport.resources()}
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
async def test_discovery_has_the_names_of_a_definition(environment: Environment) -> None:
    await environment.install(WIDGETS)
    mappings = {mapping.gvk: mapping for mapping in await environment.transport.resources()}
    assert mappings[WIDGET].resource.resource == "widgets"
    assert mappings[WIDGET].subresources == ("status",)


@pytest.mark.covers("T139")
async def test_a_client_for_one_namespace_needs_no_namespace(environment: Environment) -> None:
    await environment.install(WIDGETS)
    client = environment.client.with_namespace(environment.namespace)
    widget = await client.create(new_widget(""))
    assert widget.metadata.namespace == environment.namespace
    assert (await client.get(Widget, "one")) == widget
    assert (await client.list(Widget)).names == ["one"]
    assert (await client.get(Namespace, environment.namespace)).metadata.name == environment.namespace
    document = await client.create(Unstructured(widget_document("", "two").document))
    assert document.metadata.namespace == environment.namespace
    await client.delete_all_of(Widget)
    assert len(await environment.client.list(Widget, namespace=environment.namespace)) == 0


@pytest.mark.covers("T139")
async def test_a_client_for_one_namespace_refuses_another(environment: Environment) -> None:
    client = environment.client.with_namespace(environment.namespace)
    with pytest.raises(BadRequest, match=f"is in namespace other, but this client is for {environment.namespace}"):
        await client.get(ConfigMap, "a", namespace="other")
    with pytest.raises(BadRequest, match="this client is for"):
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="other")))


@pytest.mark.covers("T127")
async def test_cluster_scoped_kinds_take_no_notice_of_a_namespace(environment: Environment) -> None:
    await environment.install(PLANETS)
    name = f"venus-{environment.namespace}"
    await environment.client.create(Planet(metadata=ObjectMeta(name=name)))
    assert (await environment.client.get(Planet, name, namespace="any")).metadata.name == name


@dataclass(frozen=True)
class Key:
    """Anything with a name and a namespace names an object."""

    name: str
    namespace: str = ""


async def test_a_request_stands_for_name_and_namespace(environment: Environment) -> None:
    await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"x": "1"})
    )
    request = Request("a", environment.namespace)
    typed = await environment.client.get(ConfigMap, request)
    document = await environment.client.get(CONFIG_MAP, request)
    partial = await environment.client.get(metadata_only(ConfigMap), Key("a", environment.namespace))
    found = await environment.client.find(ConfigMap, typed.metadata)
    assert_type(typed, ConfigMap)
    assert_type(document, Unstructured)
    assert_type(partial, PartialObjectMetadata)
    assert_type(found, ConfigMap | None)
    assert typed == found
    assert document.metadata == partial.metadata == typed.metadata
    assert (await environment.client.patch(ConfigMap, {"data": {"x": "2"}}, name=request)).data == {"x": "2"}
    await environment.client.delete(ConfigMap, request)
    assert await environment.client.find(ConfigMap, request) is None
    with pytest.raises(NotFound) as caught:
        await environment.client.delete(ConfigMap, request)
    assert (caught.value.namespace, caught.value.name) == (environment.namespace, "a")


async def test_a_request_for_a_cluster_scoped_object_has_no_namespace(environment: Environment) -> None:
    assert (
        await environment.client.get(Namespace, Request(environment.namespace))
    ).metadata.name == environment.namespace


async def test_a_client_for_one_namespace_completes_a_request_without_one(environment: Environment) -> None:
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    ours = environment.client.with_namespace(environment.namespace)
    assert (await ours.get(ConfigMap, Request("a"))).metadata.namespace == environment.namespace


async def test_a_request_beside_a_namespace_is_refused(environment: Environment) -> None:
    request = Request("a", environment.namespace)
    message = f"the namespace is given twice: 'other' beside Request {environment.namespace}/a; leave namespace=… out"
    for call in (environment.client.get, environment.client.find, environment.client.delete):
        with pytest.raises(BadRequest, match=message):
            await call(ConfigMap, request, namespace="other")


async def test_what_has_no_name_is_refused_as_a_name(environment: Environment) -> None:
    config_map = ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    for wrong, message in ((config_map, "not ConfigMap; pass its metadata"), (None, "not NoneType"), (7, "int")):
        with pytest.raises(BadRequest, match=message):
            await environment.client.get(ConfigMap, wrong)  # type: ignore[arg-type]  # a type checker refuses it too


@pytest.mark.parametrize("name", ["web/status", "..", "50%"])
async def test_a_name_that_would_be_another_path_is_refused(environment: Environment, name: str) -> None:
    client, namespace = environment.client, environment.namespace
    for call in (
        client.get(Pod, name, namespace=namespace),
        client.get(Pod, Request(name, namespace)),
        client.get(Pod, "web", namespace=name),
        client.patch(Pod, {"status": {"phase": "Running"}}, name=name, namespace=namespace),
        client.delete(Pod, name, namespace=namespace),
        client.update(ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))),
        client.delete(ConfigMap(metadata=ObjectMeta(name="web", namespace=name))),
        client.create(ConfigMap(metadata=ObjectMeta(name="web", namespace=name))),
        client.list(Pod, namespace=name),
    ):
        with pytest.raises(BadRequest, match="may not"):
            await call


async def test_an_object_in_place_of_its_kind_is_refused_with_what_to_pass(environment: Environment) -> None:
    client: Any = environment.client
    with pytest.raises(InvalidDefinition, match=r"^a ConfigMap object is not a kind: give the class ConfigMap$"):
        await client.get(ConfigMap(metadata=ObjectMeta(name="a")), "a", namespace="default")
    with pytest.raises(InvalidDefinition, match=r"^a dict is not a kind: give a Resource class"):
        await client.list({"kind": "ConfigMap"})
    with pytest.raises(InvalidDefinition, match=r"^a str is not an object"):
        await client.update("a")


async def test_a_namespace_that_is_no_text_is_refused(environment: Environment) -> None:
    client: Any = environment.client
    for call in (
        client.get(ConfigMap, "a", namespace=5),
        client.list(ConfigMap, namespace=5),
        client.delete_all_of(ConfigMap, namespace=5),
        client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=5))),  # type: ignore[arg-type]
        client.update(ConfigMap(metadata=ObjectMeta(name="a", namespace=5))),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadRequest, match="the namespace of an object must be a str, not int"):
            await call
