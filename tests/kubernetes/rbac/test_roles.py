from __future__ import annotations

from typing import Any

import pytest

from pilotage.kubernetes.rbac.roles import GROUP

from ..writes import created, fields, strategy_of, updated

ROLE, CLUSTER_ROLE = strategy_of(f"roles.{GROUP}"), strategy_of(f"clusterroles.{GROUP}")
BINDING, CLUSTER_BINDING = strategy_of(f"rolebindings.{GROUP}"), strategy_of(f"clusterrolebindings.{GROUP}")
REFERENCE = {"kind": "ClusterRole", "name": "view"}


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, []),
        ({}, ["rules[0].verbs", "rules[0].apiGroups", "rules[0].resources"]),
        ({"verbs": ["get"], "nonResourceURLs": ["/x"]}, ["rules[0].nonResourceURLs"]),
    ],
)
def test_a_rule_of_a_role_is_about_resources(rule: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(ROLE, rules=[rule])[1]) == wrong


def test_a_rule_of_the_cluster_names_resources_or_urls() -> None:
    urls = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    assert not created(CLUSTER_ROLE, rules=[urls])[1]
    assert fields(created(CLUSTER_ROLE, rules=[urls | {"resources": ["pods"]}])[1]) == ["rules[0].nonResourceURLs"]


def test_an_aggregated_role_selects_others() -> None:
    path = "aggregationRule.clusterRoleSelectors"
    assert fields(created(CLUSTER_ROLE, aggregationRule={})[1]) == [path]
    bad = {"clusterRoleSelectors": [{"matchLabels": {"a b": "c"}}]}
    assert fields(created(CLUSTER_ROLE, aggregationRule=bad)[1])[0].startswith(f"{path}[0]")


def test_the_group_of_users_and_roles_is_a_default() -> None:
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]
    document, causes = created(BINDING, roleRef=REFERENCE, subjects=subjects)
    assert not causes
    assert document["roleRef"]["apiGroup"] == document["subjects"][0]["apiGroup"] == GROUP
    assert "apiGroup" not in document["subjects"][1]


def test_a_service_account_of_a_cluster_binding_has_a_namespace() -> None:
    subjects = [{"kind": "ServiceAccount", "name": "s"}]
    assert fields(created(CLUSTER_BINDING, roleRef=REFERENCE, subjects=subjects)[1]) == ["subjects[0].namespace"]
    assert fields(created(CLUSTER_BINDING, roleRef={"kind": "Role", "name": "r"})[1]) == ["roleRef.kind"]


def test_a_subject_is_of_a_known_kind() -> None:
    assert fields(created(BINDING, roleRef=REFERENCE, subjects=[{"kind": "Robot"}])[1]) == [
        "subjects[0].name",
        "subjects[0].kind",
    ]


def test_a_binding_keeps_its_role() -> None:
    old, _ = created(BINDING, roleRef=REFERENCE)
    assert fields(updated(BINDING, old, roleRef=REFERENCE | {"name": "edit"})[1]) == ["roleRef"]
    assert not updated(BINDING, old, subjects=[])[1]
