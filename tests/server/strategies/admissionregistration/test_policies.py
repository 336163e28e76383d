from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.documents import Document
from pilotage.server.strategies.admissionregistration.bindings import PolicyBindingStrategy
from pilotage.server.strategies.admissionregistration.policies import ValidatingAdmissionPolicyStrategy

from ..writes import created, fields, status_written
from .test_webhooks import RULE

STRATEGY = ValidatingAdmissionPolicyStrategy(generation=True, subresources=("status",))


def spec(**changes: Any) -> Document:
    return {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]} | changes


def test_a_policy_fails_closed_and_matches_equivalent_requests_by_default() -> None:
    document, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert document["spec"]["failurePolicy"] == "Fail"
    assert document["spec"]["matchConstraints"]["matchPolicy"] == "Equivalent"
    assert document["spec"]["matchConstraints"]["resourceRules"][0]["scope"] == "*"


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"matchConstraints": {}}, ["spec.matchConstraints.resourceRules"]),
        ({"validations": []}, ["spec.validations", "spec.auditAnnotations"]),
        ({"validations": [{}]}, ["spec.validations[0].expression"]),
        ({"validations": [{"expression": "true", "message": "a\nb"}]}, ["spec.validations[0].message"]),
        ({"validations": [{"expression": "true", "reason": "Why"}]}, ["spec.validations[0].reason"]),
        ({"paramKind": {"apiVersion": "a/b/c", "kind": "K"}}, ["spec.paramKind.apiVersion"]),
        ({"variables": [{"name": "for", "expression": "1"}]}, ["spec.variables[0].name"]),
        ({"auditAnnotations": [{"key": "k"}]}, ["spec.auditAnnotations[0].valueExpression"]),
    ],
)
def test_a_policy_is_checked(changes: Document, where: list[str]) -> None:
    _, causes = created(STRATEGY, spec=spec(**changes))
    assert fields(causes) == where


@pytest.mark.parametrize(
    ("expression", "valid"),
    [
        ("variables.size > 1 && variables.name == 'a'", True),
        ("variables.size == 'a'", False),
        ("variables.other == 1", False),
        ("'variables.other' == object.name", True),
        ("params.x == 1", False),
        ("variables.size", False),
    ],
)
def test_expressions_use_the_variables_of_their_policy_with_their_types(expression: str, valid: bool) -> None:
    pytest.importorskip("cel_expr_python")
    variables = [{"name": "size", "expression": "1 + 1"}, {"name": "name", "expression": "object.metadata.name"}]
    _, causes = created(STRATEGY, spec=spec(variables=variables, validations=[{"expression": expression}]))
    assert fields(causes) == ([] if valid else ["spec.validations[0].expression"])


def test_the_status_of_a_policy_is_checked_and_does_not_change_its_labels() -> None:
    old, _ = created(STRATEGY, spec=spec())
    metadata = old["metadata"] | {"labels": {"a": "b"}}
    status = {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec"}]}}
    document, causes = status_written(STRATEGY, old, metadata=metadata, status=status)
    assert fields(causes) == ["status.typeChecking.expressionWarnings[0].warning"]
    assert "labels" not in document["metadata"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({}, []),
        ({"policyName": ""}, ["spec.policyName"]),
        ({"validationActions": []}, ["spec.validationActions"]),
        ({"validationActions": ["Deny", "Warn"]}, ["spec.validationActions"]),
        ({"validationActions": ["Audit", "Audit"]}, ["spec.validationActions[1]"]),
        ({"paramRef": {"parameterNotFoundAction": "Deny"}}, ["spec.paramRef"]),
        ({"paramRef": {"name": "p"}}, ["spec.paramRef.parameterNotFoundAction"]),
        (
            {"matchResources": {"resourceRules": [RULE | {"operations": []}]}},
            ["spec.matchResources.resourceRules[0].operations"],
        ),
    ],
)
def test_a_binding_is_checked(changes: Document, where: list[str]) -> None:
    binding = {"policyName": "p", "validationActions": ["Deny"]} | changes
    _, causes = created(PolicyBindingStrategy(generation=True), spec=binding)
    assert fields(causes) == where
