from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.admission import Attributes, Operation
from pilotage.server.matching.rules import MatchRule, is_exempt, is_exempt_from_policies

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
NODES = GroupVersionResource("", "v1", "nodes")
ALL: dict[str, Any] = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


def _attributes(resource: GroupVersionResource, subresource: str = "") -> Attributes:
    namespaced = resource == DEPLOYMENTS
    request = APIRequest(
        Verb.UPDATE, resource, namespace="default" if namespaced else "", name="web", subresource=subresource
    )
    document = {"metadata": {"name": "web"}}
    return Attributes(Operation.UPDATE, request, document, document)


@pytest.mark.parametrize(
    ("change", "matches"),
    [
        ({}, True),
        ({"operations": ["CREATE", "UPDATE"]}, True),
        ({"operations": ["CREATE"]}, False),
        ({"apiGroups": ["apps", "batch"]}, True),
        ({"apiGroups": [""]}, False),
        ({"apiVersions": ["v1beta1"]}, False),
        ({"resources": ["*"]}, True),
        ({"resources": ["deployments"]}, True),
        ({"resources": ["deployments/*"]}, True),
        ({"resources": ["deployments/status"]}, False),
        ({"resources": ["*/status"]}, False),
        ({"resources": ["pods", "deployments"]}, True),
        ({"scope": "Namespaced"}, True),
        ({"scope": "Cluster"}, False),
        ({"resourceNames": ["web"]}, True),
        ({"resourceNames": ["other"]}, False),
        ({"operations": []}, False),
    ],
)
def test_a_rule_matches_if_each_part_of_it_does(change: dict[str, Any], matches: bool) -> None:
    assert MatchRule.of(ALL | change).matches(_attributes(DEPLOYMENTS), DEPLOYMENTS) is matches


@pytest.mark.parametrize(
    ("resources", "matches"),
    [("*", False), ("deployments", False), ("deployments/scale", True), ("*/scale", True), ("deployments/*", True)],
)
def test_a_subresource_has_to_be_named(resources: str, matches: bool) -> None:
    rule = MatchRule.of(ALL | {"resources": [resources]})
    assert rule.matches(_attributes(DEPLOYMENTS, "scale"), DEPLOYMENTS) is matches


@pytest.mark.parametrize("resource", [NAMESPACES, NODES])
def test_a_namespace_is_not_in_a_namespace(resource: GroupVersionResource) -> None:
    attributes = _attributes(resource)
    assert MatchRule.of(ALL | {"scope": "Cluster"}).matches(attributes, resource)
    assert not MatchRule.of(ALL | {"scope": "Namespaced"}).matches(attributes, resource)


def test_what_configures_admission_is_exempt() -> None:
    group = "admissionregistration.k8s.io"
    assert is_exempt(GroupResource(group, "mutatingwebhookconfigurations"))
    assert is_exempt(GroupResource(group, "validatingadmissionpolicybindings"))
    assert not is_exempt(GroupResource("example.com", "mutatingwebhookconfigurations"))


def test_reviews_of_access_are_exempt_from_policies() -> None:
    review = GroupResource("authentication.k8s.io", "selfsubjectreviews")
    assert is_exempt_from_policies(review)
    assert not is_exempt(review), "webhooks are called"
    assert not is_exempt_from_policies(GroupResource("", "pods"))
