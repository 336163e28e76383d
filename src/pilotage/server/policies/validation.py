"""What a ValidatingAdmissionPolicy decides about a request."""

from __future__ import annotations

from dataclasses import dataclass, field

from pilotage.meta.documents import Document
from pilotage.schema.cel.admission.budget import OutOfBudgetError
from pilotage.schema.cel.expression import EvaluationError
from pilotage.server.matching.evaluation import ConditionsError, Evaluator, matches_conditions
from pilotage.server.policies.evaluation import Evaluation
from pilotage.server.policies.policy import Policy

MAX_ANNOTATION = 10 * 1024
"""Characters of the value of an audit annotation."""
_MAX_MESSAGE_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class Denial:
    """A validation that is not fulfilled, or cannot be evaluated."""

    message: str
    reason: str = "Invalid"
    always: bool = False
    """Whether it rejects the request regardless of the binding's actions: an audit annotation that cannot be
    evaluated."""
    index: int = 0
    """Which of the validations it is."""


@dataclass(slots=True)
class PolicyDecision:
    """The decision of a policy about a request."""

    denials: list[Denial] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    """For the audit log, by their keys without the name of the policy."""


async def verdict(policy: Policy, evaluator: Evaluator, variables: Document) -> PolicyDecision:
    """Evaluate all validations and audit annotations of a policy."""
    spec = policy.spec
    try:
        conditions = spec.get("matchConditions") or ()
        if conditions and not await matches_conditions(conditions, evaluator, variables, fail=policy.fails):
            return PolicyDecision()
    except ConditionsError as error:
        return PolicyDecision([Denial(str(error))])
    evaluation = Evaluation(evaluator, variables, spec.get("variables") or ())
    found = PolicyDecision()
    try:
        await _validate(policy, evaluation, found)
        await _annotate(policy, evaluation, found)
    except OutOfBudgetError as error:
        return PolicyDecision([Denial(str(error))] if policy.fails else [])
    return found


async def _validate(policy: Policy, evaluation: Evaluation, found: PolicyDecision) -> None:
    for index, validation in enumerate(policy.spec.get("validations") or ()):
        try:
            if await evaluation.evaluate(validation["expression"]) is not True:
                reason = validation.get("reason") or "Invalid"
                found.denials.append(Denial(await _message(validation, evaluation), reason, index=index))
        except EvaluationError as error:
            if policy.fails:
                found.denials.append(Denial(str(error), index=index))


async def _annotate(policy: Policy, evaluation: Evaluation, found: PolicyDecision) -> None:
    for annotation in policy.spec.get("auditAnnotations") or ():
        try:
            value = await evaluation.evaluate(annotation["valueExpression"])
        except EvaluationError as error:
            if policy.fails:
                found.denials.append(Denial(str(error), always=True))
        else:
            text = value.strip() if isinstance(value, str) else ""
            if text:
                found.annotations[annotation["key"]] = text[:MAX_ANNOTATION]


async def _message(validation: Document, evaluation: Evaluation) -> str:
    """The message of an unfulfilled validation: the result of its message expression, its own message, or the
    expression that failed."""
    message = ""
    if text := validation.get("messageExpression"):
        try:
            found = await evaluation.evaluate(text)
        except OutOfBudgetError as error:
            raise EvaluationError(f"failed messageExpression: {error}") from error
        except EvaluationError:
            found = None
        message = found.strip() if isinstance(found, str) else ""
        if len(message.encode()) > _MAX_MESSAGE_BYTES or "\n" in message:
            message = ""
    given = (validation.get("message") or "").strip()
    return message or given or f"failed expression: {validation['expression'].strip()}"
