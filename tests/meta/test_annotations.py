"""Models in modules whose annotations are evaluated at once, late (Python 3.14), or are texts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta.objects import decode, document_of
from pilotage.schema.generate.crd import crds
from pilotage.schema.generate.openapi import openapi

from ..schema.source.loading import loaded

FUTURE = "from __future__ import annotations\n"
only_late = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="before Python 3.14, an annotation without quotes is evaluated at once"
)
MODELS = '''
from typing import Annotated, Any, ClassVar
import pilotage as pt

class Spec(pt.Model):
    """What is wanted."""

    LIMIT: ClassVar[int] = 9
    colours: ClassVar[dict[str, Any]] = {"red": 1}
    count: Annotated[int, pt.Minimum(1)] = 3
    """How many."""
    name: str
    tags: list[str] = ["x"]
    labels: dict[str, str] = {}
    later: "Later | None" = None
    parts: "list[Later]" = []

class Later(pt.Model):
    size: int = 1
    """How large."""

@pt.resource(group="example.com", version="v1")
class Thing(pt.Resource):
    spec: Spec

def made():
    class Inner(pt.Model):
        size: float = 0.5
    class Outer(pt.Model):
        inner: Inner
    return Inner, Outer
'''
LATER = {
    "type": "object",
    "properties": {"size": {"type": "integer", "format": "int64", "description": "How large.", "default": 1}},
}
SPEC = {
    "type": "object",
    "description": "What is wanted.",
    "required": ["name"],
    "properties": {
        "count": {"type": "integer", "format": "int64", "minimum": 1, "default": 3, "description": "How many."},
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": ["x"]},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "later": LATER,
        "parts": {"type": "array", "items": LATER},
    },
}
ONLY_FOR_TYPE_CHECKERS = """
from typing import TYPE_CHECKING
import pilotage as pt
if TYPE_CHECKING:
    from nowhere import Size

class Spec(pt.Model):
    size: Size
    count: int = 3
"""


@pytest.fixture(params=[pytest.param("", id="plain"), pytest.param(FUTURE, id="future")])
def models(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with loaded(request.param + MODELS, tmp_path) as module:
        yield module


def test_a_definition_has_the_defaults_the_markers_and_the_texts_of_the_class(models: ModuleType) -> None:
    (definition,) = crds([models.Thing])
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = schema["properties"]["spec"]
    assert found == SPEC


def test_a_default_is_written_and_an_empty_list_is_not(models: ModuleType) -> None:
    thing = models.Thing(spec=models.Spec(name="a"))
    assert document_of(thing)["spec"] == {"count": 3, "name": "a", "tags": ["x"]}
    assert models.Spec(name="a").tags is not models.Spec(name="a").tags
    read = decode(models.Thing, b'{"spec":{"name":"a","later":{},"parts":[{"size":2}]}}')
    assert (read.spec.count, read.spec.later, read.spec.parts) == (3, models.Later(), [models.Later(size=2)])


def test_a_class_variable_has_the_value_that_the_class_gives(models: ModuleType) -> None:
    assert (models.Spec.LIMIT, models.Spec.colours) == (9, {"red": 1})
    assert models.Spec(name="a").LIMIT == 9
    assert "LIMIT" not in models.Spec.__struct_fields__


def test_a_class_of_a_function_has_its_defaults(models: ModuleType) -> None:
    inner, _ = models.made()
    assert msgspec.to_builtins(inner()) == {"size": 0.5}
    assert openapi(inner)["properties"]["size"] == {"type": "number", "format": "double", "default": 0.5}


def test_a_class_of_a_function_may_name_another_one_unless_annotations_are_texts(models: ModuleType) -> None:
    _, outer = models.made()
    if "annotations" in vars(models):
        with pytest.raises(InvalidDefinition, match="'Inner' is not defined"):
            openapi(outer)
    else:
        assert openapi(outer)["properties"]["inner"]["properties"]["size"]["default"] == 0.5


@only_late
def test_a_class_may_name_itself_and_later_classes_without_quotes(tmp_path: Path) -> None:
    text = "import pilotage as pt\nclass Spec(pt.Model):\n  later: Later | None = None\n  count: int = 3\n"
    text += "  parts: list[Later] = []\nclass Later(pt.Model):\n  size: int = 1\n  more: Later | None = None\n"
    with loaded(text, tmp_path) as module:
        read = msgspec.json.decode(b'{"later":{"more":{}},"parts":[{"size":2}]}', type=module.Spec)
        assert (read.count, read.later.more.size, read.parts[0].size) == (3, 1, 2)


@pytest.mark.parametrize("first", [pytest.param("", marks=only_late), FUTURE], ids=["plain", "future"])
def test_a_name_that_exists_for_type_checkers_alone_is_an_error_only_where_its_type_is_needed(
    first: str, tmp_path: Path
) -> None:
    with loaded(first + ONLY_FOR_TYPE_CHECKERS, tmp_path) as module:
        assert module.Spec(size=1).count == 3
        with pytest.raises(InvalidDefinition, match=r"Spec: a type hint cannot be resolved .*'Size'"):
            openapi(module.Spec)
