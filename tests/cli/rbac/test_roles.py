from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pilotage.cli.rbac.grants import Installation, PermissionScope, RequiredPermission
from pilotage.cli.rbac.roles import role_objects, rules
from pilotage.rest.permission import Permission

PERMISSIONS = st.builds(
    Permission,
    st.sampled_from(["", "apps"]),
    st.sampled_from(["a", "b", "a/status"]),
    st.sampled_from(["get", "list", "create"]),
    st.sampled_from(["", "one", "two"]),
)


@given(st.sets(PERMISSIONS))
def test_rules_allow_what_they_are_made_of_and_nothing_else(permissions: set[Permission]) -> None:
    made = rules(permissions)
    allowed = {
        Permission(group, resource, verb, name)
        for rule in made
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    general = {each for each in permissions if not each.name}
    covered = {each for each in permissions if Permission(each.group, each.resource, each.verb) in general}
    assert allowed == permissions - {each for each in covered if each.name}
    assert made == rules(sorted(permissions, reverse=True)), "stable"


def test_rules_with_the_same_verbs_are_merged() -> None:
    permissions = {Permission(group, "events", verb) for group in ("", "events.k8s.io") for verb in ("patch", "create")}
    permissions |= {Permission("", "pods", verb) for verb in ("create", "patch")}
    assert rules(permissions - {Permission("", "pods", verb) for verb in ("create", "patch")}) == [
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    ]
    assert rules(permissions)[0] == {"apiGroups": [""], "resources": ["events", "pods"], "verbs": ["create", "patch"]}


def grant(resource: str, scope: PermissionScope) -> RequiredPermission:
    return RequiredPermission(Permission("", resource, "get"), scope, "a reason")


def test_namespaces_get_a_role_each_and_kinds_without_namespaces_a_cluster_role() -> None:
    granted = [
        grant("pods", PermissionScope.WATCHED),
        grant("nodes", PermissionScope.CLUSTER),
        grant("secrets", PermissionScope.OWN),
    ]
    objects = role_objects(granted, Installation("app", "home", namespaces=("a", "b")))
    roles = [(each["kind"], each["metadata"].get("namespace"), each["rules"][0]["resources"]) for each in objects[::2]]
    assert roles == [
        ("ClusterRole", None, ["nodes"]),
        ("Role", "a", ["pods"]),
        ("Role", "b", ["pods"]),
        ("Role", "home", ["secrets"]),
    ]
    for role, binding in zip(objects[::2], objects[1::2], strict=True):
        assert binding["roleRef"]["name"] == role["metadata"]["name"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "app", "namespace": "home"}]


def test_without_namespaces_all_is_in_one_cluster_role() -> None:
    granted = [grant("pods", PermissionScope.WATCHED), grant("nodes", PermissionScope.CLUSTER)]
    [role, _] = role_objects(granted, Installation("app", "home"))
    assert (role["kind"], role["rules"]) == (
        "ClusterRole",
        [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get"]}],
    )
