"""Match conditions: CEL expressions that decide whether a webhook or a policy is for a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document
from pilotage.schema.cel.admission.evaluation import expression_of
from pilotage.schema.cel.expression import EvaluationError
from pilotage.server.matching.evaluation import Evaluator


class ConditionsError(Exception):
    """Conditions that cannot be evaluated, with a failure policy that fails the request for it."""


async def matches_conditions(
    conditions: Sequence[Document], evaluator: Evaluator, variables: Mapping[str, Any], *, fail: bool
) -> bool:
    """Whether all conditions are true. One that is false decides, whatever others fail with.

    Raises ConditionsError where one fails and none is false, if `fail`; else that is no match.
    """
    problems: list[str] = []
    for condition in conditions:
        text = condition["expression"]
        try:
            if await evaluator.evaluate(expression_of(text), variables) is False:
                return False
        except (EvaluationError, InvalidDefinition) as error:
            problems.append(f"expression '{text}' resulted in error: {error}")
    if problems and fail:
        raise ConditionsError(problems[0] if len(problems) == 1 else f"[{', '.join(dict.fromkeys(problems))}]")
    return not problems
