"""Updating objects and their status, on every API server."""

from __future__ import annotations

import msgspec
import pytest

from pilotage.errors import ApiError, BadRequest, Conflict, Invalid, NoMatch, NotFound
from pilotage.meta import objects
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.types.core.v1 import ConfigMap, Secret

from ..environments import Environment
from .kinds import (
    GADGETS,
    WIDGET,
    WIDGETS,
    Gadget,
    GadgetState,
    Part,
    Widget,
    WidgetSpec,
    WidgetStatus,
    new_widget,
    widget_document,
)


async def test_no_field_is_lost_by_a_class_that_does_not_know_it(environment: Environment) -> None:
    await environment.install(WIDGETS)
    parts = [{"name": "a", "weight": 3}, {"name": "b", "weight": 5}, {"name": "c", "weight": 7}]
    await environment.client.create(
        widget_document(environment.namespace, note="keep me", parts=parts, settings={"deep": {"er": [1, {"x": 2}]}})
    )
    widget = await environment.client.get(Widget, "one", namespace=environment.namespace)
    widget.spec.size = 2
    del widget.spec.parts[0]
    widget.spec.parts.append(Part(name="d"))
    await environment.client.update(widget)
    document = await environment.client.get(WIDGET, "one", namespace=environment.namespace)
    assert document["spec"] == {
        "size": 2,
        "mode": "fast",
        "note": "keep me",
        "parts": [{"name": "b", "weight": 5}, {"name": "c", "weight": 7}, {"name": "d"}],
        "settings": {"deep": {"er": [1, {"x": 2}]}},
    }


async def test_no_field_is_lost_by_an_object_made_from_parts(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(widget_document(environment.namespace, note="keep me"))
    found = await environment.client.get(Widget, "one", namespace=environment.namespace)
    made = Widget(metadata=msgspec.structs.replace(found.metadata), spec=WidgetSpec(size=5, mode="fast"))
    assert objects.origin_of(made) is None
    await environment.client.update(made)
    document = await environment.client.get(WIDGET, "one", namespace=environment.namespace)
    assert document["spec"] == {"size": 5, "mode": "fast", "note": "keep me"}


async def test_no_field_is_lost_by_an_item_of_a_list(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(widget_document(environment.namespace, note="keep me"))
    widget = (await environment.client.list(Widget, namespace=environment.namespace))[0]
    widget.spec.size = 4
    await environment.client.update(widget)
    document = await environment.client.get(WIDGET, "one", namespace=environment.namespace)
    assert document["spec"] == {"size": 4, "mode": "fast", "note": "keep me"}


@pytest.mark.covers("T145")
async def test_a_stale_version_is_a_conflict(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    stale = await environment.client.get(Widget, "one", namespace=environment.namespace)
    fresh = await environment.client.get(Widget, "one", namespace=environment.namespace)
    fresh.spec.size = 2
    await environment.client.update(fresh)
    stale.spec.size = 3
    with pytest.raises(Conflict) as caught:
        await environment.client.update(stale)
    assert (caught.value.kind, caught.value.namespace, caught.value.name) == ("Widget", environment.namespace, "one")
    assert str(caught.value) == (
        'Operation cannot be fulfilled on widgets.tests.pilotage.dev "one": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert stale.spec.size == 3  # a failed write changes nothing here either


@pytest.mark.covers("T145")
async def test_a_custom_object_needs_its_version(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(Invalid) as caught:
        await environment.client.update(new_widget(environment.namespace, size=2))
    assert str(caught.value) == (
        'widgets.tests.pilotage.dev "one" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update"
    )


@pytest.mark.covers("T145")
async def test_a_config_map_needs_no_version(environment: Environment) -> None:
    metadata = ObjectMeta(name="a", namespace=environment.namespace)
    await environment.client.create(ConfigMap(metadata=metadata, data={"a": "1"}))
    again = ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"b": "2"})
    await environment.client.update(again)
    assert again.metadata.uid == metadata.uid
    assert (await environment.client.get(ConfigMap, "a", namespace=environment.namespace)).data == {"b": "2"}


@pytest.mark.covers("T145")
async def test_a_lease_is_created_by_an_update_and_then_needs_its_version(environment: Environment) -> None:
    await environment.client.update(Lease(metadata=ObjectMeta(name="l", namespace=environment.namespace)))
    with pytest.raises(Invalid, match="must be specified for an update"):
        await environment.client.update(Lease(metadata=ObjectMeta(name="l", namespace=environment.namespace)))


async def test_what_is_not_there_cannot_be_updated(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(NotFound) as caught:
        await environment.client.update(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    assert (caught.value.kind, caught.value.name) == ("ConfigMap", "a")
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.delete(widget)
    with pytest.raises(NotFound):
        await environment.client.update(widget)


async def test_an_object_of_another_uid_is_not_overwritten(environment: Environment) -> None:
    first = await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    await environment.client.delete(first)
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    first.metadata.resource_version = ""
    with pytest.raises(Conflict, match="UID in precondition"):
        await environment.client.update(first)


async def test_a_version_must_be_a_number(environment: Environment) -> None:
    metadata = ObjectMeta(name="a", namespace=environment.namespace)
    held = await environment.client.create(ConfigMap(metadata=metadata))
    held.metadata.resource_version = "abc"
    with pytest.raises(ApiError, match='"abc"') as caught:
        await environment.client.update(held)
    assert caught.value.status.code == 500


async def test_a_write_that_changes_nothing_keeps_the_version(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    version = widget.metadata.resource_version
    await environment.client.update(widget)
    await environment.client.patch(widget, {"spec": {"size": 1}})
    await environment.client.patch(widget, [])
    assert widget.metadata.resource_version == version


async def test_the_generation_follows_the_spec_and_not_the_labels(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    widget.metadata.labels["a"] = "b"
    widget.metadata.annotations["c"] = "d"
    await environment.client.update(widget)
    assert widget.metadata.generation == 1
    widget.spec.size = 2
    await environment.client.update(widget)
    assert widget.metadata.generation == 2
    await environment.client.patch_status(widget, {"status": {"phase": "Running"}})
    assert widget.metadata.generation == 2


async def test_without_a_status_subresource_the_generation_follows_the_status_too(environment: Environment) -> None:
    await environment.install(GADGETS)
    gadget = await environment.client.create(Gadget(metadata=ObjectMeta(name="one", namespace=environment.namespace)))
    gadget.status = GadgetState(phase="Running")
    await environment.client.update(gadget)
    assert gadget.metadata.generation == 2
    assert gadget.status == GadgetState(phase="Running")


async def test_what_is_the_servers_cannot_be_changed(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    created, version = widget.metadata.creation_timestamp, widget.metadata.resource_version
    assert created is not None
    widget.metadata.creation_timestamp = created.replace(year=2001)
    widget.metadata.generation = 99
    await environment.client.update(widget)
    assert widget.metadata.creation_timestamp == created
    assert (widget.metadata.generation, widget.metadata.resource_version) == (1, version)


@pytest.mark.covers("T129", "T131", "T148")
async def test_the_status_is_written_apart_from_the_rest(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace, labels={"a": "1"}))
    widget.spec.size = 9
    widget.metadata.labels["a"] = "2"
    widget.status = WidgetStatus(phase="Running")
    await environment.client.update_status(widget)
    stored = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert (stored.spec.size, stored.metadata.labels) == (1, {"a": "1"})
    assert stored.status == WidgetStatus(phase="Running")
    assert widget == stored  # it became what is stored


@pytest.mark.covers("T148")
async def test_the_rest_is_written_apart_from_the_status(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.patch_status(widget, {"status": {"phase": "Running"}})
    widget.status = WidgetStatus(phase="Changed")
    widget.spec.size = 2
    await environment.client.update(widget)
    assert (widget.spec.size, widget.status) == (2, WidgetStatus(phase="Running"))


@pytest.mark.covers("T148")
async def test_the_error_names_a_missing_status_subresource(environment: Environment) -> None:
    """Not NotFound: that would mean that the object was deleted."""
    await environment.install(GADGETS)
    gadget = await environment.client.create(Gadget(metadata=ObjectMeta(name="one", namespace=environment.namespace)))
    with pytest.raises(NoMatch, match=r"Gadget of tests\.pilotage\.dev/v1 has no subresource status .*status=True"):
        await environment.client.patch_status(gadget, {"status": {"phase": "Up"}})
    config_map = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    )
    with pytest.raises(NoMatch, match="ConfigMap of v1 has no subresource status"):
        await environment.client.update_status(config_map)


async def test_a_missing_object_has_no_status_either(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(NotFound):
        await environment.client.patch_status(new_widget(environment.namespace, "nobody"), {"status": {}})


async def test_a_status_is_validated(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(Invalid) as caught:
        await environment.client.patch_status(widget, {"status": {"phase": 1}})
    assert caught.value.causes[0].field == "status.phase"


@pytest.mark.covers("T145", "T148")
async def test_a_stale_status_is_a_conflict(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    stale = await environment.client.get(Widget, "one", namespace=environment.namespace)
    await environment.client.patch_status(widget, {"status": {"phase": "Running"}})
    stale.status = WidgetStatus(phase="Late")
    with pytest.raises(Conflict):
        await environment.client.update_status(stale)


async def test_an_update_of_the_name_is_distinguished(environment: Environment) -> None:
    """The client builds the path from the object's own name; so this is another object."""
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    widget.metadata.name = "two"
    with pytest.raises(NotFound):
        await environment.client.update(widget)


async def test_an_immutable_secret_stays_as_it_is(environment: Environment) -> None:
    secret = Secret(
        metadata=ObjectMeta(name="a", namespace=environment.namespace), immutable=True, string_data={"a": "b"}
    )
    await environment.client.create(secret)
    with pytest.raises(Invalid) as caught:
        await environment.client.patch(secret, {"stringData": {"a": "c"}})
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueForbidden", "data")]
    await environment.client.patch(secret, {"metadata": {"labels": {"may": "change"}}})
    assert secret.metadata.labels == {"may": "change"}


@pytest.mark.covers("T137")
async def test_a_dry_run_of_an_update_stores_nothing(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    widget.spec.size = 2
    await environment.client.dry_run().update(widget)
    assert (widget.spec.size, widget.metadata.generation) == (2, 2)
    assert (await environment.client.get(Widget, "one", namespace=environment.namespace)).spec.size == 1


async def test_an_update_can_be_strict(environment: Environment) -> None:
    await environment.install(WIDGETS)
    document = await environment.client.create(widget_document(environment.namespace))
    document["spec"]["nonsense"] = 1
    with pytest.raises(BadRequest, match=r'strict decoding error: unknown field "spec\.nonsense"'):
        await environment.client.update(document, field_validation="Strict")


async def test_an_update_of_a_deleted_object_does_not_create_it_again(environment: Environment) -> None:
    """Kinds that an update may create, such as Leases: only if the body is not of an object that was deleted."""
    client = environment.client

    def new(holder: str) -> Lease:
        meta = ObjectMeta(name="lease", namespace=environment.namespace)
        return Lease(metadata=meta, spec=LeaseSpec(holder_identity=holder))

    lease = await client.create(new("a"))
    await client.delete(lease)
    with pytest.raises(
        Conflict, match=f"Precondition failed: UID in precondition: {lease.metadata.uid}, UID in object"
    ):
        await client.update(lease)
    created = await client.update(new("b"))
    assert created.metadata.uid != lease.metadata.uid
