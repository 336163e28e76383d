from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.definition import definition_causes

from .test_validate import definition

EMBEDDED = {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
AT = "spec.validation.openAPIV3Schema.properties[x].default"


def causes_of(schema: dict[str, Any]) -> list[tuple[str, str]]:
    made = definition({"type": "object", "properties": {"x": schema}})
    return [(cause.reason, cause.field.removeprefix(AT)) for cause in definition_causes(made)]


def test_unknown_metadata_of_an_embedded_resource_is_allowed_in_a_default_but_no_other_unknown_field() -> None:
    metadata = {"name": "a", "unknown": 1}
    default = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    assert causes_of({"type": "object", **EMBEDDED, "default": default}) == []
    inner = {"type": "object", **EMBEDDED, "properties": {"metadata": {"type": "object", "default": metadata}}}
    assert causes_of(inner) == []
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}
    assert causes_of(closed) == [("FieldValueInvalid", "")]


def test_a_default_inside_metadata_must_result_in_valid_metadata() -> None:
    name = {"type": "string", "default": ".."}
    schema = {
        "type": "object",
        **EMBEDDED,
        "properties": {"metadata": {"type": "object", "properties": {"name": name}}},
    }
    made = definition({"type": "object", "properties": {"x": schema}})
    (cause,) = definition_causes(made)
    assert cause.field.endswith(".properties[metadata].properties[name].default")
    assert "must result in valid metadata: metadata.name: Invalid value" in cause.message


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "object", **EMBEDDED, "default": {"kind": "Pod"}}, [("FieldValueRequired", ".apiVersion")]),
        (
            {"type": "string", "default": 3, "x-kubernetes-validations": [{"rule": "size(self) > 1"}]},
            [("FieldValueTypeInvalid", "")],
        ),
        (
            {"type": "string", "default": "a", "x-kubernetes-validations": [{"rule": "size(self) > 1"}]},
            [("FieldValueInvalid", "")],
        ),
    ],
)
def test_a_default_is_checked_in_steps_and_the_first_that_fails_is_reported(
    schema: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    assert causes_of(schema) == found


def test_the_default_of_a_whole_object_needs_an_api_version_and_a_kind() -> None:
    made = definition({"type": "object", "default": {}, "properties": {"x": {"type": "string"}}})
    assert [cause.field.partition(".default.")[2] for cause in definition_causes(made)] == ["apiVersion", "kind"]


def test_a_default_meets_rules_as_a_new_value_and_as_one_that_stays() -> None:
    changing = {"rule": "self != oldSelf"}
    assert causes_of({"type": "string", "default": "a", "x-kubernetes-validations": [changing]}) == [
        ("FieldValueInvalid", "")
    ]


def test_a_rule_that_does_not_compile_is_reported_at_the_default_that_it_would_check() -> None:
    broken = {"type": "string", "x-kubernetes-validations": [{"rule": "bad("}]}
    made = definition({"type": "object", "properties": {"x": {**broken, "default": "a"}}})
    (cause,) = definition_causes(made)
    assert (cause.field, cause.message[:68]) == (
        AT,
        'Invalid value: "string": rule compile error: compilation failed: ERR',
    )
    assert causes_of({**broken, "default": 3}) == [("FieldValueTypeInvalid", "")]


@pytest.mark.parametrize("unsupported", [{"definitions": {"a": {"type": "string"}}}, {"$ref": "#/x"}, {"id": "x"}])
def test_a_keyword_that_is_not_supported_hides_all_but_keywords(unsupported: dict[str, Any]) -> None:
    schema = {"properties": {"a": {"type": "string", "default": 3}, "b": {}}, **unsupported}
    made = definition({"type": "object", "properties": {"x": schema}})
    assert [cause.reason for cause in definition_causes(made)] == ["FieldValueForbidden"]


def test_an_empty_list_of_items_is_no_schema_of_items() -> None:
    assert causes_of({"type": "object", "items": []}) == []
    (cause,) = definition_causes(definition({"type": "object", "properties": {"x": {"type": "array", "items": []}}}))
    assert (cause.reason, cause.field[-6:]) == ("FieldValueRequired", ".items")


@pytest.mark.parametrize(
    ("keywords", "value", "messages"),
    [
        ({"type": "number", "minimum": 0.5}, 0, []),
        ({"type": "number", "minimum": 0.5}, 0.4, ["should be greater than or equal to 0.5"]),
        ({"type": "number", "maximum": 1.5, "exclusiveMaximum": True}, 1, ["should be less than 1"]),
        ({"type": "number", "maximum": 1.5}, 2.0, ["should be less than or equal to 1.5"]),
        ({"type": "number", "multipleOf": 2.5}, 4, []),
        ({"type": "number", "multipleOf": 0.5}, 1, ["must be positive: 0"]),
        (
            {"type": "integer", "maximum": 1.5},
            0,
            ["Maximum boundary value must be of type integer (default format) in "],
        ),
        ({"type": "string", "format": "date"}, [], []),
    ],
)
def test_limits_are_compared_as_go_converts_them(keywords: dict[str, Any], value: Any, messages: list[str]) -> None:
    found = definition_causes(definition({"type": "object", "properties": {"x": {**keywords, "default": value}}}))
    assert [cause.message[-len(message) :] for cause, message in zip(found, messages, strict=True)] == messages


@pytest.mark.parametrize("default", [1.5, True, []])
def test_the_type_of_a_default_for_an_integer_or_a_string_is_not_checked(default: Any) -> None:
    assert causes_of({"x-kubernetes-int-or-string": True, "default": default}) == []
    inner = {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": True}}}
    assert causes_of(inner | {"default": {"port": default}}) == []
