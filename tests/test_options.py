"""Every option has its own docstring: each field of each class of options, and each keyword of each public call."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pilotage as pt

SOURCE = Path(pt.__file__).parent
_PACKAGES = [found for name in pt.__all__ if inspect.ismodule(found := getattr(pt, name))]
PUBLIC = {name: getattr(package, name) for package in (*_PACKAGES, pt) for name in dir(package)}
PUBLIC = {
    name: found
    for name, found in PUBLIC.items()
    if not name.startswith("_") and str(getattr(found, "__module__", "")).startswith("pilotage")
}
OPTIONS = re.compile(r"(?!_)\w*(Options|Defaults|Config|Backoff|Limits|Timeouts|Retries|Settings)|ByObject|Result")
FLAGS = {"flag", "switch", "shared", "_file", "simulated.nodes", "simulated.faults", "simulated.stages"}
MARKERS = re.compile("Column|Rule|Scale")
"""The markers with several fields, in meta/markers.py."""


def fields_without_docstring(source: str, names: re.Pattern[str] = OPTIONS) -> dict[str, list[str]]:
    """The fields of classes with such names, by class, that have no string below them."""
    found: dict[str, list[str]] = {}
    if not any(names.fullmatch(name) for name in re.findall(r"^\s*class (\w+)", source, re.MULTILINE)):
        return found  # most files: to parse all of them takes seconds
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and names.fullmatch(node.name):
            missing = [
                field.target.id
                for field, below in zip(node.body, [*node.body[1:], None], strict=True)
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and not _is_text(below)
                if not field.target.id.startswith("_") and not _is_flag(field.value)
            ]
            found[node.name] = missing
    return found


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_flag(node: ast.expr | None) -> bool:
    """Whether the field is a flag of a command, which has a help text instead (`kit/console/flags/fields.py`)."""
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func) in FLAGS


def keywords_without_words(function: Any, more: str = "") -> list[str]:
    """The keyword-only parameters that the docstring of a function, or `more`, does not name as code."""
    text = f"{inspect.getdoc(function) or ''} {more}"
    named = {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.name not in named]


def public_calls() -> Iterator[tuple[str, Any, str]]:
    """The exported functions of the package, and the methods of its classes with the docstrings of the classes."""
    for name, found in sorted(PUBLIC.items(), key=lambda item: item[0]):
        if inspect.isfunction(found):
            yield name, found, ""
        elif inspect.isclass(found) and not issubclass(found, BaseException):
            ours = [each for each in found.__mro__ if each.__module__.startswith("pilotage")]
            words = " ".join(each.__doc__ or "" for each in ours)
            for method, function in inspect.getmembers(
                found, lambda one: inspect.isfunction(one) or inspect.ismethod(one)
            ):
                public = method == "__init__" or not method.startswith("_")
                if public and str(function.__module__).startswith("pilotage"):
                    yield f"{name}.{method}", function, words


def test_every_field_of_every_class_of_options_has_a_docstring() -> None:
    missing = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] != "types":  # generated, with Kubernetes' own descriptions
            for name, fields in fields_without_docstring(path.read_text()).items():
                missing[f"{path.relative_to(SOURCE)}: {name}"] = fields
    assert {name: fields for name, fields in missing.items() if fields} == {}
    assert {"manager/options.py: ManagerOptions", "controller/options.py: ControllerOptions"} <= missing.keys()


def test_every_field_of_a_marker_with_several_has_a_docstring() -> None:
    found = fields_without_docstring((SOURCE / "meta" / "markers.py").read_text(), MARKERS)
    assert found == {"Column": [], "Rule": [], "Scale": []}


def test_every_exported_class_has_a_docstring() -> None:
    classes = {name: found for name, found in PUBLIC.items() if inspect.isclass(found)}
    assert [name for name, found in classes.items() if not found.__dict__.get("__doc__")] == []


def test_every_keyword_of_every_public_call_is_explained() -> None:
    missing = {name: keywords_without_words(function, words) for name, function, words in public_calls()}
    assert {name: keywords for name, keywords in missing.items() if keywords} == {}
    assert {"Client.list", "Cluster.embedded", "resource"} <= missing.keys()


def test_a_field_and_a_keyword_without_words_are_found() -> None:
    source = 'class AnyOptions:\n    one: int = 1\n    """Explained."""\n    two: int = 2\n    three: int = 3\n'
    assert fields_without_docstring(source) == {"AnyOptions": ["two", "three"]}

    def call(*, one: int = 1, two: int = 2) -> None:
        """Does it with `one=1`; two is not code."""

    assert keywords_without_words(call) == ["two"]
    assert keywords_without_words(call, "`two`") == []
