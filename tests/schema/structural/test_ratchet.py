from __future__ import annotations

from typing import Any

from pilotage.schema.structural import StructuralSchema

STRING = {"type": "string"}
ITEM = {"type": "object", "required": ["k"], "properties": {"k": STRING, "v": STRING}}
LIST_MAP = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM}


def fields(schema: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    head = {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "x"}}
    compiled = StructuralSchema.compile({"type": "object", **schema})
    return [cause.field for cause in compiled.validate(head | new, head | old)]


def test_the_order_of_a_list_map_is_no_change_of_it() -> None:
    schema = {"properties": {"l": {**LIST_MAP, "maxItems": 1}, "y": STRING}}
    old = {"l": [{"k": "a"}, {"k": "b"}]}
    assert fields(schema, {"l": [{"k": "b"}, {"k": "a"}], "y": "new"}, old) == []
    assert fields(schema, {"l": [{"k": "b"}, {"k": "a", "v": "new"}]}, old) == ["l"]
    assert fields(schema, {"l": [{"k": "b"}, {"k": "c"}]}, old) == ["l"]
    assert fields(schema, {"l": [{"k": "b"}, {"k": "a"}, {"k": "c"}]}, old) == ["l"]


def test_a_field_that_the_whole_object_must_have_is_required_even_if_nothing_changes() -> None:
    schema = {"required": ["x"], "properties": {"x": STRING, "s": {"type": "object", "required": ["y"]}}}
    assert fields(schema, {"s": {}}, {"s": {}}) == ["x"]


def test_an_object_with_fields_that_have_no_schema_counts_as_changed() -> None:
    spec = {"type": "object", "required": ["y"], "x-kubernetes-preserve-unknown-fields": True}
    schema = {"properties": {"spec": {**spec, "properties": {"a": STRING}}}}
    assert fields(schema, {"spec": {"a": "1"}}, {"spec": {"a": "1"}}) == []
    assert fields(schema, {"spec": {"b": "1"}}, {"spec": {"b": "1"}}) == ["spec.y"]


def test_a_wrong_api_version_is_never_tolerated() -> None:
    schema = {"properties": {"apiVersion": {"type": "string", "pattern": "v2$"}}}
    assert fields(schema, {}, {}) == ["apiVersion"]


def test_messages_about_a_status_have_paths_within_the_status() -> None:
    status = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 10}}}
    compiled = StructuralSchema.compile({"type": "object", "properties": {"status": status}})
    (cause,) = compiled.validate_status({"status": {"n": 15}})
    assert (cause.field, cause.message) == (
        "status.n",
        "Invalid value: 15: n in body should be less than or equal to 10",
    )
    (cause,) = compiled.validate_status({"status": []})
    assert (cause.field, cause.message) == (
        "status",
        'Invalid value: "array":  in body must be of type object: "array"',
    )
    assert compiled.validate_status({"status": {"n": 15}}, {"status": {"n": 15}}) == []
