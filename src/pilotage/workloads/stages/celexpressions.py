"""CEL expressions of Stage files, over `self`. The engine needs the extra `cel`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.admission.budget import OutOfBudgetError, RequestBudget
from pilotage.schema.cel.ast import read_expr
from pilotage.schema.cel.costs.bounds import cost
from pilotage.schema.cel.costs.sizes import Extent, Observed, encoded_size
from pilotage.schema.cel.expression import EvaluationError, check, compiled, executable, translated
from pilotage.schema.cel.fields import only_fields, used_fields
from pilotage.schema.cel.patterns import constant_patterns


class CelFailed(Exception):
    """An expression that failed for a document."""


class CelExpression:
    """An expression, compiled."""

    def __init__(self, text: str) -> None:
        environments.binding("a Stage with CEL expressions")
        self.text = text
        program = compiled(environments.untyped(), text)
        plain = read_expr(program.serialize())
        check(plain, text)
        self._patterns = constant_patterns(plain)
        self._program, self._tree, _ = executable(environments.untyped(), program)
        self._fields = used_fields(plain, "self")

    def evaluate(self, document: Any) -> Any:
        """The result as a plain value. Raises CelFailed."""
        value = only_fields(document, self._fields)
        size, entries = encoded_size(value)
        bound = cost(self._tree, {"self": Observed([value])}, Extent(all_chars=size, all_entries=entries))
        budget = RequestBudget()
        try:
            budget.check(bound)
            with budget.spending() as meter, meter.measuring(self._patterns):
                result = environments.evaluated(self._program, {"self": value, "oldSelf": None})
                failed = result.type() == environments.binding().Type.ERROR
                found = None if failed else result.plain_value()
        except (EvaluationError, OutOfBudgetError) as error:
            raise CelFailed(str(error)) from None
        except Exception as error:  # the binding raises RuntimeError, TypeError and whatever a function raised
            raise CelFailed(translated(str(error))) from None
        if failed:
            raise CelFailed(translated(str(result.value())))
        return found

    def __repr__(self) -> str:
        return f"CelExpression({self.text!r})"


@lru_cache(maxsize=256)
def cel(text: str) -> CelExpression:
    """An expression by its text. Raises InvalidDefinition, and MissingExtra without the engine."""
    return CelExpression(text)
