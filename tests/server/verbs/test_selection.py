from __future__ import annotations

import pytest

from pilotage.errors import BadRequest
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.server import records
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.selection import Selection
from pilotage.storage.interface import Entry
from pilotage.storage.memory import MemoryStorage

from ..registries import CONFIG_MAPS

PODS = GroupVersionResource("", "v1", "pods")


async def info(resource: GroupVersionResource = CONFIG_MAPS) -> ResourceInfo:
    return await Catalogue(MemoryStorage(), "/t/", KINDS).find(resource)


def entry(document: Document) -> Entry:
    return Entry("/k", records.encode({"apiVersion": "v1", "kind": "K"} | document), 1, 1)


async def test_nothing_asked_selects_everything_and_looks_at_nothing() -> None:
    assert Selection(await info(), "", "").matches(Entry("/k", b"not even JSON", 1, 1))


async def test_what_does_not_exist_is_never_selected() -> None:
    assert not Selection(await info(), "", "").matches(None)
    assert not Selection(await info(), "!a", "").matches(None)


async def test_labels_and_fields_must_both_match() -> None:
    one = entry({"metadata": {"name": "one", "namespace": "n", "labels": {"a": "b"}}})
    assert Selection(await info(), "a=b", "metadata.name=one").matches(one)
    assert not Selection(await info(), "a=c", "metadata.name=one").matches(one)
    assert not Selection(await info(), "a=b", "metadata.name=two").matches(one)
    assert Selection(await info(), "", "metadata.namespace!=x").matches(one)


async def test_an_absent_field_is_the_zero_of_its_type() -> None:
    plain, set_up = (
        entry({"metadata": {"name": "p"}, "spec": {}}),
        entry({"metadata": {}, "spec": {"hostNetwork": True}}),
    )
    pods = await info(PODS)
    assert Selection(pods, "", "spec.hostNetwork=false").matches(plain)
    assert Selection(pods, "", "spec.hostNetwork=true").matches(set_up)
    assert Selection(pods, "", "spec.nodeName=").matches(plain)


async def test_a_field_below_what_is_no_object_is_absent() -> None:
    odd = entry({"metadata": {"name": "p"}, "spec": ["nodeName"], "status": "phase"})
    pods = await info(PODS)
    assert Selection(pods, "", "spec.nodeName=,status.phase=").matches(odd)


async def test_the_one_name_that_can_match_is_known() -> None:
    assert Selection(await info(), "", "metadata.name=one").name == "one"
    assert Selection(await info(), "", "metadata.name!=one").name == ""


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (CONFIG_MAPS, '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (PODS, "field label not supported: data.x"),
    ],
)
async def test_unknown_fields_are_refused(resource: GroupVersionResource, message: str) -> None:
    kind = await info(resource)
    with pytest.raises(BadRequest, match=message):
        Selection(kind, "", "data.x=1")


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (CONFIG_MAPS, '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (
            GroupVersionResource("apps", "v1", "replicasets"),
            '"spec.x" is not a known field selector: only "metadata.name"',
        ),
        (PODS, "field label not supported: spec.x"),
        (GroupVersionResource("batch", "v1", "jobs"), 'field label "spec.x" not supported for Job'),
        (
            GroupVersionResource("resource.k8s.io", "v1", "resourceslices"),
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x",
        ),
    ],
)
async def test_an_unknown_field_is_refused_in_the_words_of_its_kind(
    resource: GroupVersionResource, message: str
) -> None:
    with pytest.raises(BadRequest) as raised:
        Selection(await info(resource), "", "spec.x=1")
    assert str(raised.value).startswith(message)


async def test_a_cluster_scoped_kind_without_fields_of_its_own_takes_a_namespace_too() -> None:
    classes = await info(GroupVersionResource("storage.k8s.io", "v1", "storageclasses"))
    one = entry({"metadata": {"name": "one"}})
    assert Selection(classes, "", "metadata.namespace=").matches(one)
    assert not Selection(classes, "", "metadata.namespace=a").matches(one)
    with pytest.raises(BadRequest):
        Selection(await info(GroupVersionResource("", "v1", "nodes")), "", "metadata.namespace=a")
