from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.documents import copied

from ..writes import created, fields, strategy_of, updated

STRATEGY = strategy_of("validatingwebhookconfigurations.admissionregistration.k8s.io")
MUTATING = strategy_of("mutatingwebhookconfigurations.admissionregistration.k8s.io")
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
HOOK: dict[str, Any] = {
    "name": "a.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s"}},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [RULE],
}


def test_what_is_left_out_gets_the_default_of_the_kind() -> None:
    document, causes = created(STRATEGY, webhooks=[HOOK])
    assert not causes
    (hook,) = document["webhooks"]
    assert (hook["failurePolicy"], hook["matchPolicy"]) == ("Fail", "Equivalent")
    assert (hook["namespaceSelector"], hook["objectSelector"], hook["timeoutSeconds"]) == ({}, {}, 10)
    assert hook["rules"][0]["scope"] == "*"
    assert hook["clientConfig"]["service"]["port"] == 443
    assert "reinvocationPolicy" not in hook
    assert created(MUTATING, webhooks=[HOOK])[0]["webhooks"][0]["reinvocationPolicy"] == "Never"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": ""}, ["name"]),
        ({"name": "a.b"}, ["name"]),
        ({"name": "A.b.c"}, ["name"]),
        ({"clientConfig": {}}, ["clientConfig"]),
        ({"clientConfig": {"service": {"name": "s"}}}, ["clientConfig.service.name"]),  # kube-apiserver's confusion
        ({"clientConfig": {"url": "http://a"}}, ["clientConfig.url"]),
        ({"sideEffects": None}, ["sideEffects"]),
        ({"sideEffects": "Some"}, ["sideEffects"]),
        ({"failurePolicy": "fail"}, ["failurePolicy"]),
        ({"matchPolicy": ""}, ["matchPolicy"]),
        ({"timeoutSeconds": 0}, ["timeoutSeconds"]),
        ({"timeoutSeconds": 31}, ["timeoutSeconds"]),
        ({"reinvocationPolicy": "Always"}, ["reinvocationPolicy"]),
        ({"admissionReviewVersions": []}, ["admissionReviewVersions"]),
        ({"admissionReviewVersions": ["v1", "v1"]}, ["admissionReviewVersions[1]"]),
        ({"admissionReviewVersions": ["v2"]}, ["admissionReviewVersions"]),
        ({"objectSelector": {"matchLabels": {"a": "b c"}}}, ["objectSelector.matchLabels"]),
        ({"matchConditions": [{"name": "a b"}]}, ["matchConditions[0].expression", "matchConditions[0].name"]),
        ({"matchConditions": [{"name": "a", "expression": "1"}]}, ["matchConditions[0].expression"]),
        ({"matchConditions": [{"name": "a", "expression": "true"}] * 2}, ["matchConditions[1].name"]),
        ({"matchConditions": [{"name": f"a{i}", "expression": "true"} for i in range(65)]}, ["matchConditions"]),
    ],
)
def test_rules_over_a_webhook(change: dict[str, Any], expected: list[str]) -> None:
    _, causes = created(MUTATING, webhooks=[HOOK | change])
    assert fields(causes) == [f"webhooks[0].{field}" for field in expected]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"operations": []}, ["operations"]),
        ({"operations": ["*", "CREATE"]}, ["operations"]),
        ({"operations": ["create"]}, ["operations[0]"]),
        ({"apiGroups": ["*", "apps"]}, ["apiGroups"]),
        ({"apiVersions": [""]}, ["apiVersions[0]"]),
        ({"resources": []}, ["resources"]),
        ({"resources": ["", "pods"]}, ["resources[0]"]),
        ({"resources": ["pods/*", "pods/status"]}, ["resources[1]"]),
        ({"resources": ["*/scale", "pods/scale"]}, ["resources[1]"]),
        ({"resources": ["*/*", "pods"]}, ["resources"]),
        ({"resources": ["*", "pods"]}, ["resources"]),
        ({"resources": ["*", "pods/status"]}, []),
        ({"scope": "namespaced"}, ["scope"]),
    ],
)
def test_rules_name_operations_and_resources(change: dict[str, Any], expected: list[str]) -> None:
    _, causes = created(STRATEGY, webhooks=[HOOK | {"rules": [RULE | change]}])
    assert fields(causes) == [f"webhooks[0].rules[0].{field}" for field in expected]


def test_webhooks_have_names_of_their_own() -> None:
    assert fields(created(STRATEGY, webhooks=[HOOK, HOOK])[1]) == ["webhooks[1].name"]


def test_an_update_may_keep_what_older_servers_accepted() -> None:
    old, _ = created(STRATEGY, webhooks=[HOOK])
    (hook,) = old["webhooks"]
    hook |= {"sideEffects": "Some", "admissionReviewVersions": ["v1alpha1"], "matchConditions": [{"name": "a"}]}
    hook["objectSelector"] = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
    old["webhooks"] = [hook, copied(hook)]
    document, causes = updated(STRATEGY, old, webhooks=[each | {"timeoutSeconds": 5} for each in old["webhooks"]])
    assert not causes
    assert document["metadata"]["generation"] == 2
    changed = [each | {"matchConditions": [{"name": "b"}]} for each in old["webhooks"]]
    assert fields(updated(STRATEGY, old, webhooks=changed)[1]) == [
        f"webhooks[{index}].matchConditions[0].expression" for index in (0, 1)
    ]


def test_names_that_are_reserved_are_warned_of() -> None:
    document, _ = created(STRATEGY, webhooks=[HOOK])
    assert STRATEGY.warnings(document, None) == []
    document["metadata"]["name"] = "a.static.k8s.io"
    (warning,) = STRATEGY.warnings(document, None)
    assert 'names ending with ".static.k8s.io" are reserved' in warning
