"""Match conditions: CEL expressions that decide whether a webhook or a policy applies to a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.schema.cel.admission.expressions import INSTANTIATION, AdmissionCompiler
from pilotage.server.strategies.checks import items, texts

_MAX_CONDITIONS = 64


def expression_cause(path: str, expression: str, problem: str) -> Cause:
    """The cause for an expression that does not compile, or from which no program can be created."""
    if problem.startswith(INSTANTIATION):
        return Cause("InternalError", f"Internal error: {problem}", path)
    return invalid(path, expression, problem)


def validate_expression(
    expression: str, path: str, detail: str, compile_problem: Callable[..., str | None], *args: str
) -> Iterator[Cause]:
    """An expression that compiles, and is not empty, which `detail` is about."""
    if not expression.strip():
        yield required(path, detail)
    elif problem := compile_problem(expression, *args):
        yield expression_cause(path, expression, problem)


def validate_match_conditions(conditions: list[Document], path: str, *, params: bool = False) -> Iterator[Cause]:
    """What is wrong with match conditions; with `params` they may use the parameters of a policy."""
    yield from items.at_most(conditions, path, _MAX_CONDITIONS)
    compiler = AdmissionCompiler(params=params)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        yield from validate_expression(expression, f"{at}.expression", "", compiler.problem, "bool")
        if not name:
            yield required(f"{at}.name")
            continue
        yield from texts.text(name, f"{at}.name", qualified_name)
        yield from items.unique(name, f"{at}.name", seen)
