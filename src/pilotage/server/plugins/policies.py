"""The plugins MutatingAdmissionPolicy and ValidatingAdmissionPolicy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from pilotage.errors import ApiError, Cause, from_status
from pilotage.server.admission import Attributes
from pilotage.server.matching.mutation import Mutation
from pilotage.server.matching.reinvocation import Again
from pilotage.server.matching.requests import VersionedObjects, admission_request
from pilotage.server.plugins.plugin import DynamicAdmission, Plugin, PluginContext, forbidden
from pilotage.server.plugins.policydispatch import Application, PolicyDispatcher

if TYPE_CHECKING:
    from pilotage.server.policies.validation import Denial

_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a request is refused."""

    application: Application
    message: str
    reason: str = "Invalid"


class _PolicyPlugin(Plugin):
    """What both plugins have in common."""

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        assert context.dynamic is not None, "the registry sets it before requests are served"
        self._dynamic: DynamicAdmission = context.dynamic
        self._dispatcher = PolicyDispatcher(context, self._dynamic, self.name)

    async def _variables(
        self, application: Application, attributes: Attributes, objects: VersionedObjects
    ) -> dict[str, Any]:
        """The variables of expressions, except for those that a policy composes."""
        from pilotage.server.policies.evaluation import namespace_object  # with CEL

        match = application.match
        assert match is not None
        new, old = await objects.at(match)
        return {
            "object": new,
            "oldObject": old,
            "request": admission_request(attributes, match),
            "namespaceObject": namespace_object(await self._dispatcher.namespace(attributes)),
            "params": application.param,
        }


class MutatingAdmissionPolicy(_PolicyPlugin):
    """Changes what is written, by the mutations of policies, one after another."""

    name = "MutatingAdmissionPolicy"

    async def mutate(self, attributes: Attributes) -> None:
        policies = await self._dispatcher.policies(attributes)
        if not policies or attributes.new is None:
            return
        mutation = Mutation(attributes, self._dynamic.convert)
        again = Again.of(self.name, attributes)
        found = [each for policy in policies async for each in self._dispatcher.applications(policy, attributes)]
        refusals = [_Refusal(each, each.problem, "") for each in found if each.problem]
        for application in found:
            if application.problem or not again.includes(application.identity):
                continue
            changed, problems = await self._mutate(application, attributes, mutation)
            refusals += [_Refusal(application, problem) for problem in problems]
            if changed:
                again.record_change(attributes)
            if application.policy.spec.get("reinvocationPolicy") == "IfNeeded":
                again.called.add(application.identity)
        mutation.finish()
        again.finish(attributes)
        refusals = [each for each in refusals if each.application.policy.fails]
        if refusals:
            raise _mutation_error(attributes, refusals)

    async def _mutate(
        self, application: Application, attributes: Attributes, mutation: Mutation
    ) -> tuple[bool, list[str]]:
        """Apply the mutations of a policy: returns whether they change anything, and which of them fail."""
        from pilotage.schema.cel.admission.budget import OutOfBudgetError
        from pilotage.schema.cel.expression import EvaluationError  # with CEL
        from pilotage.server.matching.evaluation import ConditionsError, Evaluator, matches_conditions
        from pilotage.server.policies.evaluation import Evaluation
        from pilotage.server.policies.mutation import MutationError, mutated

        policy, match = application.policy, application.match
        assert match is not None
        evaluator = Evaluator(attributes, self._dynamic.authorizer)
        variables = await self._variables(application, attributes, mutation.objects)
        conditions = policy.spec.get("matchConditions") or ()
        try:
            if conditions and not await matches_conditions(conditions, evaluator, variables, fail=policy.fails):
                return False, []
        except ConditionsError as error:
            return False, [str(error)]
        evaluation = Evaluation(evaluator, variables, policy.spec.get("variables") or ())
        changed, problems = False, list[str]()
        for each in policy.spec.get("mutations") or ():
            new, _ = await mutation.objects.at(match)
            assert new is not None
            try:
                patched = await mutated(each, new, attributes.body or match.info, evaluation)
            except (EvaluationError, MutationError, OutOfBudgetError) as error:
                problems.append(str(error))
                continue
            changed = await mutation.replace(patched, match) or changed
            evaluation.replace_object((await mutation.objects.at(match))[0])
        return changed, problems


class ValidatingAdmissionPolicy(_PolicyPlugin):
    """Refuses writes that do not fulfil the validations of a policy."""

    name = "ValidatingAdmissionPolicy"

    async def validate(self, attributes: Attributes) -> None:
        policies = await self._dispatcher.policies(attributes)
        if not policies:
            return
        objects = VersionedObjects(attributes, self._dynamic.convert)
        refusals: list[_Refusal] = []
        for policy in policies:
            noted: dict[str, list[str]] = {}
            async for application in self._dispatcher.applications(policy, attributes):
                if application.problem and policy.fails:
                    refusals.append(_Refusal(application, application.problem))
                elif not application.problem:
                    refusals += await self._evaluate(application, attributes, objects, noted)
            for key, values in noted.items():
                attributes.annotate(f"{policy.name}/{key}", ", ".join(dict.fromkeys(values)))
        if refusals:
            raise _error(attributes, refusals[0])

    async def _evaluate(
        self, application: Application, attributes: Attributes, objects: VersionedObjects, noted: dict[str, list[str]]
    ) -> list[_Refusal]:
        """Evaluate a policy: returns its refusals. Warnings are added to the warnings of the request, the values of
        audit annotations to `noted`."""
        from pilotage.server.matching.evaluation import Evaluator  # with CEL
        from pilotage.server.policies.validation import verdict

        policy, binding = application.policy, application.binding
        assert binding is not None
        variables = await self._variables(application, attributes, objects)
        refusals: list[_Refusal] = []
        found = await verdict(policy, Evaluator(attributes, self._dynamic.authorizer), variables)
        for key, value in found.annotations.items():
            noted.setdefault(key, []).append(value)
        for denial in found.denials:
            if denial.always or "Deny" in binding.actions:
                refusals.append(_Refusal(application, denial.message, denial.reason))
            if not denial.always and "Audit" in binding.actions:
                attributes.annotate(_FAILURE, _failure(application, denial))
            if not denial.always and "Warn" in binding.actions:
                attributes.warnings.append(
                    f"Validation failed for {self.name} '{policy.name}' with binding '{binding.name}': {denial.message}"
                )
        return refusals


def _failure(application: Application, denial: Denial) -> str:
    """The value of the audit annotation about a validation that is not fulfilled."""
    policy, binding = application.policy, application.binding
    assert binding is not None
    failure = {
        "message": denial.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": denial.index,
        "validationActions": list(binding.actions),
    }
    return msgspec.json.encode([failure]).decode()


def _error(attributes: Attributes, refusal: _Refusal) -> ApiError:
    policy, binding = refusal.application.policy, refusal.application.binding
    where = f" with binding '{binding.name}'" if binding is not None else ""
    message = f"ValidatingAdmissionPolicy '{policy.name}'{where} denied request: {refusal.message}"
    status = forbidden(attributes, message).status
    assert status.details is not None
    details = status.details.replace(causes=(Cause(message=message),))
    return from_status(status.replace(code=_CODES.get(refusal.reason, 422), reason=refusal.reason, details=details))


def _mutation_error(attributes: Attributes, refusals: list[_Refusal]) -> ApiError:
    """The error of the first refusal, with all refusals as causes."""
    status = forbidden(attributes, "").status
    assert status.details is not None
    causes = tuple(Cause(message=_mutation_message(each)) for each in refusals)
    reason = refusals[0].reason or status.reason
    details = status.details.replace(causes=causes)
    return from_status(status.replace(reason=reason, message=causes[0].message, details=details))


def _mutation_message(refusal: _Refusal) -> str:
    policy, binding = refusal.application.policy, refusal.application.binding
    where = f"'{policy.name}' with binding '{binding.name}'" if binding is not None else f'"{policy.name}"'
    return f"policy {where} denied request: {refusal.message}"
