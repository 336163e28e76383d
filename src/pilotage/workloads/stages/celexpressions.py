"""CEL expressions of Stage files, over `self`. The engine needs the extra `cel`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.ast import read_expr
from pilotage.schema.cel.expression import EvaluationError, check, compiled, executable, translated
from pilotage.schema.cel.fields import only_fields, used_fields


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
        self._program, _, _ = executable(environments.untyped(), program)
        self._fields = used_fields(plain, "self")

    def evaluate(self, document: Any) -> Any:
        """The result as a plain value. Raises CelFailed."""
        try:
            result = environments.evaluated(
                self._program, {"self": only_fields(document, self._fields), "oldSelf": None}
            )
            if result.type() == environments.binding().Type.ERROR:
                raise EvaluationError(str(result.value()))
            return result.plain_value()
        except Exception as error:  # the binding raises RuntimeError, TypeError and whatever a function raised
            raise CelFailed(translated(str(error))) from None

    def __repr__(self) -> str:
        return f"CelExpression({self.text!r})"


@lru_cache(maxsize=256)
def cel(text: str) -> CelExpression:
    """An expression by its text. Raises InvalidDefinition, and MissingExtra without the engine."""
    return CelExpression(text)
