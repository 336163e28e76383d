"""The missing permission, parsed from the answers of API servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import Forbidden, NotFound
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, Verb
from pilotage.rest.refusal import MissingPermission, granted, is_allowed, refused, review_request
from pilotage.rest.request import User
from pilotage.server.access.rbac import attributes_of, forbidden

words = st.from_regex(r"[a-z][a-z0-9.-]{0,10}", fullmatch=True)


@given(st.sampled_from(Verb), words, words, st.sampled_from(["", "status", "scale"]), st.just("") | words, words)
def test_a_refusal_names_what_the_request_needs(
    verb: Verb, group: str, resource: str, subresource: str, namespace: str, user: str
) -> None:
    request = APIRequest(
        verb, GroupVersionResource(group, "v1", resource), namespace, "a", subresource, user=User(f"system:{user}")
    )
    found = refused(forbidden(attributes_of(request)))
    assert found is not None
    assert [found] == [*granted(request)]
    assert found.user == f"system:{user}"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope',
            "missing permission: bob needs a ClusterRole with the rule "
            '- {apiGroups: [""], resources: ["pods"], verbs: ["list"]}',
        ),
        (
            'deployments.apps "x" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" '
            'in the namespace "shop": no RBAC policy matched',
            "missing permission: bob needs a Role in the namespace shop with the rule "
            '- {apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["get"]}',
        ),
    ],
)
def test_the_message_has_the_rule_and_where_it_belongs(message: str, shown: str) -> None:
    assert str(refused(Forbidden(message))) == shown


@pytest.mark.parametrize(
    "error",
    [
        None,
        NotFound("x"),
        Forbidden('pods "a" is forbidden: exceeded quota: small, requested: pods=1'),
        Forbidden('admission webhook "x" denied the request: User "bob" cannot list resource "pods" in API group ""'),
        Forbidden('forbidden: User "bob" cannot get path "/metrics"'),
    ],
)
def test_an_error_that_no_rule_would_avoid_names_none(error: Exception | None) -> None:
    assert refused(error) is None


def test_a_namespace_is_in_itself() -> None:
    request = APIRequest(Verb.GET, GroupVersionResource("", "v1", "namespaces"), name="shop")
    assert [*granted(request)] == [MissingPermission(("get",), "", "namespaces", "shop")]


def test_a_review_asks_for_the_verb_resource_and_namespace() -> None:
    request = review_request(MissingPermission(("get",), "apps", "deployments/scale", "shop"))
    assert request.body == (
        b'{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":'
        b'{"verb":"get","group":"apps","resource":"deployments","subresource":"scale","namespace":"shop"}}}'
    )
    assert is_allowed(b'{"status":{"allowed":true}}')
    assert not is_allowed(b'{"status":{}}')
