"""A module that is made from a definition gives the same definition."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pilotage.meta.objects import decode, encode
from pilotage.meta.text import yamltext
from pilotage.schema.definition import definition_causes
from pilotage.schema.generate.crd import crds
from pilotage.schema.source.module import module_of, versions_of

from .. import golden_files
from .loading import loaded, lost, resources

Schema = dict[str, Any]


def definition(spec: Schema, **version: Any) -> dict[str, Any]:
    """A definition of a kind with this schema of its spec."""
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}} | version
            ],
        },
    }


def source(spec: Schema, **version: Any) -> str:
    """The lines of the class of the spec, and what is above them."""
    return module_of(versions_of(definition(spec, **version)), "Text.")


@pytest.mark.parametrize("name", ["backups", "database", "widgets", "workloads"])
def test_the_golden_definitions_are_the_same_afterwards(name: str, tmp_path: Path) -> None:
    definitions = yamltext.read_all((golden_files.FOLDER / f"{name}.yaml").read_text())
    versions = [version for each in definitions for version in versions_of(each)]
    with loaded(module_of(versions, "Text."), tmp_path) as module:
        assert [each["spec"] for each in crds(resources(module))] == [each["spec"] for each in definitions]


TEXT = {"type": "string"}
FIELDS: dict[str, tuple[Schema, str]] = {
    "name": (TEXT, "name: str | None = None"),
    "podCIDR": (TEXT, 'pod_cidr: str | None = pt.meta.json_name("podCIDR", default=None)'),
    "from": (TEXT, "from_: str | None = None"),
    "list": ({"type": "array", "items": TEXT}, "list_: list[str] = []"),
    "x-odd.name": (
        TEXT | {"default": "a"},
        'x_odd_name: str = pt.meta.json_name("x-odd.name", default="a")',
    ),
    "$ref": (TEXT, 'ref: str | None = pt.meta.json_name("$ref", default=None)'),
    "ref": (TEXT, 'ref_2: str | None = pt.meta.json_name("ref", default=None)'),
    "9lives": (TEXT, 'field_9lives: str | None = pt.meta.json_name("9lives", default=None)'),
    "port": (
        {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9, "exclusiveMaximum": True},
        "port: Annotated[Int32 | None, pt.Minimum(1), pt.Maximum(9, exclusive=True)] = None",
    ),
    "size": ({"type": "integer"}, "size: Integer | None = None"),
    "ratio": ({"type": "number", "default": 0.5}, "ratio: Number = 0.5"),
    "when": (TEXT | {"format": "date-time"}, "when: pt.Time | None = None"),
    "data": (TEXT | {"format": "byte"}, "data: bytes | None = None"),
    "mode": (TEXT | {"enum": ["a", "b"], "default": "a"}, 'mode: Literal["a", "b"] = "a"'),
    "maybe": (
        TEXT | {"enum": ["a", None], "nullable": True},
        'maybe: Annotated[Literal["a"] | None, pt.Enum("a", None), pt.markers.Nullable()] = None',
    ),
    "target": (
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "target: int | str | None = None",
    ),
    "extra": ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "extra: dict[str, Any] = {}"),
    "object": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True},
        "object: pt.Unstructured | None = None",
    ),
    "values": (
        {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
        "values: dict[str, Annotated[Any, pt.markers.PreserveUnknownFields()]] = {}",
    ),
    "anything": ({"x-kubernetes-preserve-unknown-fields": True}, "anything: Any = None"),
    "labels": (
        {"type": "object", "additionalProperties": TEXT | {"maxLength": 3}},
        "labels: dict[str, Annotated[str, pt.MaxLength(3)]] = {}",
    ),
    "names": (
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set", "default": ["a"]},
        'names: Annotated[list[str], pt.markers.ListType("set")] = ["a"]',
    ),
    "none": ({"type": "array", "items": TEXT, "default": []}, "none: Annotated[list[str], pt.Default([])] = []"),
    "nulls": (
        {"type": "array", "items": TEXT | {"nullable": True}, "nullable": True},
        "nulls: Annotated[list[str | None] | None, pt.markers.Nullable()] = None",
    ),
    "inner": (
        {"type": "object", "properties": {"a": TEXT}, "default": {}},
        "inner: Annotated[ThingSpecInner, pt.Default({})] = ThingSpecInner()",
    ),
    "choice": (
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "choice: ThingSpecChoice | None = None",
    ),
    "ruled": (
        TEXT | {"maxLength": 9, "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "no"}]},
        'ruled: Annotated[str | None, pt.MaxLength(9), pt.Rule("self != \'x\'", message="no")] = None',
    ),
}
"""Properties, and the lines of their fields."""


@pytest.mark.parametrize("name", FIELDS)
def test_a_property_becomes_this_field_and_again_this_property(name: str, tmp_path: Path) -> None:
    spec = {"type": "object", "properties": {name: FIELDS[name][0]}}
    if name == "ref":  # beside another property that is `ref` in Python
        spec["properties"] = {"$ref": TEXT, "ref": TEXT}
    assert f"    {FIELDS[name][1]}\n" in source(spec)
    assert lost([definition(spec)], tmp_path) == []


def test_a_required_property_may_have_a_default_and_be_null(tmp_path: Path) -> None:
    spec = {
        "type": "object",
        "required": ["a", "b", "c"],
        "properties": {"a": TEXT | {"default": "x"}, "b": TEXT | {"nullable": True}, "c": TEXT},
    }
    text = source(spec)
    assert '    a: Annotated[str, pt.markers.Required()] = "x"\n    b: str | None\n    c: str\n' in text
    assert lost([definition(spec)], tmp_path) == []


def test_descriptions_are_docstrings_and_survive_quotes_backslashes_and_long_lines(tmp_path: Path) -> None:
    texts = ['"quoted"', r"back\slash \n", "a\n\n  indented\nb", "word " * 50 + 'end"', 'has """ inside']
    inner = {"type": "object", "properties": {f"f{n}": TEXT | {"description": text} for n, text in enumerate(texts)}}
    spec = {"type": "object", "description": "The spec.", "properties": {"inner": inner | {"description": texts[0]}}}
    assert '"""The spec."""' in source(spec)
    assert all(len(line) <= 100 for line in source(spec).splitlines())
    assert lost([definition(spec)], tmp_path) == []


def test_equal_objects_are_one_class(tmp_path: Path) -> None:
    inner = {"type": "object", "properties": {"a": TEXT}}
    uses = {"one": inner | {"description": "One."}, "two": inner | {"description": "Two.", "nullable": True}}
    spec = {
        "type": "object",
        "properties": {**uses, "many": {"type": "array", "items": inner | {"description": "Each."}}},
    }
    text = source(spec)
    assert text.count("class ThingSpecOne(") == 1
    assert "two: Annotated[ThingSpecOne | None, pt.markers.Nullable()] = None" in text
    assert "many: list[ThingSpecOne] = []" in text
    assert lost([definition(spec)], tmp_path) == []


def test_kubernetes_conditions_are_the_conditions_of_pilotage(tmp_path: Path) -> None:
    (database,) = yamltext.read_all((golden_files.FOLDER / "database.yaml").read_text())
    assert "conditions: list[pt.Condition] = []" in module_of(versions_of(database), "Text.")


def test_versions_of_a_kind_in_one_module_have_names_of_their_own(tmp_path: Path) -> None:
    made = definition({"type": "object", "properties": {"a": TEXT}})
    old = made["spec"]["versions"][0] | {"name": "v1beta1", "storage": False, "deprecated": True}
    made["spec"]["versions"].append(old)
    text = module_of(versions_of(made), "Text.")
    assert "class Thing(pt.Resource):" in text
    assert 'version="v1beta1", kind="Thing", storage=False, deprecated=True)\nclass ThingV1beta1(pt.Resource):' in text
    assert lost([made], tmp_path) == []


def test_columns_scale_and_selectable_fields_are_options(tmp_path: Path) -> None:
    spec = {"type": "object", "properties": {"replicas": {"type": "integer"}, "mode": TEXT}}
    made = definition(
        spec,
        additionalPrinterColumns=[
            {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1},
            {"name": "Lost", "type": "string", "jsonPath": ".spec.missing"},
        ],
        subresources={"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.n"}},
        selectableFields=[{"jsonPath": ".spec.mode"}],
    )
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    (line,) = lost([made], tmp_path)  # a column of a field that the schema does not have
    assert line.startswith("things.example.com v1.additionalPrinterColumns: ")


@pytest.mark.parametrize("path", [".status.replicas", ".spec.mode", ".spec.mode.deeper"])
def test_a_scale_whose_paths_are_no_fields_stays_as_it_is(path: str, tmp_path: Path) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.n", "labelSelectorPath": path}
    made = definition({"type": "object", "properties": {"mode": {"type": "integer"}}}, subresources={"scale": scale})
    assert "checked=False" in module_of(versions_of(made), "Text.")
    assert lost([made], tmp_path) == []


def test_constraints_of_metadata_are_reported_as_lost(tmp_path: Path) -> None:
    made = definition({"type": "object"})
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}
    (line,) = lost([made], tmp_path)
    assert line.startswith("things.example.com v1.schema.properties.metadata.properties")


def test_objects_can_be_read_and_written_with_the_classes(tmp_path: Path) -> None:
    spec = {
        "type": "object",
        "required": ["from"],
        "properties": {name: FIELDS[name][0] for name in FIELDS if name != "ref"},
    }
    with loaded(source(spec), tmp_path) as module:
        (thing,) = resources(module)
        data = (
            b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"from":"x","podCIDR":"y"}}'
        )
        made: Any = decode(thing, data)
        assert (made.spec.from_, made.spec.pod_cidr, made.spec.list_) == ("x", "y", [])
        assert b'"podCIDR":"y"' in encode(made)


names = st.sampled_from(["a", "b", "camelCase", "URL", "class", "x-y", "int", "type", "metadata", "kind"])
limits = st.fixed_dictionaries(
    {}, optional={"description": st.sampled_from(["Text.", 'A "b"\n\nc.']), "nullable": st.just(True)}
)


def scalars() -> st.SearchStrategy[Schema]:
    texts = st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 3),
            "pattern": st.sampled_from([r"^\w+$", 'a"b']),
            "default": st.sampled_from(["", "abc"]),
            "enum": st.sampled_from([["abc", ""], ["abc", "", "x y"]]),
        },
    ).filter(lambda schema: not ({"pattern", "minLength"} & schema.keys() and "default" in schema))
    integers = st.fixed_dictionaries(
        {"type": st.just("integer")},
        optional={
            "format": st.sampled_from(["int32", "int64"]),
            "maximum": st.integers(5, 9),
            "default": st.integers(0, 3),
        },
    )
    either = st.just({"x-kubernetes-int-or-string": True})
    return st.one_of(
        texts, integers, either, st.just({"type": "boolean", "default": False}), st.just({"type": "number"})
    )


def schemas() -> st.SearchStrategy[Schema]:
    """Random structural schemas. Defaults of objects are left to the examples above: they must be valid."""
    plain = st.builds(lambda schema, more: schema | more, scalars(), limits)
    return st.recursive(
        plain, lambda inner: st.builds(lambda schema, more: schema | more, _objects(inner), limits), max_leaves=12
    )


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    properties = st.dictionaries(names, inner, max_size=4)
    objects = st.builds(
        lambda found, keep: (
            {"type": "object", "properties": found} | ({"required": sorted(found)[:1]} if keep and found else {})
        ),
        properties,
        st.booleans(),
    )
    without_default = inner.filter(lambda schema: "default" not in schema)
    lists = st.builds(lambda items: {"type": "array", "items": items, "maxItems": 9}, without_default)
    maps = st.builds(lambda values: {"type": "object", "additionalProperties": values}, without_default)
    return st.one_of(objects, lists, maps)


@given(st.dictionaries(names, schemas(), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_schemas_are_the_same_afterwards(tmp_path: Path, properties: Schema) -> None:
    made = definition({"type": "object", "properties": properties})
    assert definition_causes(made) == []
    assert lost([made], tmp_path) == []


texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ['"', '"""', "\\", '\\"""', "'", "\n", "\x00", "# x"]
)


@given(name=texts.filter(lambda text: not re.search(r'["\\\x00-\x1f]', text)), words=texts, description=texts)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_texts_are_texts_in_the_module_and_never_code(
    tmp_path: Path, name: str, words: str, description: str
) -> None:
    field = TEXT | {"enum": [words, f"{words} more"], "default": words, "description": description, "title": words}
    rule = {"rule": f"self != {name!r}", "message": "No: " + "".join(words.split("\n"))}
    spec = {"type": "object", "properties": {name: field, f"{name}x": TEXT}, "description": description}
    assert lost([definition(spec | {"x-kubernetes-validations": [rule]})], tmp_path) == []
