"""Descriptions of classes and fields: docstrings, and the string literals below fields."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from functools import cache, lru_cache

_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)  # the nodes that can contain a class


def of_class(cls: type) -> str:
    """The class's own docstring, never an inherited one; empty if it has no docstring."""
    text = cls.__dict__.get("__doc__")
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def of_fields(cls: type) -> dict[str, str]:
    """The text below each field by its Python name, also of base classes. Empty if the source is not available."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= _own(base)
    return found


@cache
def _own(cls: type) -> dict[str, str]:
    if not getattr(cls, "__struct_fields__", ()):  # of a class that has no fields, nor inherits any
        return {}
    try:
        definitions = _definitions(inspect.getsource(sys.modules[cls.__module__])).get(cls.__qualname__, [])
    except (KeyError, OSError, TypeError, SyntaxError):  # created at run time or in a console: no source
        return {}
    line = cls.__dict__.get("__firstlineno__")  # since Python 3.13; before, the last class of that name is used
    return next((texts for first, texts in reversed(definitions) if line in (None, first)), {})


@lru_cache(maxsize=16)
def _definitions(source: str) -> dict[str, list[tuple[int, dict[str, str]]]]:
    """The first line and the texts of every class of a module, by qualified name.

    A module is parsed once for all its classes: parsing it for each of the built-in types takes seconds.
    """
    found: dict[str, list[tuple[int, dict[str, str]]]] = {}
    waiting: list[tuple[str, ast.AST]] = [("", ast.parse(source))]
    while waiting:
        prefix, node = waiting.pop()
        match node:
            case ast.ClassDef():
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                found.setdefault(prefix + node.name, []).append((first, _texts(node.body)))
                prefix = f"{prefix}{node.name}."
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                prefix = f"{prefix}{node.name}.<locals>."
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, _HOLDERS)]
        waiting += ((prefix, child) for child in reversed(children))
    return found


def _texts(body: list[ast.stmt]) -> dict[str, str]:
    return {
        above.target.id: inspect.cleandoc(below.value.value)
        for above, below in itertools.pairwise(body)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }
