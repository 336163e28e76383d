"""Deletion, finalizers and preconditions, on every API server."""

from __future__ import annotations

import pytest

from pilotage.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import set_owner_reference
from pilotage.meta.unstructured import metadata_only
from pilotage.types.core.v1 import ConfigMap, Namespace

from ..worlds import World
from .kinds import PLANETS, WIDGET, WIDGETS, Planet, Widget, new_widget

FINALIZER = "tests.pilotage.dev/hold"


async def held_widget(world: World) -> Widget:
    await world.install(WIDGETS)
    widget = new_widget(world.namespace)
    widget.metadata.finalizers = [FINALIZER]
    return await world.client.create(widget)


@pytest.mark.covers("T127")
async def test_what_is_deleted_is_gone(world: World) -> None:
    await world.install(WIDGETS)
    widget = await world.client.create(new_widget(world.namespace))
    await world.client.delete(widget)
    assert await world.client.find(Widget, "one", namespace=world.namespace) is None
    with pytest.raises(NotFound) as caught:
        await world.client.delete(widget)
    error = caught.value
    assert (error.group, error.kind, error.namespace, error.name) == (
        WIDGET.group,
        "Widget",
        world.namespace,
        "one",
    )


@pytest.mark.parametrize("kind", [ConfigMap, metadata_only(ConfigMap)])
async def test_an_object_is_deleted_by_its_name(world: World, kind: type[ConfigMap]) -> None:
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    await world.client.delete(kind, "a", namespace=world.namespace)
    assert await world.client.find(ConfigMap, "a", namespace=world.namespace) is None


async def test_a_name_can_be_used_again(world: World) -> None:
    await world.install(WIDGETS)
    first = await world.client.create(new_widget(world.namespace))
    await world.client.delete(first)
    second = await world.client.create(new_widget(world.namespace))
    assert second.metadata.uid != first.metadata.uid
    assert second.metadata.generation == 1


@pytest.mark.covers("T147")
async def test_a_finalizer_holds_a_deleted_object(world: World) -> None:
    widget = await held_widget(world)
    await world.client.delete(widget)
    found = await world.client.get(Widget, "one", namespace=world.namespace)
    assert found.metadata.deletion_timestamp is not None
    assert found.metadata.deletion_grace_period_seconds == 0
    assert found.metadata.generation == 2
    await world.client.delete(widget)
    again = await world.client.get(Widget, "one", namespace=world.namespace)
    assert again.metadata.resource_version == found.metadata.resource_version


@pytest.mark.covers("T147")
async def test_the_last_finalizer_lets_it_go(world: World) -> None:
    widget = await held_widget(world)
    await world.client.delete(widget)
    found = await world.client.get(Widget, "one", namespace=world.namespace)
    version = found.metadata.resource_version
    found.metadata.finalizers.clear()
    await world.client.update(found)
    assert (found.metadata.finalizers, found.metadata.resource_version) == ([], version)
    assert await world.client.find(Widget, "one", namespace=world.namespace) is None


@pytest.mark.covers("T147")
async def test_one_of_two_finalizers_is_not_the_last(world: World) -> None:
    await world.install(WIDGETS)
    widget = new_widget(world.namespace)
    widget.metadata.finalizers = [FINALIZER, "tests.pilotage.dev/other"]
    await world.client.create(widget)
    await world.client.delete(widget)
    await world.client.patch(widget, {"metadata": {"finalizers": [FINALIZER]}})
    assert await world.client.find(Widget, "one", namespace=world.namespace) is not None
    await world.client.patch(widget, {"metadata": {"finalizers": None}})
    assert await world.client.find(Widget, "one", namespace=world.namespace) is None


@pytest.mark.covers("T147")
async def test_no_finalizer_is_added_to_a_terminating_object(world: World) -> None:
    widget = await held_widget(world)
    await world.client.delete(widget)
    with pytest.raises(Invalid) as caught:
        await world.client.patch(widget, {"metadata": {"finalizers": [FINALIZER, "tests.pilotage.dev/late"]}})
    assert {(cause.reason, cause.field) for cause in caught.value.causes} == {
        ("FieldValueForbidden", "metadata.finalizers")  # the real server says it twice
    }
    assert "no new finalizers can be added if the object is being deleted" in str(caught.value)


async def test_a_terminating_object_can_still_be_changed(world: World) -> None:
    widget = await held_widget(world)
    await world.client.delete(widget)
    await world.client.patch(widget, {"spec": {"size": 2}})
    assert (widget.spec.size, widget.metadata.generation) == (2, 3)


async def test_a_terminating_object_still_has_its_name(world: World) -> None:
    widget = await held_widget(world)
    await world.client.delete(widget)
    with pytest.raises(AlreadyExists, match="object is being deleted"):
        await world.client.create(new_widget(world.namespace))


@pytest.mark.covers("T149")
async def test_a_deletion_can_ask_for_a_uid(world: World) -> None:
    await world.install(WIDGETS)
    widget = await world.client.create(new_widget(world.namespace))
    with pytest.raises(Conflict) as caught:
        await world.client.delete(widget, uid="11111111-1111-1111-1111-111111111111")
    assert str(caught.value).startswith(
        'Operation cannot be fulfilled on Widget.tests.pilotage.dev "one": the UID in the precondition '
        f"(11111111-1111-1111-1111-111111111111) does not match the UID in record ({widget.metadata.uid})."
    )
    await world.client.delete(widget, uid=widget.metadata.uid)


@pytest.mark.covers("T149")
async def test_a_deletion_can_ask_for_a_version(world: World) -> None:
    config_map = await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    with pytest.raises(Conflict, match="the ResourceVersion in the precondition"):
        await world.client.delete(config_map, resource_version="1")
    await world.client.delete(config_map, resource_version=config_map.metadata.resource_version)


@pytest.mark.covers("T137", "T149")
async def test_a_dry_run_deletes_nothing(world: World) -> None:
    await world.install(WIDGETS)
    widget = await world.client.create(new_widget(world.namespace))
    await world.client.delete(widget, dry_run=True)
    await world.client.dry_run().delete(widget)
    await world.client.dry_run().delete_all_of(Widget, namespace=world.namespace)
    assert await world.client.find(Widget, "one", namespace=world.namespace) == widget


async def test_foreground_deletion_waits_for_a_collector(world: World) -> None:
    await world.install(WIDGETS)
    widget = await world.client.create(new_widget(world.namespace))
    finalizers = ["tests.pilotage.dev/hold"]
    held = ConfigMap(metadata=ObjectMeta(name="held", namespace=world.namespace, finalizers=finalizers))
    set_owner_reference(widget, held, block_owner_deletion=True)
    await world.client.create(held)
    await world.client.delete(widget, propagation_policy="Foreground")
    found = await world.client.get(Widget, "one", namespace=world.namespace)
    assert found.metadata.finalizers == ["foregroundDeletion"]
    await world.client.delete(widget, propagation_policy="Background")
    assert await world.client.find(Widget, "one", namespace=world.namespace) is None


async def test_a_propagation_policy_must_exist(world: World) -> None:
    config_map = await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    with pytest.raises(Invalid, match='propagationPolicy: Unsupported value: "Sideways"'):
        await world.client.delete(config_map, propagation_policy="Sideways")


async def test_a_selection_is_deleted_in_one_call(world: World) -> None:
    await world.install(WIDGETS)
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        await world.client.create(new_widget(world.namespace, name, labels={"colour": colour}))
    await world.client.delete_all_of(Widget, namespace=world.namespace, labels={"colour": "red"})
    assert (await world.client.list(Widget, namespace=world.namespace)).names == ["b"]
    await world.client.delete_all_of(Widget, namespace=world.namespace, fields={"metadata.name": "nobody"})
    assert (await world.client.list(Widget, namespace=world.namespace)).names == ["b"]
    await world.client.delete_all_of(WIDGET, namespace=world.namespace)
    assert len(await world.client.list(Widget, namespace=world.namespace)) == 0


@pytest.mark.covers("T147")
async def test_a_collection_with_finalizers_stays_until_they_are_gone(world: World) -> None:
    await held_widget(world)
    await world.client.delete_all_of(Widget, namespace=world.namespace)
    found = await world.client.get(Widget, "one", namespace=world.namespace)
    assert found.metadata.deletion_timestamp is not None


async def test_one_namespace_is_emptied_and_not_the_next(world: World) -> None:
    other = await world.client.create(Namespace(metadata=ObjectMeta(name=f"{world.namespace}-b")))
    for namespace in (world.namespace, other.metadata.name):
        await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    await world.client.delete_all_of(ConfigMap, namespace=world.namespace)
    assert await world.client.find(ConfigMap, "a", namespace=world.namespace) is None
    assert await world.client.find(ConfigMap, "a", namespace=other.metadata.name) is not None


async def test_a_cluster_scoped_collection_needs_no_namespace(world: World) -> None:
    await world.install(PLANETS)
    labels = {"test": world.namespace}
    for name in ("a", "b"):
        await world.client.create(Planet(metadata=ObjectMeta(name=f"{name}-{world.namespace}", labels=labels)))
    await world.client.delete_all_of(Planet, labels=labels)
    assert len(await world.client.list(Planet, labels=labels)) == 0


async def test_a_system_namespace_stays(world: World) -> None:
    with pytest.raises(Forbidden) as caught:
        await world.client.delete(Namespace, "default")
    assert str(caught.value) == 'namespaces "default" is forbidden: this namespace may not be deleted'


async def test_nothing_is_created_in_a_terminating_namespace(world: World) -> None:
    name = f"{world.namespace}-going"
    await world.client.create(Namespace(metadata=ObjectMeta(name=name)))
    held = ConfigMap(metadata=ObjectMeta(name="held", namespace=name, finalizers=[FINALIZER]))
    await world.client.create(held)
    await world.client.delete(Namespace, name)
    with pytest.raises(Forbidden) as caught:
        await world.client.create(ConfigMap(metadata=ObjectMeta(name="late", namespace=name)))
    assert str(caught.value) == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {name} because it is being '
        "terminated"
    )
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [
        ("NamespaceTerminating", "metadata.namespace")
    ]
    namespace = await world.client.get(Namespace, name)
    assert namespace.status is not None
    assert namespace.status.phase == "Terminating"


async def test_a_collection_is_deleted_in_one_namespace_at_a_time(world: World) -> None:
    with pytest.raises(BadRequest, match="pass namespace="):
        await world.client.delete_all_of(ConfigMap)
