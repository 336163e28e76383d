"""Match conditions: CEL expressions that decide whether a webhook or a policy applies to a request."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.schema.cel.admission.expressions import INSTANTIATION, AdmissionCompiler
from pilotage.server.strategies.checks.items import validate_at_most, validate_unique
from pilotage.server.strategies.checks.texts import validate_text

_MAX_CONDITIONS = 64


def expression_cause(path: str, expression: str, problem: str) -> Cause:
    """The cause for an expression that does not compile, or from which no program can be created."""
    if problem.startswith(INSTANTIATION):
        return Cause("InternalError", f"Internal error: {problem}", path)
    return invalid(path, expression, problem)


def validate_match_conditions(conditions: list[Document], path: str, *, params: bool = False) -> Iterator[Cause]:
    """What is wrong with match conditions; with `params` they may use the parameters of a policy."""
    yield from validate_at_most(conditions, path, _MAX_CONDITIONS)
    compiler = AdmissionCompiler(params=params)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if not expression:
            yield required(f"{at}.expression")
        elif problem := compiler.problem(expression, "bool"):
            yield expression_cause(f"{at}.expression", expression, problem)
        if not name:
            yield required(f"{at}.name")
            continue
        yield from validate_text(name, f"{at}.name", qualified_name)
        yield from validate_unique(name, f"{at}.name", seen)
