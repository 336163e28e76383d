"""Hostile documents and schemas: validated in bounded time, without a crash."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.structural import DefaultsTooLargeError, StructuralSchema
from pilotage.schema.structural.paths import MAXIMUM_REPORTED

from ...counting import counted_lines


def schema_of(**properties: Any) -> StructuralSchema:
    return StructuralSchema.compile({"type": "object", "properties": properties})


def judged(schema: StructuralSchema, document: Any) -> list[str]:
    schema.prune(document)
    schema.default(document)
    found = schema.validate(document)
    return [cause.field for cause in found]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_that_explode_elsewhere_take_linear_time(pattern: str) -> None:
    schema = schema_of(x={"type": "string", "pattern": pattern})
    assert judged(schema, {"x": "a" * 200_000 + "!"}) == ["x"]


def test_a_huge_enum_is_looked_up_not_searched() -> None:
    schema = schema_of(
        x={"type": "array", "items": {"type": "string", "enum": [f"v{index}" for index in range(100_000)]}}
    )
    assert judged(schema, {"x": [f"v{index}" for index in range(100_000)]}) == []


def test_a_large_set_is_checked_for_duplicates_in_linear_time() -> None:
    schema = schema_of(x={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})
    items = [f"v{index}" for index in range(200_000)]
    assert judged(schema, {"x": [*items, "v7"]}) == ["x[200000]"]


def test_very_deep_documents_are_pruned_without_recursion() -> None:
    lists: Any = {"x": 1}
    for _ in range(50_000):
        lists = [lists]
    document = {"deep": lists}
    schema = schema_of(deep={"type": "array", "items": {"type": "object"}})
    assert schema.prune(document)[0].endswith(".x")


def test_deep_unknown_objects_are_dropped_whole() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = {"x": deep}
    document = {"a": deep, "b": deep}
    assert judged(schema_of(b={"type": "string"}), document) == ["b"]
    assert "a" not in document


def test_of_a_million_errors_the_first_are_reported_and_that_there_are_more() -> None:
    schema = schema_of(x={"type": "array", "items": {"type": "integer", "maximum": 3}})
    fields = judged(schema, {"x": [9] * 1_000_000})
    assert fields[:MAXIMUM_REPORTED] == [f"x[{index}]" for index in range(MAXIMUM_REPORTED)]
    assert fields[MAXIMUM_REPORTED:] == ["<nil>"]


def test_the_one_error_of_an_update_is_found_behind_a_thousand_old_ones() -> None:
    items = {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "integer", "maximum": 3}}}
    schema = schema_of(
        x={"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    )
    old = {"x": [{"name": str(index), "v": 9} for index in range(2 * MAXIMUM_REPORTED)]}
    new = {"x": [*old["x"], {"name": "new", "v": 9}]}
    assert [cause.field for cause in schema.validate(new, old)] == [f"x[{2 * MAXIMUM_REPORTED}].v"]


def test_the_items_of_a_long_map_list_are_matched_in_linear_time() -> None:
    items = {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "integer", "maximum": 3}}}
    schema = schema_of(
        x={"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    )
    old = {"x": [{"name": str(index), "v": 9} for index in range(2_000)]}
    new = {"x": [{"name": str(index), "v": 8} for index in reversed(range(2_000))]}
    with counted_lines() as lines:
        assert len(schema.validate(new, old)) == MAXIMUM_REPORTED + 1
    assert lines.count < 2_000 * 200


@pytest.mark.parametrize("inside", [{"l": [0] * 100_000}, {f"unknown{index}": 0 for index in range(100_000)}])
def test_a_key_of_a_megabyte_is_not_repeated_for_each_value_below_it(inside: Any) -> None:
    values = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}
    schema = schema_of(x={"type": "object", "additionalProperties": values})
    document = {"x": {"k" * 1_000_000: inside}}
    dropped = schema.prune(document)
    told = [cause.message for cause in schema.validate(document)]
    assert 0 < len(dropped) + len(told) <= MAXIMUM_REPORTED + 1
    assert sum(map(len, dropped)) + sum(map(len, told)) < 1_000_000


def test_numbers_of_any_size_get_a_verdict() -> None:
    number = {"type": "number", "minimum": 0.5, "maximum": 9, "multipleOf": 0.25, "format": "float"}
    schema = schema_of(i={"type": "integer", "format": "int32"}, n=number)
    for value in (10**400, -(10**400), 2**63, 1e308, -0.0):
        assert judged(schema, {"i": value}) or abs(value) < 1
        assert judged(schema, {"n": value})


def test_defaults_end_where_the_object_could_not_be_stored() -> None:
    items = {"type": "object", "properties": {f"f{index}": {"type": "integer", "default": 1} for index in range(100)}}
    nested = {
        "type": "object",
        "properties": {"a": {"type": "object", "default": {}, "properties": items["properties"]}},
    }
    for item, limit in ((items, 1_000_000), (nested, 1_000_000), (items, 1000)):
        schema = schema_of(x={"type": "array", "items": item})
        document: Any = {"x": [{} for _ in range(700_000)]}
        with counted_lines() as lines, pytest.raises(DefaultsTooLargeError, match=f"more than {limit} bytes"):
            schema.default(document, limit=limit)
        assert lines.count < 100_000  # for 700,000 items
        assert len(document["x"][-1]) == 0


def test_defaults_in_place_of_nulls_count_too() -> None:
    text = {"type": "string", "default": "x" * 1000}
    schema = schema_of(
        list={"type": "array", "items": text}, map={"type": "object", "additionalProperties": text}, plain=text
    )
    schema.default({"list": [None] * 9, "map": {"a": None}, "plain": None}, limit=12_000)
    for document in ({"list": [None] * 20}, {"map": {str(number): None for number in range(20)}}):
        with pytest.raises(DefaultsTooLargeError):
            schema.default(document, limit=12_000)


def test_many_defaulted_fields_are_cheap_to_compile_and_to_fill_in() -> None:
    fields = {f"f{index}": {"type": "integer", "default": index} for index in range(2_000)}
    document: Any = {"x": {}}
    with counted_lines() as lines:
        schema = schema_of(x={"type": "object", "properties": fields})
        schema.default(document)
        assert schema.validate(document) == []
    assert lines.count < 2_000 * 250
    assert document == {"x": {f"f{index}": index for index in range(2_000)}}


def test_searching_texts_for_a_large_pattern_ends() -> None:
    schema = schema_of(x={"type": "array", "items": {"type": "string", "pattern": ".{1000}.{1000}.{1000}b"}})
    short = schema.validate({"x": ["a" * 3000 + "b", "a"]})
    assert [cause.message.partition("in body ")[2] for cause in short] == ["should match '.{1000}.{1000}.{1000}b'"]
    found = schema.validate({"x": ["a" * 100_000] * 10})
    assert "in body is too long for '.{1000}.{1000}.{1000}b'" in found[0].message


def test_the_branches_of_a_schema_share_what_searching_may_cost() -> None:
    pattern = {"pattern": ".{1000}.{1000}.{1000}b"}
    schema = schema_of(x={"type": "array", "items": {"type": "string", "anyOf": [pattern, {"pattern": "^c"}]}})
    found = schema.validate({"x": ["a" * 9_000] * 300})
    assert any("too long" in cause.message for cause in found), found[0].message
