"""Types of Kubernetes in definitions are imported, from whatever version of Kubernetes the definition was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pilotage.schema.generate.builtin import embedded_schema
from pilotage.schema.source.builtin import QUANTITY
from pilotage.schema.source.module import module_of, versions_of
from pilotage.types.core import v1 as core_v1
from pilotage.types.meta.v1 import Condition, LabelSelector

from .loading import lost
from .test_module import definition

INT32 = {"type": "integer", "format": "int32"}


def schema_of(cls: type) -> dict[str, Any]:
    found = embedded_schema(cls)
    assert found is not None
    return found


def described(schema: Any) -> Any:
    """As published: each part has a description, and quantities have controller-gen's pattern."""
    if not isinstance(schema, dict):
        return schema
    found = {key: described(value) for key, value in schema.items() if key not in ("properties", "default")}
    found |= {key: schema[key] for key in ("default",) if key in schema}
    if "properties" in schema:
        found["properties"] = {name: described(value) for name, value in schema["properties"].items()}
    if "x-kubernetes-int-or-string" in schema and "pattern" in schema:
        found["pattern"] = QUANTITY
    return found | ({"description": "What it\nis for."} if "type" in schema else {})


def made(**properties: dict[str, Any]) -> tuple[dict[str, Any], str]:
    document = definition({"type": "object", "properties": properties})
    return document, module_of(versions_of(document), "Text.")


def test_a_template_of_pods_is_imported(tmp_path: Path) -> None:
    template = described(schema_of(core_v1.PodTemplateSpec))
    document, text = made(template={**template, "description": "The pods."})
    assert "from pilotage.types.core import v1 as core_v1\n" in text
    assert '    template: core_v1.PodTemplateSpec | None = None\n    """The pods."""\n' in text
    assert len(text.splitlines()) < 20
    assert lost([document], tmp_path) == []


def test_a_template_of_an_older_version_is_imported_without_what_it_lacks(tmp_path: Path) -> None:
    template = schema_of(core_v1.PodTemplateSpec)
    template["properties"]["metadata"] = {"type": "object"}
    containers = template["properties"]["spec"]["properties"]["containers"]["items"]
    del containers["properties"]["restartPolicyRules"]
    document, text = made(template=described(template), mainContainer=containers)
    without = 'pt.markers.Without("metadata.*", "spec.containers[].restartPolicyRules")'
    flat = " ".join(text.split()).replace("Annotated[ core", "Annotated[core").replace(", ] = None", "] = None")
    assert f"template: Annotated[core_v1.PodTemplateSpec | None, {without}] = None" in flat
    without = 'pt.markers.Without("restartPolicyRules")'
    assert f"main_container: Annotated[core_v1.Container | None, {without}] = None" in flat
    assert text.count("class ") == 2
    assert lost([document], tmp_path) == []


def test_of_a_template_of_a_newer_version_all_types_that_stayed_are_imported(tmp_path: Path) -> None:
    template = schema_of(core_v1.PodTemplateSpec)
    template["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["mood"] = {"type": "string"}
    document, text = made(template=template)
    assert "class ThingSpecTemplateSpecContainers(pt.Model):" in text
    assert "init_containers: Annotated[list[core_v1.Container]" in text
    assert "affinity: core_v1.Affinity | None = None" in text
    assert text.count("class ") == 5  # the kind, its spec, the template, the spec and the containers of that
    assert lost([document], tmp_path) == []


def test_an_object_with_a_part_of_a_built_in_type_has_a_class_of_its_own(tmp_path: Path) -> None:
    spec = schema_of(core_v1.PodSpec)
    few = dict(list(spec["properties"].items())[:8])
    document, text = made(pod={"type": "object", "properties": few})
    assert "pod: ThingSpecPod | None" in text
    assert lost([document], tmp_path) == []


def test_types_that_look_the_same_are_told_apart_by_the_name_of_the_field(tmp_path: Path) -> None:
    selector = schema_of(core_v1.SecretKeySelector)
    document, text = made(passwordSecretRef=selector, configMapRef=selector, other=selector)
    assert "password_secret_ref: core_v1.SecretKeySelector | None" in text
    assert "config_map_ref: core_v1.ConfigMapKeySelector | None" in text
    assert "other: ThingSpecOther | None" in text
    assert lost([document], tmp_path) == []


def test_a_small_type_that_only_looks_like_one_of_kubernetes_has_a_class_of_its_own(tmp_path: Path) -> None:
    text = {"type": "string"}
    pair = {"type": "object", "required": ["name", "value"], "properties": {"name": text, "value": text}}
    document, source = made(answer=pair, httpHeaders={"type": "array", "items": pair})
    assert "answer: ThingSpecAnswer | None" in source
    assert "http_headers: list[core_v1.HTTPHeader] = []" in source
    assert lost([document], tmp_path) == []


def test_the_spec_and_the_status_of_a_kind_are_not_those_of_a_built_in_kind_with_few_fields(tmp_path: Path) -> None:
    conditions = {"type": "array", "items": schema_of(Condition), "x-kubernetes-list-type": "map"}
    status = {"type": "object", "properties": {"conditions": conditions | {"x-kubernetes-list-map-keys": ["type"]}}}
    scale = {
        "type": "object",
        "required": ["replicas"],
        "properties": {"replicas": INT32, "selector": {"type": "string"}},
    }
    document = definition(
        {"type": "object", "properties": {"size": {"type": "object", "properties": {"status": scale}}}}
    )
    document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    text = module_of(versions_of(document), "Text.")
    assert "status: ThingStatus | None = None" in text
    assert "pilotage.types" not in text
    assert lost([document], tmp_path) == []


def test_an_atomic_type_is_certain_and_keeps_its_default_and_text(tmp_path: Path) -> None:
    selector = schema_of(LabelSelector) | {"default": {}, "description": "Which."}
    document, text = made(which=selector)
    assert "from pilotage.types.meta import v1 as meta_v1\n" in text
    assert "which: Annotated[meta_v1.LabelSelector | None, pt.Default({})] = None" in text
    assert lost([document], tmp_path) == []


def test_a_field_with_the_name_of_an_import_does_not_hide_it(tmp_path: Path) -> None:
    document, text = made(coreV1={"type": "string"}, which=schema_of(core_v1.Affinity))
    assert "which: core_v1.Affinity | None" in text
    assert lost([document], tmp_path) == []
