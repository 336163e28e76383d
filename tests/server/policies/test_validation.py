"""ValidatingAdmissionPolicies, on every API server."""

from __future__ import annotations

from typing import Any

import pytest

import pilotage as pt
from pilotage.errors import ApiError, Forbidden, Invalid
from pilotage.types.core.v1 import ConfigMap

from ...environments import Environment
from .objects import PROBE, Policies, accepted, create, refusal

pytest.importorskip("cel_expr_python")

NOT_PROBE = {"expression": f"object == null || object.metadata.name != '{PROBE}'"}


def validations(*found: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"validations": list(found), **spec}


def denied(policies: Policies, name: str, message: str) -> str:
    full = policies.name(name)
    return f"ValidatingAdmissionPolicy '{full}' with binding '{full}' denied request: {message}"


async def test_a_validation_that_is_not_fulfilled_refuses_the_write(environment: Environment) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    size = {"expression": "size(object.data) < 3", "message": "too many keys"}
    bad = {
        "expression": "!('bad' in object.data)",
        "messageExpression": "'no bad data in ' + object.metadata.name",
        "reason": "Forbidden",
    }
    number = {"expression": "variables.n < 2"}
    variables = [{"name": "n", "expression": "'n' in object.data ? int(object.data.n) : 0"}]
    spec = validations(size, bad, number, NOT_PROBE, variables=variables)
    await policies.create("rules", spec, {"validationActions": ["Deny"]})
    await policies.active()
    error = await refusal(environment, "many", {"a": "1", "b": "2", "c": "3"})
    assert isinstance(error, Invalid)
    message = denied(policies, "rules", "too many keys")
    assert error.status.message == f'configmaps "many" is forbidden: {message}'
    assert [cause.message for cause in error.causes] == [message]
    error = await refusal(environment, "bad", {"bad": "x"})
    assert isinstance(error, Forbidden)
    assert error.status.code == 403
    assert error.status.message.endswith("no bad data in bad")
    error = await refusal(environment, "number", {"n": "5"})
    assert error is not None
    assert error.status.message.endswith("failed expression: variables.n < 2")
    error = await refusal(environment, "word", {"n": "five"})
    assert error is not None
    assert error.status.message.endswith(
        "expression 'variables.n < 2' resulted in error: composited variable \"n\" fails to evaluate: "
        "type conversion error from 'string' to 'int'"
    )
    assert await refusal(environment, "good", {"a": "1"}) is None
    with pytest.raises(Invalid):
        await environment.client.patch(
            ConfigMap, {"data": {"b": "2", "c": "3"}}, name="good", namespace=environment.namespace
        )


async def test_a_binding_may_warn_instead_of_refusing(environment: Environment) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    await policies.create("warning", validations({"expression": "'a' in object.data"}), {"validationActions": ["Warn"]})
    await policies.create("last", validations(NOT_PROBE), {"validationActions": ["Deny"]})
    await policies.active()
    environment.warnings.clear()
    await create(environment, "odd", {"b": "1"})
    full = policies.name("warning")
    assert environment.warnings == [
        f"Validation failed for ValidatingAdmissionPolicy '{full}' with binding '{full}': "
        "failed expression: 'a' in object.data"
    ]


async def test_match_conditions_select_and_an_error_in_them_follows_the_failure_policy(
    environment: Environment,
) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    never = {"expression": "false"}
    named = [{"name": "named", "expression": "object.metadata.name.startsWith('x')"}]
    broken = [{"name": "broken", "expression": "object.data.absent == ''"}]
    deny = {"validationActions": ["Deny"]}
    await policies.create("a-ignored", validations(never, matchConditions=broken, failurePolicy="Ignore"), deny)
    await policies.create("named", validations(never, matchConditions=named), deny)
    await policies.create("z-probe", validations(NOT_PROBE), deny)
    await policies.active()
    assert await refusal(environment, "a") is None
    error = await refusal(environment, "xa")
    assert error is not None
    assert "failed expression: false" in error.status.message
    await policies.create("b-failing", validations(never, matchConditions=broken), deny)
    if not environment.real:  # which takes a moment to read it
        error = await refusal(environment, "b")
        assert error is not None
        assert "resulted in error: no such key: absent" in error.status.message


async def test_parameters_are_objects_that_a_binding_names(environment: Environment) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    await create(environment, "limits", {"most": "1"})
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    rule = {
        "expression": "size(object.data) <= int(params.data.most)",
        "messageExpression": "string(params.metadata.name)",
    }
    spec = validations(rule, NOT_PROBE, paramKind=kind)
    reference = {"name": "limits", "parameterNotFoundAction": "Deny"}
    await policies.create("limited", spec, {"validationActions": ["Deny"], "paramRef": reference})
    await policies.active()
    await accepted(
        environment, "one", {"a": "1"}
    )  # the real server has parameters in another cache, and refuses until then
    assert await refusal(environment, "one", {"a": "1"}) is None
    error = await refusal(environment, "two", {"a": "1", "b": "2"})
    assert error is not None
    assert error.status.message.endswith("denied request: limits")


async def test_a_missing_parameter_is_refused_if_the_binding_denies_it() -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        policies = Policies(environment, "ValidatingAdmissionPolicy")
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        reference = {"name": "absent", "parameterNotFoundAction": "Deny"}
        binding = {"validationActions": ["Deny"], "paramRef": reference}
        await policies.create("limited", validations(NOT_PROBE, paramKind=kind), binding)
        error = await refusal(environment, "a")
        assert error is not None
        assert error.status.message.endswith(
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        )


async def test_a_kind_of_parameters_that_is_not_served_is_a_configuration_error() -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        policies = Policies(environment, "ValidatingAdmissionPolicy")
        spec = validations(NOT_PROBE, paramKind={"apiVersion": "none.dev/v1", "kind": "None"})
        reference = {"name": "absent", "parameterNotFoundAction": "Deny"}
        await policies.create("unknown", spec, {"validationActions": ["Deny"], "paramRef": reference})
        error = await refusal(environment, "a")
        assert error is not None
        assert error.status.message == (
            f"configmaps \"a\" is forbidden: ValidatingAdmissionPolicy '{policies.name('unknown')}' denied request: "
            "failed to configure policy: failed to find resource referenced by paramKind: 'none.dev/v1, Kind=None'"
        )


async def test_deletes_are_validated_by_the_old_object(environment: Environment) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    kept = {"expression": "object != null || !('keep' in oldObject.data)", "message": "it is kept"}
    operations = ("CREATE", "DELETE")
    await policies.create("kept", validations(kept, NOT_PROBE), {"validationActions": ["Deny"]}, operations=operations)
    await policies.active()
    await create(environment, "kept", {"keep": ""})
    await create(environment, "free")
    with pytest.raises(ApiError, match="it is kept"):
        await environment.client.delete(ConfigMap, "kept", namespace=environment.namespace)
    await environment.client.delete(ConfigMap, "free", namespace=environment.namespace)


async def test_expressions_see_the_namespace_the_request_and_what_the_user_may_do(environment: Environment) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    rule = {
        "expression": "namespaceObject.metadata.name == request.namespace && request.operation == 'CREATE' && "
        "request.userInfo.username != '' && "
        "authorizer.group('').resource('pods').namespace(request.namespace).check('create').allowed()"
    }
    operations = ("CREATE",)
    spec = validations(rule, NOT_PROBE)
    await policies.create("seen", spec, {"validationActions": ["Deny"]}, operations=operations)
    await policies.active()
    assert await refusal(environment, "a") is None


async def test_a_policy_without_a_binding_has_no_effect() -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        policies = Policies(environment, "ValidatingAdmissionPolicy")
        await policies.create("bound", validations({"expression": "false"}), {"validationActions": ["Deny"]})
        assert await refusal(environment, "a") is not None
        kind = pt.GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding")
        await cluster.client.delete(kind, policies.name("bound"))
        assert await refusal(environment, "a") is None
