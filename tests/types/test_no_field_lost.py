"""No field is lost, for every built-in type: what the type does not know survives reading, changing and writing."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Model, Resource, shapes
from pilotage.meta.objects import decode, updated
from pilotage.types import builtin
from tests.types.documents import Documents, Path, texts

KINDS = [gvk for gvk in builtin.kinds() if builtin.type_for(gvk) is not None]
CHANGED = "changed by the test"


def read(gvk: GroupVersionKind, document: dict[str, Any]) -> Resource:
    kind = builtin.type_for(gvk)
    assert kind is not None
    return decode(kind, json.dumps(document).encode())


def change(obj: Any, path: Path) -> None:
    """Set the text at `path` (wire names) of a typed object."""
    *way, last = path
    for step in way:
        obj = obj[step] if isinstance(step, int) else getattr(obj, attribute(obj, step))
    setattr(obj, attribute(obj, str(last)), CHANGED)


def attribute(obj: Model, wire: str) -> str:
    return shapes(type(obj))[wire].attribute


def replace(document: Any, path: Path, value: str) -> Any:
    changed = json.loads(json.dumps(document))
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def content(document: dict[str, Any]) -> dict[str, Any]:
    """A document without the managed fields: an update may leave them out, and a server then keeps them."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return document | {"metadata": metadata}


@pytest.mark.parametrize("gvk", KINDS, ids=str)
def test_an_unchanged_object_is_written_as_it_was_read(gvk: GroupVersionKind) -> None:
    for seed in range(4):
        document = Documents(random.Random(seed)).of(gvk)
        assert content(json.loads(updated(read(gvk, document)))) == content(document)


@pytest.mark.parametrize("gvk", KINDS, ids=str)
def test_a_change_of_one_field_changes_just_that(gvk: GroupVersionKind) -> None:
    schema = builtin.schema(gvk)
    for seed in range(3):
        chance = random.Random(seed)
        document = Documents(chance).of(gvk)
        paths = list(texts(document, schema))
        for path in chance.sample(paths, min(4, len(paths))):
            obj = read(gvk, document)
            change(obj, path)
            assert content(json.loads(updated(obj))) == content(replace(document, path, CHANGED)), path
