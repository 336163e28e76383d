"""Evaluates the expressions of a policy for one request, one binding and one parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document
from pilotage.schema.cel.admission.budget import POLICY_UNITS, Allowance
from pilotage.schema.cel.admission.evaluation import AdmissionExpression, expression_of
from pilotage.schema.cel.expression import EvaluationError
from pilotage.server.matching.evaluation import Evaluator

_NAMESPACE_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "resourceVersion",
    "finalizers",
)

Compiled = Callable[[str], AdmissionExpression]


class Evaluation:
    """The variables of a request, and those that the policy composes, which are evaluated when they are used."""

    def __init__(self, evaluator: Evaluator, variables: Mapping[str, Any], composed: Sequence[Document] = ()) -> None:
        self._evaluator = evaluator
        self._variables = dict(variables)
        self._composed = {each["name"]: each["expression"] for each in composed}
        self._values: dict[str, Any] = {}
        self._errors: dict[str, str] = {}
        self._allowance = Allowance(POLICY_UNITS)

    async def evaluate(self, text: str, compiled: Compiled = expression_of) -> Any:
        """The result of an expression. Raises EvaluationError with the text of kube-apiserver; OutOfBudgetError if no
        further expression may be evaluated."""
        try:
            return await self._evaluate(compiled(text))
        except (EvaluationError, InvalidDefinition) as error:
            raise EvaluationError(f"expression '{text}' resulted in error: {error}") from error

    def replace_object(self, new: Document | None) -> None:
        """Use another object, for the next mutation: variables are evaluated again, and the allowance is a new one."""
        self._variables["object"] = new
        self._allowance = Allowance(POLICY_UNITS)
        self._values.clear()
        self._errors.clear()

    async def _evaluate(self, expression: AdmissionExpression) -> Any:
        used = expression.fields_of("variables", self._composed)
        failed = [name for name in used if not await self._compose(name)]
        try:
            variables = {**self._variables, "variables": self._values}
            return await self._evaluator.evaluate(expression, variables, self._allowance)
        except EvaluationError:
            # The failure of a variable is ignored if the expression does not need its value.
            if not failed:
                raise
            raise EvaluationError(self._errors[failed[0]]) from None

    async def _compose(self, name: str) -> bool:
        """Evaluate a variable, once; returns whether it has a value."""
        if name in self._values or name in self._errors:
            return name in self._values
        try:
            # This ends: a variable can use only those before it, or the policy would not have been stored.
            value = self._values[name] = await self._evaluate(expression_of(self._composed[name]))
            self._evaluator.budget.hold(value)
        except (EvaluationError, InvalidDefinition) as error:
            self._errors[name] = f'composited variable "{name}" fails to evaluate: {error}'
            return False
        return True


def namespace_object(namespace: Document | None) -> Document | None:
    """The fields of a namespace that expressions can use."""
    if namespace is None:
        return None
    metadata = namespace["metadata"]
    kept = {name: metadata[name] for name in _NAMESPACE_FIELDS if name in metadata}
    found: Document = {"metadata": kept}
    if finalizers := (namespace.get("spec") or {}).get("finalizers"):
        found["spec"] = {"finalizers": finalizers}
    if status := namespace.get("status"):
        found["status"] = {key: status[key] for key in ("phase", "conditions") if key in status}
    return found
