from __future__ import annotations

from typing import Any

import pytest

from pilotage.codec.defaults.cluster import default_definition
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.groupnames import GroupNames
from pilotage.server.strategies import apiextensions
from pilotage.server.strategies.needed import NEEDED

from ..registries import definition

NOW = "2024-01-01T00:00:00Z"
_RULES, _MAKE = NEEDED["customresourcedefinitions.apiextensions.k8s.io"]
STRATEGY = _MAKE(_RULES)


def named(plural: str, **names: Any) -> dict[str, Any]:
    kind = names.pop("kind", plural.capitalize())
    document = definition(plural, kind)
    document["spec"]["names"] |= {"singular": kind.lower(), "listKind": f"{kind}List"} | names
    document["status"] = {}
    return document


def accepted(document: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    group = GroupNames(0)
    for each in (document, *others):
        group.add(each, settled=True)
    apiextensions.accept_names(document, group, NOW)
    status: dict[str, Any] = document["status"]
    return status


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


def test_free_names_are_accepted_and_the_definition_is_established() -> None:
    status = accepted(named("widgets", shortNames=["wd"], categories=["all"]))
    assert status["acceptedNames"]["shortNames"] == ["wd"]
    assert conditions(status) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ({"singular": "wd"}, "SingularConflict"),
        ({"shortNames": ["x", "widgets"]}, "ShortNamesConflict"),
        ({"kind": "Widget"}, "KindConflict"),
        ({"listKind": "WidgetList"}, "ListKindConflict"),
        ({"kind": "Widget", "singular": "widget", "shortNames": ["wd"]}, "KindConflict"),
    ],
)
def test_names_that_are_taken_are_not_accepted(names: dict[str, Any], reason: str) -> None:
    rival = named("widgets", kind="Widget", shortNames=["wd"])
    accepted(rival)
    wanted = {"listKind": "OtherList", "singular": "other"} | names
    status = accepted(named("others", **wanted), rival)
    assert conditions(status) == {"NamesAccepted": ("False", reason), "Established": ("False", "NotAccepted")}


def test_what_was_accepted_stays_accepted() -> None:
    one = named("widgets", kind="Widget", shortNames=["wd"])
    accepted(one)
    other = named("others", kind="Other")
    other["status"] = {"acceptedNames": {"shortNames": ["wd", "more"]}}  # as if both had got it at once
    one["spec"]["names"]["shortNames"] = ["wd", "more"]
    status = accepted(one, other)
    assert status["acceptedNames"]["shortNames"] == ["wd"]
    assert conditions(status)["Established"][0] == "True", "once established, it stays so"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    one = named("widgets")
    accepted(one)
    apiextensions.accept_names(one, GroupNames(0), "2030-01-01T00:00:00Z")
    assert {each["lastTransitionTime"] for each in one["status"]["conditions"]} == {NOW}


def test_the_storage_version_is_remembered_for_ever() -> None:
    old = definition()
    STRATEGY.prepare_for_create(old)
    new = definition()
    new["spec"]["versions"][0]["storage"] = False
    new["spec"]["versions"].append(new["spec"]["versions"][0] | {"name": "v2", "storage": True})
    STRATEGY.prepare_for_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]


def test_a_deprecated_version_names_the_best_one_instead() -> None:
    document = named("widgets", kind="Widget")
    accepted(document)
    first = document["spec"]["versions"][0]
    document["spec"]["versions"] = [
        first | {"name": "v1beta1", "deprecated": True},
        first | {"name": "v1", "storage": False},
        first | {"name": "v2", "storage": False, "served": False},
        first | {"name": "v1alpha1", "storage": False, "deprecated": True, "deprecationWarning": "no more"},
    ]
    warnings = {one.gvr.version: one.deprecation for one in resources_of(document, "/key", 1)}
    assert warnings == {
        "v1beta1": "test.example.com/v1beta1 Widget is deprecated; use test.example.com/v1 Widget",
        "v1": "",
        "v1alpha1": "no more",
    }


def test_a_definition_that_is_not_established_serves_nothing() -> None:
    assert list(resources_of(definition() | {"status": {}}, "/key", 1)) == []


def test_a_definition_in_a_group_of_kubernetes_has_a_condition_about_its_approval() -> None:
    document = named("widgets")
    document["spec"]["group"] = "sigs.k8s.io"
    assert conditions(accepted(document))["KubernetesAPIApprovalPolicyConformant"] == ("False", "MissingAnnotation")
    document["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/1"}
    assert conditions(accepted(document))["KubernetesAPIApprovalPolicyConformant"] == ("True", "ApprovedAnnotation")


def test_a_definition_with_a_wrong_ca_bundle_is_not_established_until_it_is_corrected() -> None:
    document = named("widgets")
    webhook: dict[str, Any] = {"clientConfig": {"caBundle": "bm9uZQ==", "url": "https://localhost"}}
    document["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    assert conditions(accepted(document))["Established"] == ("False", "InvalidCABundle")
    del webhook["clientConfig"]["caBundle"]
    assert conditions(accepted(document))["Established"] == ("True", "InitialNamesAccepted")
    webhook["clientConfig"]["caBundle"] = "bm9uZQ=="
    assert conditions(accepted(document))["Established"] == ("True", "InitialNamesAccepted")


def test_stored_versions_default_to_the_storage_version() -> None:
    document = definition()
    default_definition(document)
    assert document["status"]["storedVersions"] == ["v1"]
