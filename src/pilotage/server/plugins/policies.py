"""The plugin ValidatingAdmissionPolicy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotage.errors import ApiError, Cause, from_status
from pilotage.server.admission import Attributes
from pilotage.server.matching.requests import VersionedObjects, admission_request
from pilotage.server.plugins.plugin import DynamicAdmission, Plugin, PluginContext, forbidden
from pilotage.server.policies.dispatch import Application, PolicyDispatcher

_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a request is refused."""

    application: Application
    message: str
    reason: str = "Invalid"


class ValidatingAdmissionPolicy(Plugin):
    """Refuses writes that do not fulfil the validations of a policy."""

    name = "ValidatingAdmissionPolicy"

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        assert context.dynamic is not None, "a registry has it"
        self._dynamic: DynamicAdmission = context.dynamic
        self._dispatcher = PolicyDispatcher(context, self._dynamic, self.name)

    async def validate(self, attributes: Attributes) -> None:
        policies = await self._dispatcher.policies(attributes)
        if not policies:
            return
        objects = VersionedObjects(attributes, self._dynamic.convert)
        refusals: list[_Refusal] = []
        for policy in policies:
            async for application in self._dispatcher.applications(policy, attributes):
                if application.problem and policy.fails:
                    refusals.append(_Refusal(application, application.problem))
                elif not application.problem:
                    refusals += await self._refusals(application, attributes, objects)
        if refusals:
            raise _error(attributes, refusals[0])

    async def _refusals(
        self, application: Application, attributes: Attributes, objects: VersionedObjects
    ) -> list[_Refusal]:
        """Evaluate a policy: what is refused by it. Warnings are added to those of the request."""
        from pilotage.server.matching.evaluation import Evaluator  # with CEL
        from pilotage.server.policies.evaluation import namespace_object
        from pilotage.server.policies.validation import denials

        policy, binding, match = application.policy, application.binding, application.match
        assert binding is not None
        assert match is not None
        new, old = await objects.at(match)
        variables = {
            "object": new,
            "oldObject": old,
            "request": admission_request(attributes, match),
            "namespaceObject": namespace_object(await self._dispatcher.namespace(attributes)),
            "params": application.param,
        }
        refusals: list[_Refusal] = []
        for denial in await denials(policy, Evaluator(attributes, self._dynamic.authorizer), variables):
            if denial.always or "Deny" in binding.actions:
                refusals.append(_Refusal(application, denial.message, denial.reason))
            if not denial.always and "Warn" in binding.actions:
                attributes.warnings.append(
                    f"Validation failed for {self.name} '{policy.name}' with binding '{binding.name}': {denial.message}"
                )
        return refusals


def _error(attributes: Attributes, refusal: _Refusal) -> ApiError:
    policy, binding = refusal.application.policy, refusal.application.binding
    where = f" with binding '{binding.name}'" if binding is not None else ""
    message = f"ValidatingAdmissionPolicy '{policy.name}'{where} denied request: {refusal.message}"
    status = forbidden(attributes, message).status
    assert status.details is not None
    details = replace(status.details, causes=(Cause(message=message),))
    return from_status(replace(status, code=_CODES.get(refusal.reason, 422), reason=refusal.reason, details=details))
