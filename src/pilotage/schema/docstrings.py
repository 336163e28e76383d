"""What a class says about itself and its fields: docstrings, and the string literals that stand under fields."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from functools import cache


def of_class(cls: type) -> str:
    """The class's own docstring, never an inherited one; empty if it has none."""
    text = cls.__dict__.get("__doc__")
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def of_fields(cls: type) -> dict[str, str]:
    """The text under each field by its Python name, those of base classes too. Empty where there is no source."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= _own(base)
    return found


@cache
def _own(cls: type) -> dict[str, str]:
    if "__annotations__" not in cls.__dict__:
        return {}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):  # made by hand or in a console: nothing to read
        return {}
    definition = next((node for node in tree.body if isinstance(node, ast.ClassDef)), None)
    body = definition.body if definition else []
    return {
        above.target.id: inspect.cleandoc(below.value.value)
        for above, below in itertools.pairwise(body)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }
