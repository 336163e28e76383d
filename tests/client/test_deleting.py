"""Deletion, finalizers and preconditions, on every API server."""

from __future__ import annotations

import pytest

from pilotage.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import set_owner_reference
from pilotage.meta.unstructured import metadata_only
from pilotage.types.core.v1 import ConfigMap, Namespace

from ..environments import Environment
from .kinds import PLANETS, WIDGET, WIDGETS, Planet, Widget, new_widget

FINALIZER = "tests.pilotage.dev/hold"


async def held_widget(environment: Environment) -> Widget:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    widget.metadata.finalizers = [FINALIZER]
    return await environment.client.create(widget)


@pytest.mark.covers("T127")
async def test_what_is_deleted_is_gone(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.delete(widget)
    assert await environment.client.find(Widget, "one", namespace=environment.namespace) is None
    with pytest.raises(NotFound) as caught:
        await environment.client.delete(widget)
    error = caught.value
    assert (error.group, error.kind, error.namespace, error.name) == (
        WIDGET.group,
        "Widget",
        environment.namespace,
        "one",
    )


@pytest.mark.parametrize("kind", [ConfigMap, metadata_only(ConfigMap)])
async def test_an_object_is_deleted_by_its_name(environment: Environment, kind: type[ConfigMap]) -> None:
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    await environment.client.delete(kind, "a", namespace=environment.namespace)
    assert await environment.client.find(ConfigMap, "a", namespace=environment.namespace) is None


async def test_a_name_can_be_used_again(environment: Environment) -> None:
    await environment.install(WIDGETS)
    first = await environment.client.create(new_widget(environment.namespace))
    await environment.client.delete(first)
    second = await environment.client.create(new_widget(environment.namespace))
    assert second.metadata.uid != first.metadata.uid
    assert second.metadata.generation == 1


@pytest.mark.covers("T147")
async def test_a_finalizer_holds_a_deleted_object(environment: Environment) -> None:
    widget = await held_widget(environment)
    await environment.client.delete(widget)
    found = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert found.metadata.deletion_timestamp is not None
    assert found.metadata.deletion_grace_period_seconds == 0
    assert found.metadata.generation == 2
    await environment.client.delete(widget)
    again = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert again.metadata.resource_version == found.metadata.resource_version


@pytest.mark.covers("T147")
async def test_the_last_finalizer_lets_it_go(environment: Environment) -> None:
    widget = await held_widget(environment)
    await environment.client.delete(widget)
    found = await environment.client.get(Widget, "one", namespace=environment.namespace)
    version = found.metadata.resource_version
    found.metadata.finalizers.clear()
    await environment.client.update(found)
    assert (found.metadata.finalizers, found.metadata.resource_version) == ([], version)
    assert await environment.client.find(Widget, "one", namespace=environment.namespace) is None


@pytest.mark.covers("T147")
async def test_one_of_two_finalizers_is_not_the_last(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = new_widget(environment.namespace)
    widget.metadata.finalizers = [FINALIZER, "tests.pilotage.dev/other"]
    await environment.client.create(widget)
    await environment.client.delete(widget)
    await environment.client.patch(widget, {"metadata": {"finalizers": [FINALIZER]}})
    assert await environment.client.find(Widget, "one", namespace=environment.namespace) is not None
    await environment.client.patch(widget, {"metadata": {"finalizers": None}})
    assert await environment.client.find(Widget, "one", namespace=environment.namespace) is None


@pytest.mark.covers("T147")
async def test_no_finalizer_is_added_to_a_terminating_object(environment: Environment) -> None:
    widget = await held_widget(environment)
    await environment.client.delete(widget)
    with pytest.raises(Invalid) as caught:
        await environment.client.patch(widget, {"metadata": {"finalizers": [FINALIZER, "tests.pilotage.dev/late"]}})
    assert {(cause.reason, cause.field) for cause in caught.value.causes} == {
        ("FieldValueForbidden", "metadata.finalizers")  # the real server says it twice
    }
    assert "no new finalizers can be added if the object is being deleted" in str(caught.value)


async def test_a_terminating_object_can_still_be_changed(environment: Environment) -> None:
    widget = await held_widget(environment)
    await environment.client.delete(widget)
    await environment.client.patch(widget, {"spec": {"size": 2}})
    assert (widget.spec.size, widget.metadata.generation) == (2, 3)


async def test_a_terminating_object_still_has_its_name(environment: Environment) -> None:
    widget = await held_widget(environment)
    await environment.client.delete(widget)
    with pytest.raises(AlreadyExists, match="object is being deleted"):
        await environment.client.create(new_widget(environment.namespace))


@pytest.mark.covers("T149")
async def test_a_deletion_can_ask_for_a_uid(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(Conflict) as caught:
        await environment.client.delete(widget, uid="11111111-1111-1111-1111-111111111111")
    assert str(caught.value).startswith(
        'Operation cannot be fulfilled on Widget.tests.pilotage.dev "one": the UID in the precondition '
        f"(11111111-1111-1111-1111-111111111111) does not match the UID in record ({widget.metadata.uid})."
    )
    await environment.client.delete(widget, uid=widget.metadata.uid)


@pytest.mark.covers("T149")
async def test_a_deletion_can_ask_for_a_version(environment: Environment) -> None:
    config_map = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    )
    with pytest.raises(Conflict, match="the ResourceVersion in the precondition"):
        await environment.client.delete(config_map, resource_version="1")
    await environment.client.delete(config_map, resource_version=config_map.metadata.resource_version)


@pytest.mark.covers("T137", "T149")
async def test_a_dry_run_deletes_nothing(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.delete(widget, dry_run=True)
    await environment.client.dry_run().delete(widget)
    await environment.client.dry_run().delete_all_of(Widget, namespace=environment.namespace)
    assert await environment.client.find(Widget, "one", namespace=environment.namespace) == widget


async def test_foreground_deletion_waits_for_a_collector(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    finalizers = ["tests.pilotage.dev/hold"]
    held = ConfigMap(metadata=ObjectMeta(name="held", namespace=environment.namespace, finalizers=finalizers))
    set_owner_reference(widget, held, block_owner_deletion=True)
    await environment.client.create(held)
    await environment.client.delete(widget, propagation_policy="Foreground")
    found = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert found.metadata.finalizers == ["foregroundDeletion"]
    await environment.client.delete(widget, propagation_policy="Background")
    assert await environment.client.find(Widget, "one", namespace=environment.namespace) is None


async def test_a_propagation_policy_must_exist(environment: Environment) -> None:
    config_map = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    )
    with pytest.raises(Invalid, match='propagationPolicy: Unsupported value: "Sideways"'):
        await environment.client.delete(config_map, propagation_policy="Sideways")


async def test_a_selection_is_deleted_in_one_call(environment: Environment) -> None:
    await environment.install(WIDGETS)
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        await environment.client.create(new_widget(environment.namespace, name, labels={"colour": colour}))
    await environment.client.delete_all_of(Widget, namespace=environment.namespace, labels={"colour": "red"})
    assert (await environment.client.list(Widget, namespace=environment.namespace)).names == ["b"]
    await environment.client.delete_all_of(Widget, namespace=environment.namespace, fields={"metadata.name": "nobody"})
    assert (await environment.client.list(Widget, namespace=environment.namespace)).names == ["b"]
    await environment.client.delete_all_of(WIDGET, namespace=environment.namespace)
    assert len(await environment.client.list(Widget, namespace=environment.namespace)) == 0


@pytest.mark.covers("T147")
async def test_a_collection_with_finalizers_stays_until_they_are_gone(environment: Environment) -> None:
    await held_widget(environment)
    await environment.client.delete_all_of(Widget, namespace=environment.namespace)
    found = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert found.metadata.deletion_timestamp is not None


async def test_one_namespace_is_emptied_and_not_the_next(environment: Environment) -> None:
    other = await environment.client.create(Namespace(metadata=ObjectMeta(name=f"{environment.namespace}-b")))
    for namespace in (environment.namespace, other.metadata.name):
        await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    await environment.client.delete_all_of(ConfigMap, namespace=environment.namespace)
    assert await environment.client.find(ConfigMap, "a", namespace=environment.namespace) is None
    assert await environment.client.find(ConfigMap, "a", namespace=other.metadata.name) is not None


async def test_a_cluster_scoped_collection_needs_no_namespace(environment: Environment) -> None:
    await environment.install(PLANETS)
    labels = {"test": environment.namespace}
    for name in ("a", "b"):
        await environment.client.create(
            Planet(metadata=ObjectMeta(name=f"{name}-{environment.namespace}", labels=labels))
        )
    await environment.client.delete_all_of(Planet, labels=labels)
    assert len(await environment.client.list(Planet, labels=labels)) == 0


async def test_a_system_namespace_stays(environment: Environment) -> None:
    with pytest.raises(Forbidden) as caught:
        await environment.client.delete(Namespace, "default")
    assert str(caught.value) == 'namespaces "default" is forbidden: this namespace may not be deleted'


async def test_nothing_is_created_in_a_terminating_namespace(environment: Environment) -> None:
    name = f"{environment.namespace}-going"
    await environment.client.create(Namespace(metadata=ObjectMeta(name=name)))
    held = ConfigMap(metadata=ObjectMeta(name="held", namespace=name, finalizers=[FINALIZER]))
    await environment.client.create(held)
    await environment.client.delete(Namespace, name)
    with pytest.raises(Forbidden) as caught:
        await environment.client.create(ConfigMap(metadata=ObjectMeta(name="late", namespace=name)))
    assert str(caught.value) == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {name} because it is being '
        "terminated"
    )
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [
        ("NamespaceTerminating", "metadata.namespace")
    ]
    namespace = await environment.client.get(Namespace, name)
    assert namespace.status is not None
    assert namespace.status.phase == "Terminating"


async def test_a_collection_is_deleted_in_one_namespace_at_a_time(environment: Environment) -> None:
    with pytest.raises(BadRequest, match="pass namespace="):
        await environment.client.delete_all_of(ConfigMap)
