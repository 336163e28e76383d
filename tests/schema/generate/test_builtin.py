"""Built-in types inside of custom resources have the schemas that controller-gen makes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import pilotage as pt
from pilotage.errors import InvalidDefinition
from pilotage.meta.models import Condition, Model, ObjectMeta, OwnerReference
from pilotage.schema.generate import known
from pilotage.schema.generate.builtin import embedded_schema, remove_field
from pilotage.schema.generate.openapi import openapi
from pilotage.types.apiextensions.v1 import JSONSchemaProps
from pilotage.types.core import v1 as core_v1
from pilotage.types.meta.v1 import LabelSelector


class Parts(pt.Model):
    selector: LabelSelector
    secret: core_v1.SecretKeySelector
    pod: core_v1.PodTemplateSpec
    disk: core_v1.AzureDiskVolumeSource
    owner: OwnerReference
    claims: list[core_v1.PersistentVolumeClaim] = []


def part(*steps: str) -> Any:
    found: Any = openapi(Parts)
    for step in steps:
        found = found["items"] if step == "[]" else found["properties"][step]
    return found


@pytest.mark.parametrize("path", ["selector", "secret", "owner", "pod.spec.containers.[].envFrom.[].secretRef"])
def test_structures_that_go_declares_atomic_are_atomic(path: str) -> None:
    assert part(*path.split("."))["x-kubernetes-map-type"] == "atomic"


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("secret.name", ""),
        ("pod.spec.imagePullSecrets.[].name", ""),
        ("pod.spec.containers.[].ports.[].protocol", "TCP"),
        ("pod.spec.containers.[].livenessProbe.grpc.service", ""),
        ("disk.fsType", "ext4"),
        ("disk.readOnly", False),
    ],
)
def test_defaults_that_go_declares_are_defaults(path: str, default: object) -> None:
    assert part(*path.split("."))["default"] == default


@pytest.mark.parametrize(
    "path", ["secret.key", "pod.spec", "disk.kind", "pod.spec.containers.[].ports.[].containerPort"]
)
def test_zero_values_and_constants_of_go_are_no_defaults(path: str) -> None:
    assert "default" not in part(*path.split("."))


def test_integers_have_the_format_of_go() -> None:
    assert part("pod", "spec", "terminationGracePeriodSeconds")["format"] == "int64"
    assert part("pod", "spec", "priority")["format"] == "int32"


def test_an_object_inside_of_another_has_no_kind_and_the_metadata_of_templates() -> None:
    claim = part("claims", "[]")
    assert set(claim["properties"]) == {"metadata", "spec", "status"}
    assert claim["properties"]["metadata"] == known.object_metadata()
    assert part("pod", "metadata") == known.object_metadata()


@pytest.mark.parametrize("cls", [Parts, Model, JSONSchemaProps])
def test_other_classes_and_those_that_contain_themselves_have_no_such_schema(cls: type) -> None:
    assert embedded_schema(cls) is None


@pytest.mark.parametrize(("cls", "schema"), [(ObjectMeta, known.object_metadata()), (Condition, known.condition())])
def test_metadata_and_conditions_keep_the_schemas_of_crds(cls: type, schema: dict[str, Any]) -> None:
    assert embedded_schema(cls) == schema


def test_a_schema_is_the_callers_own() -> None:
    first = embedded_schema(core_v1.PodSpec)
    assert first is not None
    first["properties"].clear()
    again = embedded_schema(core_v1.PodSpec)
    assert again is not None
    assert again["properties"]


def test_fields_that_a_schema_shall_not_have_are_left_out_with_their_requirement() -> None:
    class Part(pt.Model):
        pods: list[
            Annotated[
                core_v1.PodTemplateSpec, pt.markers.Without("metadata.*", "spec.containers", "spec.volumes[].csi")
            ]
        ]

    pod = openapi(Part)["properties"]["pods"]["items"]["properties"]
    assert pod["metadata"] == {"type": "object"}
    assert "containers" not in pod["spec"]["properties"]
    assert "required" not in pod["spec"]
    assert "csi" not in pod["spec"]["properties"]["volumes"]["items"]["properties"]


class Wrong(pt.Model):
    pod: Annotated[core_v1.PodTemplateSpec, pt.markers.Without("spec.nothing")]


def test_a_path_of_no_field_is_an_error_that_names_it() -> None:
    with pytest.raises(InvalidDefinition, match=r"Wrong.pod: Without\('spec.nothing'\) is no path of a field"):
        openapi(Wrong)


@pytest.mark.parametrize("path", ["nothing", "spec.nothing", "spec.nodeName.x", "spec[].containers", "spec.nodeName.*"])
def test_a_field_that_is_not_there_cannot_be_left_out(path: str) -> None:
    schema = embedded_schema(core_v1.PodTemplateSpec)
    assert schema is not None
    assert not remove_field(schema, path)
    assert schema == embedded_schema(core_v1.PodTemplateSpec)
