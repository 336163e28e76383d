"""Objects inside objects: whole ones as Unstructured, and kinds of which metadata and spec are written."""

from __future__ import annotations

import msgspec

from pilotage.meta import objects
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.openapi import openapi
from pilotage.types.core.v1 import PersistentVolumeClaim


class HolderSpec(Model):
    template: Unstructured | None = None
    claims: list[PersistentVolumeClaim] = []


@resource(group="g.io", version="v1")
class Holder(Resource):
    spec: HolderSpec


INNER = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "odd": 1}, "data": {"a": "b"}}


def test_a_whole_object_inside_is_written_and_read_as_it_stands() -> None:
    holder = Holder(metadata=ObjectMeta(name="h"), spec=HolderSpec(template=Unstructured(INNER)))
    again = objects.decode(Holder, objects.encode(holder))
    assert again.spec.template is not None
    assert again.spec.template.document == INNER
    assert again == holder


def test_a_change_of_an_object_inside_is_written() -> None:
    holder = objects.decode(Holder, objects.encode(Holder(spec=HolderSpec(template=Unstructured(INNER)))))
    assert holder.spec.template is not None
    holder.spec.template.metadata.labels["team"] = "red"
    written = msgspec.json.decode(objects.updated(holder))["spec"]["template"]
    assert written == INNER | {"metadata": {"name": "x", "odd": 1, "labels": {"team": "red"}}}


def test_the_schema_of_an_embedded_object_is_an_embedded_resource() -> None:
    template = openapi(Holder)["properties"]["spec"]["properties"]["template"]
    assert template == {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_a_kind_inside_another_is_an_object_with_metadata_of_its_own() -> None:
    claims = openapi(Holder)["properties"]["spec"]["properties"]["claims"]["items"]
    assert "x-kubernetes-embedded-resource" not in claims
    assert {"metadata", "spec", "status"} <= claims["properties"].keys()
    assert "labels" in claims["properties"]["metadata"]["properties"]
