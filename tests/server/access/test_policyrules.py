from __future__ import annotations

import pytest

from pilotage.meta.documents import Document
from pilotage.rest.request import User
from pilotage.server.access.policyrules import AccessAttributes, allows, compact, uncovered

ALICE = User("alice")


def rule(verbs: str, resources: str = "", groups: str = "", names: str = "", urls: str = "") -> Document:
    made: Document = {"verbs": verbs.split()}
    if resources:
        made |= {"apiGroups": groups.split() or [""], "resources": resources.split()}
    if names:
        made["resourceNames"] = names.split()
    if urls:
        made["nonResourceURLs"] = urls.split()
    return made


@pytest.mark.parametrize(
    ("granted", "asked"),
    [
        (rule("get", "pods"), AccessAttributes(ALICE, "get", "", "pods", namespace="n")),
        (rule("*", "*", "*"), AccessAttributes(ALICE, "delete", "apps", "deployments", "scale")),
        (rule("get", "pods/log"), AccessAttributes(ALICE, "get", "", "pods", "log")),
        (rule("update", "*/scale", "*"), AccessAttributes(ALICE, "update", "apps", "deployments", "scale")),
        (rule("get", "pods", names="a b"), AccessAttributes(ALICE, "get", "", "pods", name="b")),
        (rule("get", urls="/metrics"), AccessAttributes(ALICE, "get", path="/metrics")),
        (rule("get", urls="/apis/*"), AccessAttributes(ALICE, "get", path="/apis/apps/v1")),
    ],
)
def test_a_rule_allows_what_it_names(granted: Document, asked: AccessAttributes) -> None:
    assert allows(granted, asked)


@pytest.mark.parametrize(
    ("granted", "asked"),
    [
        (rule("get", "pods"), AccessAttributes(ALICE, "list", "", "pods")),
        (rule("get", "pods"), AccessAttributes(ALICE, "get", "apps", "pods")),
        (rule("get", "pods"), AccessAttributes(ALICE, "get", "", "pods", "log")),
        (rule("get", "pods", names="a"), AccessAttributes(ALICE, "get", "", "pods", name="b")),
        (rule("list", "pods", names="a"), AccessAttributes(ALICE, "list", "", "pods")),
        (rule("get", urls="/metrics"), AccessAttributes(ALICE, "get", path="/metrics/slis")),
        (rule("*", "*", "*"), AccessAttributes(ALICE, "get", path="/metrics")),
        ({}, AccessAttributes(ALICE, "get", "", "pods")),
    ],
)
def test_a_rule_allows_nothing_else(granted: Document, asked: AccessAttributes) -> None:
    assert not allows(granted, asked)


def test_a_rule_is_covered_part_by_part() -> None:
    owned = [rule("get list", "pods"), rule("get", "secrets", names="a"), rule("*", "deployments", "apps")]
    wanted = [rule("get delete", "pods secrets"), rule("patch", "deployments", "apps")]
    assert compact(uncovered(owned, wanted)) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["delete" "get"]}',
    ]


def test_what_a_user_has_covers_itself() -> None:
    owned = [rule("get", "pods", names="a"), rule("get", urls="/x/*"), rule("*", "*/scale", "apps")]
    assert uncovered(owned, owned) == []
