"""Evaluates CEL expressions for one request; RBAC answers their questions to the authorizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document
from pilotage.rest.request import User
from pilotage.schema.cel.admission.budget import (
    CHECK_UNITS,
    MATCH_UNITS,
    MAXIMUM_CHECKS,
    Allowance,
    OutOfBudgetError,
    RequestBudget,
)
from pilotage.schema.cel.admission.evaluation import (
    AdmissionExpression,
    AuthorizerDecision,
    Decisions,
    Question,
    expression_of,
)
from pilotage.schema.cel.expression import EvaluationError
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import Authorizer
from pilotage.server.access.users import service_account
from pilotage.server.admission import Attributes
from pilotage.server.matching.requests import IN_PROCESS


class Evaluator:
    """Evaluates expressions about one request, within the budget that all expressions of the request share."""

    def __init__(self, attributes: Attributes, authorizer: Authorizer) -> None:
        self.budget = attributes.reinvocation.kept("CEL", RequestBudget)
        self._user = attributes.user if attributes.user.name else IN_PROCESS
        self._authorizer = authorizer
        self._decisions = Decisions()
        self._request_resource = {
            "group": attributes.resource.group,
            "resource": attributes.resource.resource,
            "subresource": attributes.subresource,
            "namespace": attributes.namespace,
            "name": attributes.name,
        }

    async def evaluate(
        self, expression: AdmissionExpression, variables: Mapping[str, Any], allowance: Allowance
    ) -> Any:
        """The result of an expression; `authorizer` is added to its variables. Raises EvaluationError."""
        data = {**variables, "authorizer": {"requestResource": self._request_resource}}
        decisions = self._decisions
        try:
            while True:
                try:
                    return expression.evaluate(data, decisions, self.budget)
                except EvaluationError:
                    if not decisions.open:
                        raise
                for question in list(decisions.open):
                    decisions.answers[question] = await self._decide(question)
        finally:
            allowance.spend(CHECK_UNITS * min(decisions.checks, MAXIMUM_CHECKS))

    async def _decide(self, question: Question) -> AuthorizerDecision:
        user = self._user
        if question.service_account:
            namespace, _, name = question.service_account.partition(":")
            user = service_account(namespace, name)
        decision = await self._authorizer.authorize(_access(question, user))
        return AuthorizerDecision(
            decision.allowed, decision.reason, "; ".join(decision.errors) if not decision.allowed else ""
        )


def _access(question: Question, user: User) -> AccessAttributes:
    if question.path:
        return AccessAttributes(user, question.verb, path=question.path)
    return AccessAttributes(
        user,
        question.verb,
        question.group,
        question.resource,
        question.subresource,
        question.name,
        question.namespace,
    )


class ConditionsError(Exception):
    """Conditions that cannot be evaluated, with a failure policy that fails the request for it."""


async def matches_conditions(
    conditions: Sequence[Document], evaluator: Evaluator, variables: Mapping[str, Any], *, fail: bool
) -> bool:
    """Whether all conditions are true. If one is false, the errors of others are ignored.

    Raises ConditionsError if one fails and none is false, if `fail`; else the request does not match.
    """
    problems: list[str] = []
    allowance = Allowance(MATCH_UNITS)
    for condition in conditions:
        text = condition["expression"]
        try:
            if await evaluator.evaluate(expression_of(text), variables, allowance) is False:
                return False
        except OutOfBudgetError as error:
            if fail:
                raise ConditionsError(str(error)) from error
            return False
        except (EvaluationError, InvalidDefinition) as error:
            problems.append(f"expression '{text}' resulted in error: {error}")
    if problems and fail:
        raise ConditionsError(problems[0] if len(problems) == 1 else f"[{', '.join(dict.fromkeys(problems))}]")
    return not problems
