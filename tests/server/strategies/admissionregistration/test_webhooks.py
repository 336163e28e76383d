from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.documents import Document
from pilotage.server.strategies.admissionregistration.webhooks import (
    MutatingWebhookConfigurationStrategy,
    WebhookConfigurationStrategy,
)

from ..writes import created, fields, updated

STRATEGY = WebhookConfigurationStrategy(generation=True)
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def hook(**changes: Any) -> Document:
    known = {
        "name": "a.example.com",
        "clientConfig": {"service": {"namespace": "n", "name": "s"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return known | changes


def test_a_webhook_gets_its_defaults() -> None:
    strategy = MutatingWebhookConfigurationStrategy(generation=True)
    document, causes = created(strategy, webhooks=[hook(rules=[RULE])])
    assert not causes
    found = document["webhooks"][0]
    assert found["clientConfig"]["service"]["port"] == 443
    assert found["rules"][0]["scope"] == "*"
    assert (found["failurePolicy"], found["matchPolicy"], found["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (found["namespaceSelector"], found["objectSelector"], found["reinvocationPolicy"]) == ({}, {}, "Never")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"name": "a.b"}, "name"),
        ({"failurePolicy": "Maybe"}, "failurePolicy"),
        ({"sideEffects": "Some"}, "sideEffects"),
        ({"timeoutSeconds": 31}, "timeoutSeconds"),
        ({"clientConfig": {}}, "clientConfig"),
        ({"clientConfig": {"url": "http://example.com"}}, "clientConfig.url"),
        ({"clientConfig": {"url": "https://a@example.com"}}, "clientConfig.url"),
        ({"clientConfig": {"url": "https://example.com:x"}}, "clientConfig.url"),
        ({"clientConfig": {"service": {"name": "s"}}}, "clientConfig.service.name"),
        ({"clientConfig": {"service": {"namespace": "n", "name": "s", "path": "ab"}}}, "clientConfig.service.path"),
        ({"admissionReviewVersions": ["v2"]}, "admissionReviewVersions"),
        ({"rules": [RULE | {"operations": ["*", "CREATE"]}]}, "rules[0].operations"),
        ({"rules": [RULE | {"resources": ["pods/*", "pods/log"]}]}, "rules[0].resources[1]"),
        ({"rules": [RULE | {"resources": ["*", "pods"]}]}, "rules[0].resources"),
        ({"rules": [RULE | {"scope": "Everywhere"}]}, "rules[0].scope"),
        ({"matchConditions": [{"name": "c"}]}, "matchConditions[0].expression"),
    ],
)
def test_a_webhook_is_checked(changes: Document, where: str) -> None:
    _, causes = created(STRATEGY, webhooks=[hook(**changes)])
    assert fields(causes) == [f"webhooks[0].{where}"]


def test_webhooks_have_different_names() -> None:
    _, causes = created(STRATEGY, webhooks=[hook(), hook()])
    assert fields(causes) == ["webhooks[1].name"]


@pytest.mark.parametrize("expression", ["object.a +", "1", "nothing", "params.x"])
def test_a_match_condition_is_an_expression_about_the_request(expression: str) -> None:
    pytest.importorskip("cel_expr_python")
    condition = {"name": "c", "expression": expression}
    document, causes = created(STRATEGY, webhooks=[hook(matchConditions=[condition])])
    assert fields(causes) == ["webhooks[0].matchConditions[0].expression"]
    _, causes = updated(STRATEGY, document, webhooks=[hook(matchConditions=[condition], timeoutSeconds=5)])
    assert not causes  # it was there before
