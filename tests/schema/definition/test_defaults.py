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
