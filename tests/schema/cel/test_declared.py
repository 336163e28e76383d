from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.cel.declared import REQUEST_BYTES, DeclaredValue, most_runs
from pilotage.schema.structural.node import Tree

TEXT = {"type": "string"}


def declared(schema: dict[str, Any], *, resource: bool = False) -> DeclaredValue:
    return DeclaredValue(Tree(None).node(schema), resource=resource)


@pytest.mark.parametrize(
    ("schema", "most"),
    [
        (TEXT, REQUEST_BYTES - 2),
        ({**TEXT, "maxLength": 10}, 40),
        ({**TEXT, "format": "byte", "maxLength": 10}, 10),
        ({**TEXT, "enum": ["a", "long"]}, 4),
        ({**TEXT, "format": "date-time"}, 32),
        ({**TEXT, "maxLength": -1}, 0),
        ({"type": "integer"}, 0),
        ({"type": "array", "items": TEXT}, (REQUEST_BYTES - 2) // 3),
        ({"type": "array", "items": TEXT, "maxItems": 7}, 7),
        ({"type": "object", "additionalProperties": TEXT}, (REQUEST_BYTES - 2) // 8),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 7}, 7),
        ({"x-kubernetes-int-or-string": True, "maxLength": 3}, 12),
    ],
)
def test_the_largest_size_is_that_of_the_schema_or_of_a_request(schema: dict[str, Any], most: int) -> None:
    assert declared(schema).most == most


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "array", "items": {"type": "integer"}}, "list(int)"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "map(string, double)"),
        ({**TEXT, "format": "date"}, "timestamp"),
        ({**TEXT, "nullable": True}, "string"),
        ({"x-kubernetes-int-or-string": True}, "dyn"),
        ({"type": "object", "properties": {"a": TEXT}}, "object"),
    ],
)
def test_a_schema_has_a_type_in_rules(schema: dict[str, Any], kind: str) -> None:
    assert str(declared(schema).type) == kind


def test_a_value_without_a_type_is_not_a_field() -> None:
    unknown = {"x-kubernetes-preserve-unknown-fields": True}
    fields = {"a": TEXT, "b": unknown, "c": {"type": "array", "items": unknown}, "a-b": TEXT}
    assert set(declared({"type": "object", "properties": fields}).fields) == {"a", "a__dash__b"}


def test_a_resource_has_a_kind_and_a_name() -> None:
    root = declared({"type": "object"}, resource=True)
    assert set(root.fields) == {"apiVersion", "kind", "metadata"}
    assert set(root.fields["metadata"].fields) == {"name", "generateName"}


def test_a_value_can_be_in_a_request_as_often_as_its_required_fields_fit() -> None:
    properties = {"name": TEXT, "kind": {**TEXT, "default": "x"}, "other": TEXT}
    schema = {"type": "object", "properties": properties, "required": ["name", "kind"]}
    assert declared(schema).least == len('{"name":"",}')
    assert most_runs(declared(schema)) == REQUEST_BYTES // 13
