from __future__ import annotations

import pytest

from pilotage.errors import NoMatch
from pilotage.meta.kinds import GroupKind, GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import AmbiguousMatch, RESTMapper, RESTMapping


def mapping(group: str, version: str, kind: str, plural: str = "", *short_names: str) -> RESTMapping:
    plural = plural or kind.lower() + "s"
    return RESTMapping(
        GroupVersionKind(group, version, kind),
        GroupVersionResource(group, version, plural),
        namespaced=True,
        singular=kind.lower(),
        short_names=short_names,
    )


DEPLOYMENT = mapping("apps", "v1", "Deployment", "deployments", "deploy")
OLD_DEPLOYMENT = mapping("apps", "v1beta1", "Deployment", "deployments", "deploy")
EVENT = mapping("", "v1", "Event", "events", "ev")
NEW_EVENT = mapping("events.k8s.io", "v1", "Event", "events", "ev")
POLICY = mapping("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol")
WIDGET = mapping("a.example.com", "v1", "Widget", "widgets", "w")
OTHER_WIDGET = mapping("b.example.com", "v1", "Widget", "widgets")
MAPPER = RESTMapper([OLD_DEPLOYMENT, DEPLOYMENT, NEW_EVENT, EVENT, POLICY, WIDGET, OTHER_WIDGET])


@pytest.mark.parametrize(
    "name", ["deployments", "deployment", "deploy", "Deployment", "deployments.apps", "deployments.v1.apps"]
)
def test_a_resource_is_found_by_any_of_its_names(name: str) -> None:
    assert MAPPER.kind_for(name) == DEPLOYMENT.gvk
    assert MAPPER.resource_for(name) == DEPLOYMENT.resource


def test_a_version_may_be_named() -> None:
    assert MAPPER.resource_for("deployments.v1beta1.apps") == OLD_DEPLOYMENT.resource
    assert MAPPER.resource_for(GroupVersionResource("", "v1beta1", "deployments")) == OLD_DEPLOYMENT.resource
    assert MAPPER.resource_for("deployments.v1beta1") == OLD_DEPLOYMENT.resource
    assert MAPPER.resource_for("networkpolicies.networking.k8s.io") == POLICY.resource
    assert MAPPER.resource_for("networkpolicies.v1.networking.k8s.io") == POLICY.resource


def test_all_versions_are_listed_the_preferred_one_first() -> None:
    assert [mapping.gvk for mapping in MAPPER.mappings_for("deploy")] == [DEPLOYMENT.gvk, OLD_DEPLOYMENT.gvk]
    assert MAPPER.mappings_for("nothing") == []


def test_the_core_group_goes_first() -> None:
    assert MAPPER.kind_for("events") == EVENT.gvk
    assert MAPPER.kind_for("ev") == EVENT.gvk
    assert MAPPER.kind_for("events.events.k8s.io") == NEW_EVENT.gvk


def test_a_name_of_two_groups_is_ambiguous() -> None:
    with pytest.raises(AmbiguousMatch, match=r"widgets.a.example.com, widgets.b.example.com; name its group") as caught:
        MAPPER.kind_for("widgets")
    assert caught.value.candidates == (WIDGET.resource, OTHER_WIDGET.resource)
    assert MAPPER.kind_for("widgets.b.example.com") == OTHER_WIDGET.gvk
    assert MAPPER.kind_for("w") == WIDGET.gvk


def test_plurals_go_before_short_names() -> None:
    mapper = RESTMapper([mapping("x.io", "v1", "Ev", "evs", "events"), NEW_EVENT])
    assert mapper.kind_for("events") == NEW_EVENT.gvk


def test_a_kind_leads_to_its_resource() -> None:
    assert MAPPER.rest_mapping(OLD_DEPLOYMENT.gvk) is OLD_DEPLOYMENT
    assert MAPPER.rest_mapping(GroupKind("apps", "Deployment")) is DEPLOYMENT
    assert MAPPER.rest_mapping(GroupKind("apps", "Deployment"), "v9", "v1beta1") is OLD_DEPLOYMENT


def test_the_error_for_a_kind_that_is_not_served_is_kubernetes_own() -> None:
    with pytest.raises(NoMatch, match=r'^no matches for kind "X" in version "g.io/v1"$'):
        MAPPER.rest_mapping(GroupVersionKind("g.io", "v1", "X"))
    with pytest.raises(NoMatch, match=r'^no matches for kind "X" in group "g.io"$'):
        MAPPER.rest_mapping(GroupKind("g.io", "X"))
    with pytest.raises(NoMatch, match=r'in versions ."apps/v9".'):
        MAPPER.rest_mapping(GroupKind("apps", "Deployment"), "v9")
    with pytest.raises(NoMatch, match='doesn\'t have a resource type "gadgets"'):
        MAPPER.kind_for("gadgets")
    with pytest.raises(NoMatch):
        MAPPER.kind_for("deployments.other")


def test_a_mapper_forgets_what_is_replaced() -> None:
    mapper = RESTMapper([DEPLOYMENT])
    mapper.replace([EVENT])
    assert mapper.mappings == (EVENT,)
    with pytest.raises(NoMatch):
        mapper.rest_mapping(DEPLOYMENT.gvk)
