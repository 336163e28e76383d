from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import Cause, InvalidDefinition
from pilotage.schema.structural import StructuralSchema

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "default": "n"},
        "size": {"type": "integer", "minimum": 0, "default": 3},
        "note": {"type": "string", "nullable": True},
        "nested": {"type": "object", "properties": {"depth": {"type": "integer", "default": 1}}},
        "made": {"type": "object", "default": {}, "properties": {"depth": {"type": "integer", "default": 1}}},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}},
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
        },
        "resource": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
    },
}
SCHEMA = {"type": "object", "properties": {"spec": SPEC, "status": {"type": "object", "required": ["phase"]}}}
COMPILED = StructuralSchema.compile(SCHEMA)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
specs = st.dictionaries(st.sampled_from([*SPEC["properties"], "unknown", "depth"]), anything, max_size=6)
documents = st.fixed_dictionaries(
    {"apiVersion": st.just("a/v1"), "kind": st.just("K")}, optional={"spec": specs | anything}
)


@given(documents)
def test_defaulting_twice_is_defaulting_once(document: Any) -> None:
    COMPILED.default(document)
    again = copy.deepcopy(document)
    COMPILED.default(again)
    assert again == document


@given(documents)
def test_pruning_twice_drops_nothing_more(document: Any) -> None:
    COMPILED.prune(document)
    again = copy.deepcopy(document)
    assert COMPILED.prune(again) == []
    assert again == document


@given(documents)
def test_defaulting_invents_no_field_that_pruning_drops(document: Any) -> None:
    COMPILED.prune(document)
    COMPILED.default(document)
    assert COMPILED.prune(document) == []


@given(documents)
def test_validation_changes_nothing(document: Any) -> None:
    before = copy.deepcopy(document)
    COMPILED.validate(document)
    COMPILED.validate(document, before)
    assert document == before


def test_pruning_names_what_it_drops_and_keeps_the_head() -> None:
    document = {
        "apiVersion": "a/v1",
        "kind": "K",
        "metadata": {"name": "x", "odd": 1},
        "other": 1,
        "spec": {"name": "a", "zz": {}, "items": [{"on": True, "off": 1}], "nested": {"x": 1}},
    }
    assert COMPILED.prune(document) == ["other", "spec.items[0].off", "spec.nested.x", "spec.zz"]
    assert document["metadata"] == {"name": "x", "odd": 1}
    assert document["spec"] == {"name": "a", "items": [{"on": True}], "nested": {}}


def test_preserved_unknown_fields_stay_but_known_children_are_pruned() -> None:
    document = {"spec": {"free": {"anything": {"deep": 1}, "known": {"a": "b", "c": 1}}}}
    assert COMPILED.prune(document) == ["spec.free.known.c"]
    assert document["spec"]["free"] == {"anything": {"deep": 1}, "known": {"a": "b"}}


def test_an_embedded_resource_keeps_its_head_and_loses_unknown_metadata() -> None:
    resource = {"apiVersion": "v1", "kind": "P", "metadata": {"name": "x", "zz": 1}, "spec": {"x": 1, "y": 2}, "w": 1}
    document = {"spec": {"resource": resource}}
    assert COMPILED.prune(document) == ["spec.resource.metadata.zz", "spec.resource.spec.y", "spec.resource.w"]


def test_defaults_fill_in_where_the_parent_is_there() -> None:
    document: dict[str, Any] = {"spec": {"items": [{}, {"on": False}]}}
    COMPILED.default(document)
    assert document["spec"] == {
        "name": "n",
        "size": 3,
        "made": {"depth": 1},
        "items": [{"on": True}, {"on": False}],
    }
    bare: dict[str, Any] = {}
    COMPILED.default(bare)
    assert bare == {}


def test_a_default_is_never_shared_between_documents() -> None:
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    COMPILED.default(first)
    first["spec"]["made"]["depth"] = 9
    COMPILED.default(second)
    assert second["spec"]["made"] == {"depth": 1}


def test_null_becomes_the_default_or_goes_or_stays() -> None:
    document: dict[str, Any] = {"spec": {"size": None, "nested": None, "note": None, "labels": {"a": None, "b": "c"}}}
    COMPILED.default(document)
    assert document["spec"] == {"name": "n", "size": 3, "note": None, "made": {"depth": 1}, "labels": {"b": "c"}}


def test_a_status_write_is_judged_by_its_status_only() -> None:
    document = {"spec": {"size": "x"}, "status": {}}
    assert COMPILED.validate_status(document) == [Cause("FieldValueRequired", "Required value", "status.phase")]
    assert COMPILED.validate_status({"spec": {"size": "x"}}) == []


def test_duplicates_that_were_there_before_may_stay() -> None:
    schema = StructuralSchema.compile(
        {
            "type": "object",
            "properties": {"s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}},
        }
    )
    assert [cause.field for cause in schema.validate({"s": ["a", "b", "a", "a"]})] == ["s[2]"]
    assert schema.validate({"s": ["a", "a", "b"]}, {"s": ["a", "a"]}) == []


def test_true_is_no_number_and_one_is_not_true() -> None:
    schema = StructuralSchema.compile(
        {"type": "object", "properties": {"e": {"enum": [1], "x-kubernetes-preserve-unknown-fields": True}}}
    )
    assert schema.validate({"e": 1}) == []
    assert schema.validate({"e": 1.0}) == []
    assert [cause.reason for cause in schema.validate({"e": True})] == ["FieldValueNotSupported"]


def test_a_pattern_that_is_no_re2_is_refused_when_compiled() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        StructuralSchema.compile({"type": "object", "properties": {"x": {"type": "string", "pattern": "(?=a)"}}})
    assert "(?=" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "decides"),
    [
        ({"type": "integer"}, True),
        ({"type": "number"}, False),
        ({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}, False),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, False),
    ],
    ids=["an integer", "a float", "a rule", "any content"],
)
def test_one_look_accepts_a_document_if_nothing_else_has_to_be_checked(field: dict[str, Any], decides: bool) -> None:
    spec = {"type": "object", "properties": {"a": field}}
    schema = StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})
    document = {"apiVersion": "a/v1", "kind": "A", "metadata": {}, "spec": {"a": 1}}
    assert (schema.may_accept, schema.accepts(document)) == (decides, decides)
    assert not schema.accepts(document | {"spec": {"a": "text"}})


@pytest.mark.parametrize(("port", "valid"), [(2**63 - 1, True), (-(2**63), True), (2**63, False), (10**20, False)])
def test_an_integer_beyond_64_bits_is_no_int_or_string(port: int, valid: bool) -> None:
    spec = {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": True}}}
    schema = StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})
    document = {"apiVersion": "a/v1", "kind": "A", "metadata": {}, "spec": {"port": port}}
    text = 'Invalid value: "number": spec.port in body must be of type integer,string: "number"'
    assert [cause.message for cause in schema.validate(document)] == ([] if valid else [text])


@pytest.mark.parametrize(
    "contents", [{"x-kubernetes-preserve-unknown-fields": True}, {"additionalProperties": {"type": "string"}}]
)
def test_a_field_that_is_required_without_a_schema_must_be_there(contents: dict[str, Any]) -> None:
    spec = {"type": "object", "required": ["name"], **contents}
    schema = StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})
    document: dict[str, Any] = {"apiVersion": "a/v1", "kind": "A", "metadata": {}, "spec": {}}
    assert [cause.field for cause in schema.validate(document)] == ["spec.name"]
    assert schema.validate(document | {"spec": {"name": "a"}}) == []


RECURSIVE: dict[str, Any] = {
    "Node": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "child": {"allOf": [{"$ref": "#/components/schemas/Node"}]},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
            "raw": {"$ref": "#/components/schemas/Raw"},
            "port": {"allOf": [{"$ref": "#/components/schemas/Port"}]},
        },
    },
    "Raw": {"type": "object"},
    "Port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
}


def test_recursive_schemas_follow_their_references() -> None:
    schema = StructuralSchema.compile({"$ref": "#/components/schemas/Node"}, resolve=RECURSIVE.__getitem__)
    document: dict[str, Any] = {
        "name": "a",
        "child": {"name": "b", "raw": {"any": {"thing": 1}}},
        "children": [{"name": 3, "port": True}, {}],
    }
    assert [(cause.field, cause.reason) for cause in schema.validate(document) if cause.field != "<nil>"] == [
        ("children[0].name", "FieldValueTypeInvalid"),
        ("children[0].port", "FieldValueTypeInvalid"),
        ("children[0].port", "FieldValueTypeInvalid"),
        ("children[1].name", "FieldValueRequired"),
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string", "nullable": True, "enum": ["a", None]}, None),
        ({"type": "integer", "nullable": True, "enum": [1, None]}, None),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "enum": [{"a": 1}]}, {"a": 1.0}),
    ],
    ids=["null among texts", "null among integers", "another type of number in an object"],
)
def test_null_is_in_no_enum_and_numbers_in_objects_are_compared_with_their_types(
    field: dict[str, Any], value: Any
) -> None:
    schema = StructuralSchema.compile({"type": "object", "properties": {"e": field}})
    assert [cause.reason for cause in schema.validate({"e": value})] == ["FieldValueNotSupported"]


def test_a_fraction_is_compared_with_the_integers_of_an_enum_without_its_digits() -> None:
    schema = StructuralSchema.compile({"type": "object", "properties": {"e": {"type": "integer", "enum": [1, 2]}}})
    assert [cause.reason for cause in schema.validate({"e": 1.5})] == ["FieldValueTypeInvalid", "FieldValueInvalid"]


def test_a_list_is_no_integer_of_a_format_but_a_string_of_one() -> None:
    field = {"type": "integer", "format": "int32"}
    schema = StructuralSchema.compile({"type": "object", "properties": {"a": field, "b": field}})
    overflow = ("<nil>", "FieldValueInvalid")
    found = schema.validate({"a": 2**31, "b": []})
    assert [(cause.field, cause.reason) for cause in found] == [overflow, ("b", "FieldValueTypeInvalid")]
    dated = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    assert StructuralSchema.compile(dated).validate({"day": ["a"]}) == []


def test_one_and_a_float_of_one_are_two_items_of_a_set() -> None:
    numbers = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}}
    schema = StructuralSchema.compile({"type": "object", "properties": {"numbers": numbers}})
    assert schema.validate({"numbers": [1, 1.0]}) == []
    assert [cause.reason for cause in schema.validate({"numbers": [1.5, 1.5]})] == ["FieldValueDuplicate"]


def test_schemas_with_the_same_content_share_what_is_compiled() -> None:
    def shared(maximum: float) -> StructuralSchema:
        numbers = {"type": "number", "maximum": maximum}
        return StructuralSchema.shared({"type": "object", "properties": {"shared": numbers}})

    assert shared(3) is shared(3)
    assert shared(4) is not shared(3)
    assert [cause.field for cause in shared(4).validate({"shared": 5})] == ["shared"]
    assert shared(5).validate({"shared": 5}) == []


def test_a_schema_that_does_not_compile_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(InvalidDefinition):
            StructuralSchema.shared({"type": "object", "properties": {"x": {"type": "string", "pattern": "(?=a)"}}})
