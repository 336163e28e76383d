"""Whether an expression compiles, for fields that have one outside of a schema: device selectors, match conditions."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

from pilotage.errors import MissingExtra
from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.expression import CompileError, compiled

Variables = tuple[tuple[str, str], ...]
"""The variables of an expression with CEL's names of their types: `("object", "dyn")`."""
_SCALARS = ("bool", "int", "uint", "double", "string", "bytes")


class Checked(NamedTuple):
    """The result of a check."""

    problem: str
    """Why the expression does not compile; empty if it does, or if no engine is installed."""
    type: str
    """CEL's name of the type that it returns; `dyn` if that is known only when it runs."""


def check_expression(text: str, variables: Variables) -> Checked:
    """Compile an expression over these variables."""
    try:
        return _checked(text, variables)
    except MissingExtra:
        return Checked("", "dyn")


@lru_cache(1024)
def _checked(text: str, variables: Variables) -> Checked:
    try:
        program = compiled(_environment(variables), text)
    except CompileError as error:
        return Checked(f"compilation failed: {error}", "dyn")
    found = str(program.return_type()).lower()
    return Checked("", found if found in _SCALARS or "<" in found or found == "null" else "dyn")


@cache
def _environment(variables: Variables) -> Any:
    return environments.with_variables({name: kind if kind in _SCALARS else "dyn" for name, kind in variables})
