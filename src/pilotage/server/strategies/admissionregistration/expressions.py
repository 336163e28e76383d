"""The expressions of webhooks and policies: which variables they have, and what they return."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, required, too_many
from pilotage.meta.documents import Document
from pilotage.meta.names import qualified_name
from pilotage.schema.cel.checking import Checked, Variables, check_expression
from pilotage.schema.cel.source import replaced_outside_literals
from pilotage.server.strategies.checks.texts import validate_required_text

_MAX_CONDITIONS = 64
_REQUEST = ("object", "oldObject", "request", "namespaceObject")
_variable = re.compile(r"(?<![\w.])variables\s*\.\s*([A-Za-z_]\w*)")
_PREFIX = "__variable_"


class Scope:
    """What the expressions of one webhook or policy can use."""

    def __init__(self, *, params: bool = False) -> None:
        self._params = params
        self._declared: dict[str, str] = {}

    def declare(self, name: str, checked: Checked) -> None:
        """Make a variable known to the expressions that follow."""
        self._declared[name] = checked.type

    def check(self, text: str, *, authorizer: bool = True) -> Checked:
        """Compile an expression."""
        names = [*_REQUEST, *(("params",) if self._params else ()), *(("authorizer",) if authorizer else ())]
        known: Variables = tuple((name, "dyn") for name in names)
        own = tuple((_PREFIX + name, kind) for name, kind in self._declared.items())
        return check_expression(self._resolved(text) if own else text, known + own)

    def problem(self, text: str, returns: tuple[str, ...], *, authorizer: bool = True) -> str:
        """Why an expression is not one that returns one of these types; empty if it is."""
        problem, kind = self.check(text, authorizer=authorizer)
        if problem or kind in (*returns, "dyn"):
            return problem
        expected = " or ".join(returns)
        return f"must evaluate to {expected} but got {kind}"

    def _resolved(self, text: str) -> str:
        """The expression with a variable of its own for each `variables.name`, so that it has the type of it."""

        def resolve(found: re.Match[str]) -> str:
            return _PREFIX + found[1] if found[1] in self._declared else found[0]

        return replaced_outside_literals(text, _variable, resolve)


def validate_match_conditions(conditions: Sequence[Document], path: str, scope: Scope) -> Iterator[Cause]:
    """Conditions that a request must meet."""
    if len(conditions) > _MAX_CONDITIONS:
        yield too_many(path, len(conditions), _MAX_CONDITIONS)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        place, name = f"{path}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if not expression:
            yield required(f"{place}.expression")
        elif problem := scope.problem(expression, ("bool",)):
            yield invalid(f"{place}.expression", expression, problem)
        yield from validate_required_text(name, f"{place}.name", qualified_name)
        if name and name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
