from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.structural import StructuralSchema

STRING = {"type": "string"}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
METADATA = {"name": "a", "unknown": "b"}
WHOLE = {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA}


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({**EMBEDDED, "default": WHOLE}, {}),
        ({"type": "object", "properties": {"inner": EMBEDDED}, "default": {"inner": WHOLE}}, {}),
        ({**EMBEDDED, "properties": {"metadata": {"type": "object", "default": METADATA}}}, {"x": {}}),
        (
            {
                **EMBEDDED,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {name: {**STRING, "default": value} for name, value in METADATA.items()},
                    }
                },
            },
            {"x": {"metadata": {}}},
        ),
    ],
)
def test_unknown_metadata_in_the_default_of_an_embedded_resource_is_not_set(
    schema: dict[str, Any], document: dict[str, Any]
) -> None:
    StructuralSchema.compile({"type": "object", "properties": {"x": schema}}).default(document)
    found = document["x"].get("inner", document["x"])
    assert found["metadata"] == {"name": "a"}
