"""Whether an expression compiles, for fields that have one outside of a schema: device selectors, match conditions."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from pilotage.errors import MissingExtra
from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.expression import CompileError, compiled


def expression_problem(text: str, variables: tuple[str, ...], returns: str = "bool") -> str:
    """Why an expression over these variables is not one; empty if it is, or if no engine is installed to check it."""
    try:
        return _problem(text, variables, returns)
    except MissingExtra:
        return ""


@lru_cache(1024)
def _problem(text: str, variables: tuple[str, ...], returns: str) -> str:
    try:
        program = compiled(_environment(variables), text)
    except CompileError as error:
        return f"compilation failed: {error}"
    found = str(program.return_type()).lower()
    return "" if found in (returns, "dyn") else f"must evaluate to {returns} or the unknown type, not {found}"


@cache
def _environment(variables: tuple[str, ...]) -> Any:
    return environments.with_variables(variables)
