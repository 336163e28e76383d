"""Patches of every kind, on every API server."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.client import merge_from, raw_patch, strategic_merge_from
from pilotage.errors import (
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    RequestTooLarge,
    UnsupportedMediaType,
)
from pilotage.meta.models import ObjectMeta
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.rest import PatchType
from pilotage.types.apps.v1 import Deployment
from pilotage.types.core.v1 import ConfigMap

from ..environments import Environment
from .kinds import WIDGET, WIDGETS, Part, Widget, WidgetStatus, new_widget, widget_document


async def test_a_mapping_is_a_merge_patch(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace, colour="red", tags=["a", "b"]))
    patched = await environment.client.patch(widget, {"spec": {"size": 3, "colour": None, "tags": ["c"]}})
    assert patched is widget
    assert (widget.spec.size, widget.spec.colour, widget.spec.tags) == (3, None, ["c"])
    assert widget.metadata.generation == 2


async def test_a_list_is_a_json_patch(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace, tags=["a"]))
    await environment.client.patch(
        widget,
        [
            {"op": "test", "path": "/spec/size", "value": 1},
            {"op": "replace", "path": "/spec/size", "value": 4},
            {"op": "add", "path": "/spec/tags/-", "value": "b"},
        ],
    )
    assert (widget.spec.size, widget.spec.tags) == (4, ["a", "b"])


async def test_an_object_can_be_patched_by_its_name(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    patched = await environment.client.patch(Widget, {"spec": {"size": 2}}, name="one", namespace=environment.namespace)
    assert patched.spec.size == 2
    document = await environment.client.patch(
        WIDGET, {"status": {"phase": "Up"}}, name="one", namespace=environment.namespace, subresource="status"
    )
    assert document["status"] == {"phase": "Up"}
    partial = await environment.client.patch(
        metadata_only(WIDGET), {"metadata": {"labels": {"a": "b"}}}, name="one", namespace=environment.namespace
    )
    assert partial.metadata.labels == {"a": "b"}


@pytest.mark.covers("T140")
async def test_merge_from_sends_what_has_changed(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace, colour="red"))
    other = await environment.client.get(Widget, "one", namespace=environment.namespace)
    patch = merge_from(widget)
    widget.spec.size = 5
    widget.metadata.labels["a"] = "b"
    other.spec.colour = "blue"
    await environment.client.update(other)
    await environment.client.patch(widget, patch)
    assert (widget.spec.size, widget.spec.colour, widget.metadata.labels) == (5, "blue", {"a": "b"})


async def test_merge_from_loses_nothing_in_lists(environment: Environment) -> None:
    await environment.install(WIDGETS)
    parts = [{"name": "a", "weight": 3}, {"name": "b", "weight": 5}]
    await environment.client.create(widget_document(environment.namespace, parts=parts, note="keep me"))
    widget = await environment.client.get(Widget, "one", namespace=environment.namespace)
    patch = merge_from(widget)
    widget.spec.parts.insert(0, Part(name="new"))
    await environment.client.patch(widget, patch)
    document = await environment.client.get(WIDGET, "one", namespace=environment.namespace)
    assert document["spec"]["parts"] == [{"name": "new"}, *parts]
    assert document["spec"]["note"] == "keep me"


@pytest.mark.covers("T140")
async def test_merge_from_with_a_lock_is_a_conflict_when_others_wrote(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    patch = merge_from(widget, optimistic_lock=True)
    await environment.client.patch(Widget, {"spec": {"colour": "red"}}, name="one", namespace=environment.namespace)
    widget.spec.size = 2
    with pytest.raises(Conflict, match="the object has been modified"):
        await environment.client.patch(widget, patch)


async def test_merge_from_works_on_documents_and_on_the_status(environment: Environment) -> None:
    await environment.install(WIDGETS)
    document = await environment.client.create(widget_document(environment.namespace))
    patch = merge_from(document)
    document["spec"]["note"] = "hello"
    await environment.client.patch(document, patch)
    assert document["spec"]["note"] == "hello"
    widget = await environment.client.get(Widget, "one", namespace=environment.namespace)
    patch = merge_from(widget)
    widget.status = WidgetStatus(phase="Up")
    await environment.client.patch_status(widget, patch)
    assert widget.status == WidgetStatus(phase="Up")


async def test_a_status_is_patched_without_the_object(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(widget_document(environment.namespace))
    patched = await environment.client.patch_status(
        Widget, {"status": {"phase": "Up"}, "spec": {"size": 7}}, name="one", namespace=environment.namespace
    )
    assert patched.status == WidgetStatus(phase="Up")
    assert patched.spec.size != 7
    again = pt.Request("one", environment.namespace)
    patched = await environment.client.patch_status(Widget, {"status": {"phase": "Down"}}, name=again)
    assert patched.status == WidgetStatus(phase="Down")


async def test_a_strategic_patch_merges_lists_by_their_key(environment: Environment) -> None:
    deployment = await environment.client.create(_deployment(environment.namespace))
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    await environment.client.patch(deployment, raw_patch(PatchType.STRATEGIC, patch))
    containers = deployment["spec"]["template"]["spec"]["containers"]
    assert [(one["name"], one["image"]) for one in containers] == [("side", "busybox"), ("main", "nginx")]


@pytest.mark.covers("T140")
async def test_strategic_merge_from_changes_one_item_of_a_list(environment: Environment) -> None:
    await environment.client.create(_deployment(environment.namespace))
    deployment = await environment.client.get(Deployment, "web", namespace=environment.namespace)
    patch = strategic_merge_from(deployment)
    assert deployment.spec is not None
    assert deployment.spec.template.spec is not None
    deployment.spec.template.spec.containers[0].image = "nginx:2"
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    await environment.client.patch(
        Deployment, raw_patch(PatchType.STRATEGIC, side), name="web", namespace=environment.namespace
    )
    await environment.client.patch(deployment, patch)
    images = {one.name: one.image for one in deployment.spec.template.spec.containers}
    assert images == {"main": "nginx:2", "side": "busybox"}


async def test_custom_objects_know_no_strategic_patch(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(UnsupportedMediaType) as caught:
        await environment.client.patch(widget, raw_patch(PatchType.STRATEGIC, {"spec": {"size": 2}}))
    assert "application/merge-patch+json" in str(caught.value)


async def test_a_patch_of_nothing_is_not_found(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(NotFound) as caught:
        await environment.client.patch(Widget, {}, name="nobody", namespace=environment.namespace)
    assert (caught.value.kind, caught.value.name) == ("Widget", "nobody")


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/size", "value": 9},
        {"op": "remove", "path": "/spec/nothing"},
        {"op": "add", "path": "/spec/no/where", "value": 1},
        {"op": "remove", "path": "spec"},
        {"op": "frob", "path": "/spec"},
    ],
)
async def test_a_json_patch_that_does_not_apply_is_invalid(
    environment: Environment, operation: dict[str, object]
) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(Invalid):
        await environment.client.patch(widget, [operation])
    assert widget.metadata.generation == 1


@pytest.mark.parametrize(
    ("patch_type", "data"),
    [
        (PatchType.JSON, b"[{"),
        (PatchType.JSON, b'{"op": "test"}'),
        (PatchType.MERGE, b"{"),
        (PatchType.MERGE, b"[]"),
        (PatchType.MERGE, b"null"),
        (PatchType.MERGE, b'"text"'),
        (PatchType.MERGE, b""),
    ],
)
async def test_a_patch_that_is_none_is_a_bad_request(
    environment: Environment, patch_type: PatchType, data: bytes
) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(BadRequest):
        await environment.client.patch(widget, raw_patch(patch_type, data))


async def test_a_json_patch_has_a_bounded_number_of_operations(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(RequestTooLarge, match="10000, got 10001"):
        await environment.client.patch(widget, [{"op": "test", "path": "/spec/size", "value": 1}] * 10001)


async def test_a_patch_cannot_change_who_the_object_is(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(BadRequest) as caught:
        await environment.client.patch(widget, {"metadata": {"name": "two"}})
    assert str(caught.value) == "the name of the object (two) does not match the name on the URL (one)"
    with pytest.raises(BadRequest, match="namespace of the provided object does not match"):
        await environment.client.patch(widget, {"metadata": {"namespace": "other"}})
    with pytest.raises(Invalid, match=r"metadata\.uid: .*field is immutable"):
        await environment.client.patch(widget, {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}})
    with pytest.raises(Invalid, match='kind: Invalid value: "Other": must be Widget'):
        await environment.client.patch(widget, {"kind": "Other"})


async def test_a_patch_is_validated_like_an_update(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    with pytest.raises(Invalid) as caught:
        await environment.client.patch(widget, {"spec": {"size": 10}})
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueInvalid", "spec.size")]
    assert widget.spec.size == 1


async def test_a_default_comes_back_when_its_field_is_removed(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace, mode="slow"))
    await environment.client.patch(widget, {"spec": {"mode": None}})
    assert widget.spec.mode == "fast"


async def test_unknown_fields_in_a_patch_are_pruned_or_invalid(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.patch(widget, {"spec": {"nonsense": 1}})
    assert environment.warnings == ['unknown field "spec.nonsense"']
    with pytest.raises(Invalid, match=r'strict decoding error: unknown field \\?"spec\.nonsense'):
        await environment.client.patch(widget, {"spec": {"nonsense": 1}}, field_validation="Strict")


@pytest.mark.covers("T145")
async def test_a_version_in_a_patch_is_a_condition(environment: Environment) -> None:
    config_map = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    )
    with pytest.raises(Conflict):
        await environment.client.patch(config_map, {"metadata": {"resourceVersion": "1"}, "data": {"a": "b"}})
    version = config_map.metadata.resource_version
    await environment.client.patch(config_map, {"metadata": {"resourceVersion": version}, "data": {"a": "b"}})
    assert config_map.data == {"a": "b"}


@pytest.mark.covers("T137")
async def test_a_dry_run_of_a_patch_stores_nothing(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.patch(widget, {"spec": {"size": 2}}, dry_run=True)
    assert widget.spec.size == 2
    assert (await environment.client.get(Widget, "one", namespace=environment.namespace)).spec.size == 1


@pytest.mark.covers("T133")
async def test_apply_sets_fields_and_owns_them(environment: Environment) -> None:
    await environment.install(WIDGETS)
    applied = await environment.client.apply(widget_document(environment.namespace, note="mine"), field_owner="me")
    assert applied.metadata.generation == 1
    applied["spec"]["note"] = "still mine"
    await environment.client.apply(applied, field_owner="me")
    with pytest.raises(Conflict) as caught:
        await environment.client.apply(widget_document(environment.namespace, note="no, mine"), field_owner="you")
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldManagerConflict", ".spec.note")]
    forced = await environment.client.apply(
        widget_document(environment.namespace, note="ours"), field_owner="you", force=True
    )
    assert forced["spec"]["note"] == "ours"
    await environment.client.create(widget_document(environment.namespace, "made", size=2))
    taken = await environment.client.apply(
        widget_document(environment.namespace, "made", size=2, note="x"), field_owner="me"
    )
    assert taken["spec"]["note"] == "x"


async def test_typed_objects_can_be_applied_and_their_status_apart(environment: Environment) -> None:
    await environment.install(WIDGETS)
    client = environment.client.with_field_owner("me")
    applied = await client.apply(new_widget(environment.namespace))
    assert [(entry.manager, entry.operation) for entry in applied.metadata.managed_fields] == [("me", "Apply")]
    again = await client.apply(new_widget(environment.namespace))
    assert again.metadata.resource_version == applied.metadata.resource_version
    document = widget_document(environment.namespace)
    document.document["status"] = {"phase": "Ready"}
    await client.apply(document, subresource="status")
    found = await client.get(Widget, "one", namespace=environment.namespace)
    assert [entry.subresource for entry in found.metadata.managed_fields] == ["", "status"]


def _deployment(namespace: str) -> Unstructured:
    return Unstructured(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
                },
            },
        }
    )
