"""Creating objects, on every API server."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pilotage.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    InternalError,
    Invalid,
    InvalidDefinition,
    NotFound,
    RequestTooLarge,
)
from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.meta.unstructured import Unstructured
from pilotage.types.core.v1 import ConfigMap, Namespace, Secret

from ..environments import Environment
from .kinds import (
    GADGETS,
    PLANETS,
    WIDGET,
    WIDGETS,
    Gadget,
    GadgetState,
    Planet,
    Widget,
    WidgetStatus,
    new_widget,
    widget_document,
)


async def test_a_created_object_has_what_the_server_gives_it(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    created = await environment.client.create(widget)
    assert created is widget
    metadata = widget.metadata
    assert uuid.UUID(metadata.uid).version == 4
    assert int(metadata.resource_version) > 0
    assert metadata.generation == 1
    assert metadata.creation_timestamp is not None
    assert abs(metadata.creation_timestamp - datetime.now(UTC)) < timedelta(minutes=1)
    assert metadata.creation_timestamp.microsecond == 0
    assert widget.spec.mode == "fast"  # the schema's default


async def test_a_created_object_is_equal_to_the_one_that_is_read(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace, mode="slow", tags=["a", "b"], labels={"a": "b"})
    spec = widget.spec
    await environment.client.create(widget)
    assert widget == await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert spec == widget.spec


async def test_created_objects_share_nothing_that_their_makers_shared(environment: Environment) -> None:
    await environment.install(WIDGETS)
    first = new_widget(environment.namespace, mode="slow", tags=["a", "b"])
    spec = first.spec
    await environment.client.create(first)
    first.spec.size = 7
    assert spec.size != 7


@pytest.mark.covers("T154")
async def test_a_created_object_can_be_written_on_at_once(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    for size in (2, 3):
        widget.spec.size = size
        await environment.client.update(widget)
    assert (await environment.client.get(type(widget), "one", namespace=environment.namespace)).spec.size == 3


async def test_those_who_hold_the_metadata_see_the_new_version(environment: Environment) -> None:
    held = ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    metadata = held.metadata
    await environment.client.create(held)
    assert held.metadata is metadata
    assert metadata.resource_version


@pytest.mark.covers("T129")
async def test_a_document_is_created_and_refreshed_in_place(environment: Environment) -> None:
    await environment.install(WIDGETS)
    document = widget_document(environment.namespace)
    metadata = document.metadata
    created = await environment.client.create(document)
    assert created is document
    assert document["metadata"]["uid"] == metadata.uid != ""
    assert document["spec"] == {"size": 1, "mode": "fast"}


@pytest.mark.covers("T146")
async def test_the_server_completes_a_generated_name(environment: Environment) -> None:
    names = set()
    for _ in range(3):
        made = await environment.client.create(
            ConfigMap(metadata=ObjectMeta(generate_name="gen-", namespace=environment.namespace))
        )
        names.add(made.metadata.name)
    assert len(names) == 3
    assert all(name.startswith("gen-") and len(name) == len("gen-") + 5 for name in names)
    assert all(set(name.removeprefix("gen-")) <= set("bcdfghjklmnpqrstvwxz2456789") for name in names)


@pytest.mark.covers("T127", "T146")
async def test_creating_an_existing_object_is_already_exists(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(AlreadyExists) as caught:
        await environment.client.create(new_widget(environment.namespace))
    error = caught.value
    assert (error.group, error.kind) == (WIDGET.group, "Widget")
    assert (error.namespace, error.name) == (environment.namespace, "one")
    assert str(error) == 'widgets.tests.pilotage.dev "one" already exists'
    assert error.status.details is not None
    assert (error.status.details.name, error.status.details.kind) == ("one", "widgets")


@pytest.mark.covers("T146")
async def test_a_create_that_fails_leaves_the_object_as_it_was(environment: Environment) -> None:
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    second = ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"k": "v"})
    with pytest.raises(AlreadyExists):
        await environment.client.create(second)
    assert second == ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"k": "v"})


@pytest.mark.parametrize("made", [new_widget("nowhere"), ConfigMap(metadata=ObjectMeta(name="a", namespace="nowhere"))])
async def test_a_namespace_must_be_there(environment: Environment, made: Widget | ConfigMap) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(NotFound) as caught:
        await environment.client.create(made)
    assert str(caught.value) == 'namespaces "nowhere" not found'
    assert (caught.value.kind, caught.value.namespace) == (made.kind, "nowhere")


@pytest.mark.covers("T145")
async def test_a_version_must_not_be_set(environment: Environment) -> None:
    metadata = ObjectMeta(name="a", namespace=environment.namespace, resource_version="5")
    with pytest.raises(ApiError, match="resourceVersion should not be set on objects to be created") as caught:
        await environment.client.create(ConfigMap(metadata=metadata))
    assert caught.value.status.code == 500
    assert caught.value.status.reason == ""


async def test_uid_and_generation_that_are_set_are_replaced(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    widget.metadata.uid, widget.metadata.resource_version, widget.metadata.generation = "mine", "0", 7
    await environment.client.create(widget)
    assert widget.metadata.uid != "mine"
    assert widget.metadata.generation == 1


@pytest.mark.parametrize("name", ["Upper", "under_score", "é", "a" * 254, "-a", "a..b"])
async def test_a_name_must_be_a_dns_name(environment: Environment, name: str) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(Invalid) as caught:
        await environment.client.create(new_widget(environment.namespace, name))
    assert {cause.field for cause in caught.value.causes} == {"metadata.name"}
    assert (caught.value.kind, caught.value.name) == ("Widget", name)


async def test_labels_are_validated(environment: Environment) -> None:
    with pytest.raises(Invalid) as caught:
        await environment.client.create(
            ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace, labels={"a b": "c d"}))
        )
    assert [cause.field for cause in caught.value.causes] == ["metadata.labels", "metadata.labels"]
    assert all(cause.reason == "FieldValueInvalid" for cause in caught.value.causes)


async def test_finalizers_are_validated(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    widget.metadata.finalizers = ["not a finalizer"]
    with pytest.raises(Invalid) as caught:
        await environment.client.create(widget)
    assert {cause.field for cause in caught.value.causes} == {"metadata.finalizers"}


async def test_owner_references_are_validated(environment: Environment) -> None:
    owners = [OwnerReference(api_version="v1", kind="Pod", name=name, uid=name, controller=True) for name in ("a", "b")]
    metadata = ObjectMeta(name="a", namespace=environment.namespace, owner_references=owners)
    with pytest.raises(Invalid) as caught:
        await environment.client.create(ConfigMap(metadata=metadata))
    assert [cause.field for cause in caught.value.causes] == ["metadata.ownerReferences"]
    assert "Only one reference can have Controller set to true" in str(caught.value)


@pytest.mark.covers("T127")
async def test_every_cause_of_an_invalid_object_is_reported(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(Invalid) as caught:
        await environment.client.create(
            new_widget(environment.namespace, size=0, colour="green", tags=["toolong", "b", "c"])
        )
    causes = {cause.field: (cause.reason, cause.message) for cause in caught.value.causes}
    assert causes == {
        "spec.size": ("FieldValueInvalid", "Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        "spec.tags": ("FieldValueTooMany", "Too many: 3: must have at most 2 items"),
        "spec.tags[0]": ("FieldValueTooLong", "Too long: may not be more than 5 bytes"),
        "spec.colour": ("FieldValueNotSupported", 'Unsupported value: "green": supported values: "red", "blue"'),
    }
    assert str(caught.value).startswith('Widget.tests.pilotage.dev "one" is invalid: [')


async def test_a_required_field_must_be_there(environment: Environment) -> None:
    await environment.install(WIDGETS)
    document = widget_document(environment.namespace)
    del document["spec"]["size"]
    with pytest.raises(Invalid) as caught:
        await environment.client.create(document)
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueRequired", "spec.size")]
    assert str(caught.value) == 'Widget.tests.pilotage.dev "one" is invalid: spec.size: Required value'


async def test_a_value_of_a_wrong_type_is_reported_with_its_path(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(Invalid) as caught:
        await environment.client.create(widget_document(environment.namespace, size="big"))
    cause = caught.value.causes[0]
    assert (cause.reason, cause.field) == ("FieldValueTypeInvalid", "spec.size")
    assert cause.message == 'Invalid value: "string": spec.size in body must be of type integer: "string"'


async def test_a_builtin_of_a_wrong_type_is_a_bad_request(environment: Environment) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": environment.namespace}}
    with pytest.raises(BadRequest, match="ConfigMap"):
        await environment.client.create(Unstructured(document | {"data": {"a": 1}}))


@pytest.mark.covers("T138")
async def test_unknown_fields_are_pruned_with_a_warning(environment: Environment) -> None:
    await environment.install(WIDGETS)
    created = await environment.client.create(
        widget_document(environment.namespace, nonsense=1, settings={"any": ["thing"]})
    )
    assert created["spec"] == {"size": 1, "mode": "fast", "settings": {"any": ["thing"]}}
    assert environment.warnings == ['unknown field "spec.nonsense"']


@pytest.mark.covers("T138")
async def test_unknown_fields_are_refused_where_that_is_asked_for(environment: Environment) -> None:
    await environment.install(WIDGETS)
    strict = environment.client.with_field_validation("Strict")
    with pytest.raises(BadRequest) as caught:
        await strict.create(widget_document(environment.namespace, nonsense=1))
    assert str(caught.value) == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nonsense"'
    )
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": environment.namespace}}
    with pytest.raises(BadRequest, match='unknown field "nonsense"'):
        await strict.create(Unstructured(document | {"nonsense": 1}))


async def test_unknown_fields_are_ignored_where_that_is_asked_for(environment: Environment) -> None:
    await environment.install(WIDGETS)
    created = await environment.client.create(
        widget_document(environment.namespace, nonsense=1), field_validation="Ignore"
    )
    assert "nonsense" not in created["spec"]
    assert environment.warnings == []


async def test_an_unknown_field_validation_is_invalid(environment: Environment) -> None:
    with pytest.raises(Invalid, match='fieldValidation: Unsupported value: "Loose"'):
        await environment.client.create(
            ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)), field_validation="Loose"
        )


@pytest.mark.covers("T148")
async def test_a_status_is_dropped_where_it_is_a_subresource(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    widget.status = WidgetStatus(phase="Mine")
    await environment.client.create(widget)
    assert widget.status is None


async def test_a_status_is_kept_where_it_is_not(environment: Environment) -> None:
    await environment.install(GADGETS)
    metadata = ObjectMeta(name="one", namespace=environment.namespace)
    gadget = await environment.client.create(Gadget(metadata=metadata, status=GadgetState(phase="Mine")))
    assert gadget.status == GadgetState(phase="Mine")


@pytest.mark.covers("T137")
async def test_a_dry_run_stores_nothing(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace), dry_run=True)
    assert widget.spec.mode == "fast"
    assert widget.metadata.uid
    assert widget.metadata.resource_version == ""
    assert await environment.client.find(type(widget), "one", namespace=environment.namespace) is None


@pytest.mark.covers("T137")
async def test_a_dry_run_is_refused_as_the_real_run_would_be(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(AlreadyExists):
        await environment.client.dry_run().create(new_widget(environment.namespace))


async def test_a_cluster_scoped_object_lives_in_no_namespace(environment: Environment) -> None:
    await environment.install(PLANETS)
    planet = Planet(metadata=ObjectMeta(name=f"mars-{environment.namespace}"), spec={"moons": 2})
    await environment.client.create(planet)
    assert planet.metadata.namespace == ""
    assert (await environment.client.get(Planet, planet.metadata.name)).spec == {"moons": 2}


async def test_a_new_namespace_is_active(environment: Environment) -> None:
    namespace = await environment.client.create(Namespace(metadata=ObjectMeta(name=f"{environment.namespace}-more")))
    assert namespace.status is not None
    assert namespace.status.phase == "Active"
    assert namespace.spec is not None
    assert namespace.spec.finalizers == ["kubernetes"]
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": namespace.metadata.name}


async def test_string_data_of_a_secret_becomes_data(environment: Environment) -> None:
    secret = Secret(metadata=ObjectMeta(name="a", namespace=environment.namespace), string_data={"key": "value"})
    await environment.client.create(secret)
    assert secret.string_data == {}
    assert secret.type == "Opaque"
    document = await environment.client.get(Secret, "a", namespace=environment.namespace)
    assert list(document.data) == ["key"]


async def test_a_large_object_goes_through_whole(environment: Environment) -> None:
    value = "x" * 900_000
    metadata = ObjectMeta(name="large", namespace=environment.namespace)
    await environment.client.create(ConfigMap(metadata=metadata, data={"a": value}))
    found = await environment.client.get(ConfigMap, "large", namespace=environment.namespace)
    assert found.data["a"] == value


async def test_an_object_that_is_too_large_is_refused(environment: Environment) -> None:
    metadata = ObjectMeta(name="large", namespace=environment.namespace)
    with pytest.raises(RequestTooLarge, match="3145728"):
        await environment.client.create(ConfigMap(metadata=metadata, data={"a": "x" * (3 << 20)}))
    with pytest.raises(Invalid, match="Too long"):
        await environment.client.create(ConfigMap(metadata=metadata, data={"a": "x" * ((1 << 20) + 1)}))


async def test_text_of_any_alphabet_is_kept(environment: Environment) -> None:
    data = {"a": 'žluťoučký 🐎 \u2028 \\ " \n\t ü'}
    await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="text", namespace=environment.namespace), data=data)
    )
    assert (await environment.client.get(ConfigMap, "text", namespace=environment.namespace)).data == data


async def test_the_writer_is_named_in_managed_fields(environment: Environment) -> None:
    made = await environment.client.with_field_owner("me").create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"a": "b"})
    )
    assert [entry.manager for entry in made.metadata.managed_fields] == ["me"]


async def test_what_is_no_object_is_refused_with_what_to_pass(environment: Environment) -> None:
    client: Any = environment.client
    with pytest.raises(
        InvalidDefinition, match=r"^a dict is not an object: wrap the document, Unstructured\(document\)$"
    ):
        await client.create({"apiVersion": "v1", "kind": "ConfigMap"})
    with pytest.raises(InvalidDefinition, match=r"^the class ConfigMap is not an object: make one, ConfigMap\(…\)$"):
        await client.create(ConfigMap)
    with pytest.raises(InvalidDefinition, match=r"^a str is not an object: give an object of a Resource class"):
        await client.create("web")


async def test_a_version_of_a_new_object_is_a_failure_of_the_same_class_everywhere(environment: Environment) -> None:
    meta = ObjectMeta(name="versioned", namespace=environment.namespace, resource_version="1")
    with pytest.raises(InternalError, match="resourceVersion should not be set on objects to be created"):
        await environment.client.create(ConfigMap(metadata=meta))
