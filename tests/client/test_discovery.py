"""Discovery documents of both forms become the same mappings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pilotage.client import discovery
from pilotage.errors import DecodeError, UnexpectedAnswer
from pilotage.meta.kinds import GroupVersion, GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping

WIDGETS = RESTMapping(
    gvk=GroupVersionKind("demo.example.com", "v1", "Widget"),
    resource=GroupVersionResource("demo.example.com", "v1", "widgets"),
    namespaced=True,
    singular="widget",
    short_names=("wd",),
    categories=("all",),
    verbs=("get", "list"),
    subresources=("status", "scale"),
)


def encoded(document: Any) -> bytes:
    return msgspec.json.encode(document)


@pytest.mark.covers("T142")
def test_the_aggregated_form() -> None:
    resource = {
        "resource": "widgets",
        "responseKind": {"group": "", "version": "", "kind": "Widget"},
        "scope": "Namespaced",
        "singularResource": "widget",
        "shortNames": ["wd"],
        "categories": ["all"],
        "verbs": ["get", "list"],
        "subresources": [
            {"subresource": "status", "responseKind": {"kind": "Widget"}, "verbs": ["get"]},
            {"subresource": "scale", "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}},
        ],
    }
    lone = {"resource": "evictions", "scope": "Namespaced", "subresources": [{"subresource": "x"}]}
    versions = [{"version": "v1", "resources": [resource, lone], "freshness": "Current"}]
    document = {
        "kind": "APIGroupDiscoveryList",
        "items": [{"metadata": {"name": "demo.example.com"}, "versions": versions}],
    }
    assert list(discovery.aggregated(encoded(document))) == [WIDGETS]


@pytest.mark.covers("T142")
def test_the_old_form() -> None:
    resources = [
        {
            "name": "widgets",
            "singularName": "widget",
            "namespaced": True,
            "kind": "Widget",
            "verbs": ["get", "list"],
            "shortNames": ["wd"],
            "categories": ["all"],
        },
        {"name": "widgets/status", "singularName": "", "namespaced": True, "kind": "Widget", "verbs": ["get"]},
        {"name": "widgets/scale", "group": "autoscaling", "version": "v1", "kind": "Scale", "namespaced": True},
    ]
    body = encoded({"kind": "APIResourceList", "groupVersion": "demo.example.com/v1", "resources": resources})
    assert list(discovery.resource_list(GroupVersion("demo.example.com", "v1"), body)) == [WIDGETS]


def test_a_cluster_scoped_kind_of_another_group_under_this_resource() -> None:
    resources = [{"name": "things", "namespaced": False, "kind": "Thing", "group": "other", "version": "v2"}]
    (mapping,) = discovery.resource_list(GroupVersion("", "v1"), encoded({"resources": resources}))
    assert mapping.gvk == GroupVersionKind("other", "v2", "Thing")
    assert mapping.resource == GroupVersionResource("", "v1", "things")
    assert mapping.namespaced is False


@pytest.mark.covers("T142")
def test_groups_give_their_preferred_version_first() -> None:
    groups = [
        {
            "name": "apps",
            "versions": [{"version": "v1beta1"}, {"version": "v1"}, {"version": "v1beta2"}],
            "preferredVersion": {"version": "v1"},
        }
    ]
    assert discovery.group_versions(encoded({"groups": groups})) == [
        GroupVersion("apps", "v1"),
        GroupVersion("apps", "v1beta1"),
        GroupVersion("apps", "v1beta2"),
    ]


def test_the_core_group_has_its_own_document() -> None:
    assert discovery.core_versions(b'{"kind":"APIVersions","versions":["v1"]}') == [GroupVersion("", "v1")]


@pytest.mark.parametrize("body", [b"{}", b'{"items":null,"groups":null,"versions":null,"resources":null}'])
def test_nothing_is_served_by_an_empty_document(body: bytes) -> None:
    assert list(discovery.aggregated(body)) == []
    assert discovery.group_versions(body) == []
    assert discovery.core_versions(body) == []
    assert list(discovery.resource_list(GroupVersion("", "v1"), body)) == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"items":[1]}', b"\xff"])
def test_a_malformed_document_is_reported(body: bytes) -> None:
    with pytest.raises(DecodeError, match="discovery document"):
        list(discovery.aggregated(body))


STATUS = b'{"kind":"Status","apiVersion":"v1","status":"Success"}'
READERS = {
    "aggregated": lambda body: [*discovery.aggregated(body)],
    "the core group": discovery.core_versions,
    "groups": discovery.group_versions,
    "resources": lambda body: [*discovery.resource_list(GroupVersion("apps", "v1"), body)],
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_another_document_is_not_taken_for_an_empty_one(read: Callable[[bytes], object]) -> None:
    with pytest.raises(UnexpectedAnswer, match=r"asked for discovery \(API\w+\) and answered with Status"):
        read(STATUS)
