from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pilotage.schema.subschemas import has_rules

RULES = {"x-kubernetes-validations": [{"rule": "true"}]}
INSTALL = """
import asyncio, sys
import pilotage as pt

class NoteSpec(pt.Model):
    size: int = 1

@pt.resource(group="example.com", version="v1")
class Note(pt.Resource):
    spec: NoteSpec = NoteSpec()

async def main():
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Note)
        await cluster.client.create(Note(metadata=pt.ObjectMeta(name="a", namespace="default")))

asyncio.run(main())
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, False),
        ({"type": "object", "properties": {"a": {"items": {"type": "string"}}}}, False),
        ({"x-kubernetes-validations": []}, False),
        (RULES, True),
        ({"properties": {"a": {"items": RULES}}}, True),
        ({"additionalProperties": {"allOf": [{}, RULES]}}, True),
    ],
)
def test_rules_are_found_on_every_level(schema: dict[str, Any], expected: bool) -> None:
    assert has_rules(schema) is expected


def test_a_kind_without_rules_is_installed_without_loading_cel() -> None:
    ran = subprocess.run([sys.executable, "-c", INSTALL], capture_output=True, text=True, timeout=60, check=True)
    assert "pilotage.schema.definition.validate" in ran.stdout.split()
    assert [name for name in ran.stdout.split() if name.startswith("pilotage.schema.cel.e")] == []
