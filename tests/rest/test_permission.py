from __future__ import annotations

from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, PatchType, Verb
from pilotage.rest.permission import Permission, permissions_of, rule_line

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


def test_a_permission_is_shown_as_an_api_server_shows_it() -> None:
    assert str(Permission("", "configmaps", "list")) == "list configmaps"
    assert str(Permission("apps", "deployments/scale", "update")) == "update deployments.apps/scale"
    assert str(Permission("coordination.k8s.io", "leases", "get", "me")) == "get leases.coordination.k8s.io me"


def test_the_rule_of_a_permission_is_a_line_that_can_be_pasted_into_a_role() -> None:
    permission = Permission("", "secrets", "update", "certificate")
    expected = '{apiGroups: [""], resources: ["secrets"], resourceNames: ["certificate"], verbs: ["update"]}'
    assert rule_line(permission.rule()) == expected


def test_a_request_to_a_subresource_needs_the_subresource() -> None:
    request = APIRequest(Verb.UPDATE, DEPLOYMENTS, "default", "web", subresource="scale")
    assert permissions_of(request) == (Permission("apps", "deployments/scale", "update"),)


def test_an_apply_may_create_what_it_applies_but_not_a_status() -> None:
    request = APIRequest(Verb.PATCH, DEPLOYMENTS, "default", "web", content_type=PatchType.APPLY.value)
    assert [str(each) for each in permissions_of(request)] == ["patch deployments.apps", "create deployments.apps"]
    status = APIRequest(
        Verb.PATCH, DEPLOYMENTS, "default", "web", subresource="status", content_type=PatchType.APPLY.value
    )
    assert [str(each) for each in permissions_of(status)] == ["patch deployments.apps/status"]
