from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("validatingadmissionpolicies.admissionregistration.k8s.io")
MUTATING = strategy_of("mutatingadmissionpolicies.admissionregistration.k8s.io")
BINDING = strategy_of("validatingadmissionpolicybindings.admissionregistration.k8s.io")
MUTATING_BINDING = strategy_of("mutatingadmissionpolicybindings.admissionregistration.k8s.io")
RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
SPEC: dict[str, Any] = {
    "matchConstraints": {"resourceRules": [RULE]},
    "validations": [{"expression": "object.spec.replicas <= 5"}],
}
MUTATION = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
CHANGING: dict[str, Any] = {
    "matchConstraints": {"resourceRules": [RULE]},
    "mutations": [MUTATION],
    "reinvocationPolicy": "Never",
}


def test_a_policy_gets_its_defaults() -> None:
    document, causes = created(STRATEGY, spec=SPEC)
    assert not causes
    assert document["spec"]["failurePolicy"] == "Fail"
    constraints = document["spec"]["matchConstraints"]
    assert (constraints["matchPolicy"], constraints["resourceRules"][0]["scope"]) == ("Equivalent", "*")
    assert constraints["namespaceSelector"] == constraints["objectSelector"] == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"matchConstraints": None}, ["matchConstraints"]),
        ({"matchConstraints": {}}, ["matchConstraints.resourceRules"]),
        ({"validations": []}, ["validations", "auditAnnotations"]),
        ({"validations": [{"expression": " "}]}, ["validations[0].expression"]),
        ({"validations": [{"expression": "1"}]}, ["validations[0].expression"]),
        ({"validations": [{"expression": "true", "message": "a\nb"}]}, ["validations[0].message"]),
        ({"validations": [{"expression": "true", "messageExpression": " "}]}, ["validations[0].messageExpression"]),
        (
            {
                "validations": [
                    {"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"}
                ]
            },
            ["validations[0].messageExpression"],
        ),
        ({"validations": [{"expression": "true", "reason": "Conflict"}]}, ["validations[0].reason"]),
        ({"failurePolicy": "Warn"}, ["failurePolicy"]),
        ({"paramKind": {}}, ["paramKind.apiVersion", "paramKind.kind"]),
        ({"paramKind": {"apiVersion": "a/b/c", "kind": "A B"}}, ["paramKind.apiVersion", "paramKind.kind"]),
        ({"matchConditions": [{"name": "a", "expression": "params.a == 1"}]}, ["matchConditions[0].expression"]),
        ({"variables": [{"name": "in", "expression": "1"}]}, ["variables[0].name"]),
        ({"variables": [{}]}, ["variables[0].name", "variables[0].expression"]),
        ({"variables": [{"name": "a", "expression": "1"}] * 1001}, ["variables"]),
        ({"auditAnnotations": [{"key": "a b"}]}, ["auditAnnotations[0].key", "auditAnnotations[0].valueExpression"]),
        ({"auditAnnotations": [{"key": "a", "valueExpression": "1"}]}, ["auditAnnotations[0].valueExpression"]),
        (
            {"auditAnnotations": [{"key": f"k{i}", "valueExpression": "'a'"} for i in range(21)]},
            ["auditAnnotations"],
        ),
    ],
)
def test_rules_over_a_validating_policy(change: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(STRATEGY, spec=SPEC | change)[1]) == [f"spec.{field}" for field in expected]


def test_conditions_may_use_parameters_where_a_policy_has_a_kind_of_them() -> None:
    spec = SPEC | {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "a", "expression": "params.data.limit == '1'"}],
        "variables": [{"name": "limit", "expression": "int(params.data.limit)"}],
        "validations": [{"expression": "object.spec.replicas < variables.limit"}],
    }
    old, causes = created(STRATEGY, spec=spec)
    assert not causes
    without = {key: value for key, value in old["spec"].items() if key != "paramKind"}
    assert fields(updated(STRATEGY, old, spec=without)[1]) == [
        "spec.matchConditions[0].expression",
        "spec.variables[0].expression",
    ]


def test_conditions_that_do_not_change_are_not_checked_again() -> None:
    old, _ = created(STRATEGY, spec=SPEC)
    old["spec"]["matchConditions"] = [{"name": "a", "expression": "of an older release"}]
    assert not updated(STRATEGY, old, spec=old["spec"] | {"failurePolicy": "Ignore"})[1]


def test_the_status_of_a_policy_refers_to_fields() -> None:
    old, _ = created(STRATEGY, spec=SPEC)
    warning = {"fieldRef": "spec.validations[0].expression", "warning": "no such field"}
    assert not status_written(STRATEGY, old, status={"typeChecking": {"expressionWarnings": [warning]}})[1]
    wrong = {"typeChecking": {"expressionWarnings": [{}, {"fieldRef": "spec[", "warning": "a"}]}}
    assert fields(status_written(STRATEGY, old, status=wrong)[1]) == [
        "status.typeChecking.expressionWarnings[0].warning",
        "status.typeChecking.expressionWarnings[0].fieldRef",
        "status.typeChecking.expressionWarnings[1].fieldRef",
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"mutations": []}, ["mutations"]),
        ({"mutations": [{}]}, ["mutations[0].patchType"]),
        ({"mutations": [{"patchType": "Merge"}]}, ["mutations[0].patchType"]),
        ({"mutations": [{"patchType": "JSONPatch"}]}, ["mutations[0].jsonPatch"]),
        ({"mutations": [MUTATION | {"jsonPatch": {}}]}, ["mutations[0].jsonPatch"]),
        (
            {"mutations": [MUTATION | {"applyConfiguration": {"expression": "1"}}]},
            ["mutations[0].applyConfiguration.expression"],
        ),
        ({"reinvocationPolicy": ""}, ["reinvocationPolicy"]),
        ({"reinvocationPolicy": "Always"}, ["reinvocationPolicy"]),
        (
            {"matchConstraints": {"resourceRules": [RULE | {"operations": ["DELETE"]}]}},
            ["matchConstraints.resourceRules.operations"],
        ),
    ],
)
def test_rules_over_a_mutating_policy(change: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(MUTATING, spec=CHANGING | change)[1]) == [f"spec.{field}" for field in expected]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"policyName": ""}, ["policyName"]),
        ({"validationActions": []}, ["validationActions"]),
        ({"validationActions": ["Deny", "Warn"]}, ["validationActions"]),
        ({"validationActions": ["Audit", "Audit", "Log"]}, ["validationActions[1]", "validationActions[2]"]),
        ({"paramRef": {}}, ["paramRef", "paramRef.parameterNotFoundAction"]),
        (
            {"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Warn"}},
            ["paramRef.name", "paramRef.selector", "paramRef.parameterNotFoundAction"],
        ),
        (
            {"matchResources": {"resourceRules": [RULE | {"resourceNames": ["a", "a", "b/c"]}]}},
            ["matchResources.resourceRules[0].resourceNames[1]", "matchResources.resourceRules[0].resourceNames[2]"],
        ),
    ],
)
def test_rules_over_a_binding(change: dict[str, Any], expected: list[str]) -> None:
    spec = {"policyName": "p", "validationActions": ["Deny"]} | change
    assert fields(created(BINDING, spec=spec)[1]) == [f"spec.{field}" for field in expected]


def test_a_binding_of_a_mutating_policy_has_no_actions_and_no_deletes() -> None:
    assert not created(MUTATING_BINDING, spec={"policyName": "p"})[1]
    resources = {"resourceRules": [RULE | {"operations": ["DELETE"]}]}
    _, causes = created(MUTATING_BINDING, spec={"policyName": "p", "matchResources": resources})
    assert fields(causes) == ["spec.matchResources.resourceRules.operations"]
