"""The generated modules: they are what the generator writes, and agree with the schemas."""

from __future__ import annotations

import importlib
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pilotage.types
from pilotage.meta.markers import ListType, PatchMerge
from pilotage.meta.models import Model, ObjectMeta, Resource, shapes
from pilotage.meta.objects import decode, encode
from pilotage.types import builtin
from pilotage.types.apiextensions.v1 import JSONSchemaProps
from pilotage.types.core.v1 import Container, Pod, PodSpec, Secret, ServiceSpec
from pilotage.types.networking.v1 import IPBlock, NetworkPolicyIngressRule
from pilotage.types.resource.v1 import DeviceAttribute

GENERATOR = Path(__file__).resolve().parents[2] / "hack" / "generate_types.py"
TYPES = Path(pilotage.types.__file__).parent


def class_of(name: str) -> type[Model] | None:
    """The generated class of a definition, if there is one."""
    *_, package, version, kind = name.split(".")
    module = version if version == "version" else f"{package}.{version}"
    try:
        found = getattr(importlib.import_module(f"pilotage.types.{module}"), kind, None)
    except ModuleNotFoundError:
        return None
    return found if isinstance(found, type) and issubclass(found, Model) else None


CLASSES = {
    name: kind
    for name in builtin.definition_names()
    if (kind := class_of(name)) is not None and kind.__module__.startswith("pilotage.types.")
}


def test_generating_again_gives_the_committed_files_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, GENERATOR, "--into", tmp_path], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    old = {path.relative_to(TYPES) for path in (*TYPES.glob("*/v*.py"), *TYPES.glob("data/*"))}
    assert old <= made.keys()
    for path, text in made.items():
        assert (TYPES / path).read_bytes() == text, f"{path} is not what `make types` makes"


def test_every_definition_with_fields_has_a_class_unless_it_is_a_list() -> None:
    missing = {
        name
        for name in builtin.definition_names()
        if builtin.definition(name).get("properties") and class_of(name) is None and not name.endswith("List")
    }
    assert missing == set()


@pytest.mark.parametrize("name", ["apps.v1", "core.v1", "meta.v1", "rbac.v1", "resource.v1", "version"])
def test_a_module_exports_its_classes_in_order(name: str) -> None:
    module = importlib.import_module(f"pilotage.types.{name}")
    classes = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    assert module.__all__ == sorted(module.__all__)
    assert set(classes) <= set(module.__all__)


def test_a_class_has_the_fields_of_its_schema_under_their_wire_names() -> None:
    for name, kind in CLASSES.items():
        fields = {info.encode_name for info in msgspec.structs.fields(kind)}
        if issubclass(kind, Resource):
            fields |= {"apiVersion", "kind"}
        assert fields == builtin.definition(name)["properties"].keys(), name


def test_what_the_schema_requires_is_required_and_a_spec_that_must_hold_something_too() -> None:
    for name, kind in CLASSES.items():
        schema = builtin.definition(name)
        required = {info.encode_name for info in msgspec.structs.fields(kind) if info.required}
        assert required - {"spec"} == set(schema.get("required", ())) - {"spec", "metadata"}, name
    assert required_fields(Pod) == {"spec"}
    assert required_fields(PodSpec) == {"containers"}
    assert required_fields(Secret) == set()


def required_fields(kind: type[Model]) -> set[str]:
    return {info.name for info in msgspec.structs.fields(kind) if info.required}


def test_lists_carry_how_they_are_merged() -> None:
    for name, kind in CLASSES.items():
        known = shapes(kind)
        for wire, schema in builtin.definition(name)["properties"].items():
            if wire in known and schema.get("x-kubernetes-list-type") == "map":
                assert known[wire].keys == tuple(schema["x-kubernetes-list-map-keys"]), (name, wire)
            if wire in known and (strategy := schema.get("x-kubernetes-patch-strategy")):
                merge = PatchMerge(strategy, schema.get("x-kubernetes-patch-merge-key", ""))
                assert known[wire].merge == merge, (name, wire)
    ports = typing.get_type_hints(Container, include_extras=True)["ports"]
    assert ports.__metadata__ == (ListType("map", "containerPort", "protocol"), PatchMerge(key="containerPort"))


@pytest.mark.parametrize(
    ("kind", "attribute", "wire"),
    [
        (ServiceSpec, "cluster_ips", "clusterIPs"),
        (ServiceSpec, "external_traffic_policy", "externalTrafficPolicy"),
        (PodSpec, "host_ipc", "hostIPC"),
        (PodSpec, "set_hostname_as_fqdn", "setHostnameAsFQDN"),
        (NetworkPolicyIngressRule, "from_", "from"),
        (IPBlock, "except_", "except"),
        (JSONSchemaProps, "ref", "$ref"),
        (JSONSchemaProps, "not_", "not"),
        (JSONSchemaProps, "x_kubernetes_list_type", "x-kubernetes-list-type"),
        (DeviceAttribute, "bool_", "bool"),
    ],
)
def test_attributes_have_pythons_names_and_the_wire_keeps_its_own(kind: type[Model], attribute: str, wire: str) -> None:
    assert shapes(kind)[wire].attribute == attribute


def test_a_type_that_holds_itself_can_be_read() -> None:
    data = b'{"properties":{"a":{"items":{"type":"string"},"not":{"allOf":[{"type":"integer"}]}}},"maximum":9}'
    schema = msgspec.json.decode(data, type=JSONSchemaProps)
    inner = schema.properties["a"].not_
    assert inner is not None
    assert inner.all_of == [JSONSchemaProps(type="integer")]
    assert schema.properties["a"].items == {"type": "string"}


def test_bytes_stay_the_base64_text_of_the_wire() -> None:
    secret = decode(Secret, b'{"metadata":{"name":"a"},"data":{"password":"Y29ycmVjdCBob3JzZQ=="}}')
    assert secret.data == {"password": "Y29ycmVjdCBob3JzZQ=="}


def test_what_is_absent_is_not_written() -> None:
    pod = Pod(metadata=ObjectMeta(name="a"), spec=PodSpec(containers=[Container(name="b")]))
    written: Any = msgspec.json.decode(encode(pod))
    assert written == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "b"}]},
    }


def test_importing_core_loads_no_other_types_and_nothing_heavy() -> None:
    program = "import sys, pilotage.types.core.v1; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    loaded = ran.stdout.split()
    types = {name for name in loaded if name.startswith("pilotage.types.")}
    assert types == {"pilotage.types.core", "pilotage.types.core.v1", "pilotage.types.meta", "pilotage.types.meta.v1"}
    assert {"asyncio", "ssl", "yaml", "apsw", "re2"}.isdisjoint(loaded)
