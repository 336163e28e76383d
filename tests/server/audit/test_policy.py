"""Which requests an audit policy selects."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.rest.request import User
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.audit.policy import AuditPolicy, Level, everything

JOE = User("joe", ("dev", "system:authenticated"))


def policy(*rules: dict[str, Any], **more: Any) -> AuditPolicy:
    return AuditPolicy.of({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **more})


def resource(verb: str = "get", **more: str) -> AccessAttributes:
    return AccessAttributes(JOE, verb, **{"resource": "pods", "namespace": "shop", "name": "a", **more})


@pytest.mark.parametrize(
    ("rule", "attributes", "matches"),
    [
        ({}, resource(), True),
        ({"users": ["joe"]}, resource(), True),
        ({"users": ["ann"]}, resource(), False),
        ({"userGroups": ["ops", "dev"]}, resource(), True),
        ({"userGroups": ["ops"]}, resource(), False),
        ({"verbs": ["list", "get"]}, resource(), True),
        ({"verbs": ["list"]}, resource(), False),
        ({"namespaces": ["shop"]}, resource(), True),
        ({"namespaces": [""]}, resource(), False),
        ({"namespaces": [""]}, resource(namespace=""), True),
        ({"resources": [{"group": ""}]}, resource(), True),
        ({"resources": [{"group": "apps"}]}, resource(), False),
        ({"resources": [{"group": "*"}]}, resource(group="apps"), True),
        ({"resources": [{"resources": ["pods"]}]}, resource(), True),
        ({"resources": [{"resources": ["pods"]}]}, resource(subresource="log"), False),
        ({"resources": [{"resources": ["pods/*"]}]}, resource(subresource="log"), True),
        ({"resources": [{"resources": ["*/log"]}]}, resource(subresource="log"), True),
        ({"resources": [{"resources": ["*/log"]}]}, resource(), False),
        ({"resources": [{"resources": ["*"]}]}, resource(subresource="log"), True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["a"]}]}, resource(), True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["b"]}]}, resource(), False),
        ({"nonResourceURLs": ["/healthz*"]}, AccessAttributes(JOE, "get", path="/healthz/ping"), True),
        ({"nonResourceURLs": ["/healthz"]}, AccessAttributes(JOE, "get", path="/healthz/ping"), False),
        ({"nonResourceURLs": ["*"]}, resource(), False),
        ({"resources": [{"resources": ["pods"]}]}, AccessAttributes(JOE, "get", path="/api"), False),
    ],
)
def test_a_rule_matches_all_that_it_names(rule: dict[str, Any], attributes: AccessAttributes, matches: bool) -> None:
    found = policy({"level": "Request", **rule}).select(attributes)
    assert found.level is (Level.REQUEST if matches else Level.NONE)


def test_the_first_rule_that_matches_decides_and_stages_add_up() -> None:
    made = policy(
        {"level": "Metadata", "verbs": ["list"], "omitStages": ["ResponseStarted"], "omitManagedFields": False},
        {"level": "RequestResponse"},
        omitStages=["RequestReceived"],
        omitManagedFields=True,
    )
    listed, read = made.select(resource("list")), made.select(resource())
    assert (listed.level, listed.omit_managed_fields) == (Level.METADATA, False)
    assert listed.omitted_stages == {"RequestReceived", "ResponseStarted"}
    assert (read.level, read.omit_managed_fields) == (Level.REQUEST_RESPONSE, True)
    assert everything().select(resource()).level is Level.METADATA


@pytest.mark.parametrize(
    ("policy_", "message"),
    [
        ({"apiVersion": "audit.k8s.io/v1beta1", "rules": []}, "Policy of audit.k8s.io/v1beta1"),
        ({"kind": "", "apiVersion": "", "rules": []}, "it is a document of no apiVersion"),
        ({"rules": [{"level": "All"}]}, "'All' is not one of None, Metadata, Request, RequestResponse"),
        ({"rules": [{"level": "None", "stages": []}]}, "unknown field `stages`"),
        ({"rules": [{"level": "None", "omitStages": ["Begin"]}]}, r"rules\[0\].omitStages: 'Begin'"),
        ({"rules": [{"level": "None", "nonResourceURLs": ["api"]}]}, "must begin with a '/'"),
        ({"rules": [{"level": "None", "nonResourceURLs": ["/a*b"]}]}, "has a '.' that is not its last"),
        ({"rules": [{"level": "None", "nonResourceURLs": ["/"], "namespaces": ["a"]}]}, "cannot apply to both"),
        ({"rules": []}, "at least one rule is required"),
    ],
)
def test_a_wrong_policy_is_an_error_that_names_the_place(policy_: dict[str, Any], message: str) -> None:
    document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"} | policy_
    with pytest.raises(InvalidDefinition, match=f"policy.yaml: .*{message}"):
        AuditPolicy.of(document, "policy.yaml")
