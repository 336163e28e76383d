from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.generate.jsonpath import Unresolved, resolve

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "hosts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        (".spec.size", {"type": "integer"}),
        (".spec['size']", {"type": "integer"}),
        (".spec.hosts[0].name", {"type": "string"}),
        (".spec.hosts[-1].name", {"type": "string"}),
        ('.spec.hosts[?(@.name=="a")].name', {"type": "string"}),
        (".spec.hosts[*].name", {"type": "array", "items": {"type": "string"}}),
        (".spec.labels.a\\.b/c", {"type": "string"}),
        (".metadata.generation", {"type": "integer", "format": "int64"}),
    ],
)
def test_a_path_leads_to_a_schema(path: str, schema: Any) -> None:
    assert resolve(SCHEMA, path) == schema


@pytest.mark.parametrize(
    "path", ["", "spec", ".", ".spec.", ".spec..size", ".spec.sise", ".spec.size[0]", ".spec[", ".a b"]
)
def test_a_path_that_cannot_be_resolved_has_the_reason(path: str) -> None:
    found = resolve(SCHEMA, path)
    assert isinstance(found, Unresolved)
    assert found.reason
