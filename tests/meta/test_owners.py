from __future__ import annotations

import pytest

from pilotage.meta.models import ObjectMeta, OwnerReference, Resource, resource
from pilotage.meta.owners import (
    AlreadyOwned,
    InvalidOwner,
    controller_of,
    has_owner_reference,
    is_controlled_by,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from pilotage.meta.unstructured import Unstructured


@resource(group="example.com", version="v1")
class Widget(Resource):
    pass


@resource(group="example.com", version="v1", scope="Cluster")
class Planet(Resource):
    pass


def widget(name: str = "one", namespace: str = "default", uid: str = "1") -> Widget:
    return Widget(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def reference(uid: str, api_version: str = "example.com/v1") -> OwnerReference:
    return OwnerReference(api_version=api_version, kind="Widget", name="one", uid=uid, controller=True)


def test_a_controller_blocks_its_deletion_and_is_found_again() -> None:
    owner, owned = widget(), widget("part", uid="2")
    set_controller_reference(owner, owned)
    assert owned.metadata.owner_references == [
        OwnerReference(
            api_version="example.com/v1", kind="Widget", name="one", uid="1", controller=True, block_owner_deletion=True
        )
    ]
    assert controller_of(owned) == controller_of(owned.metadata) == owned.metadata.owner_references[0]
    assert is_controlled_by(owned, owner)
    assert not is_controlled_by(owned, widget(uid="3"))
    assert not is_controlled_by(owner, owned)


def test_the_same_owner_is_brought_up_to_date() -> None:
    owned = widget("part", uid="2")
    owned.metadata.owner_references = [reference("1", "example.com/v1alpha1")]
    set_controller_reference(widget(), owned, block_owner_deletion=False)
    assert [(one.api_version, one.uid) for one in owned.metadata.owner_references] == [("example.com/v1", "1")]
    set_owner_reference(widget(), owned)
    assert [one.controller for one in owned.metadata.owner_references] == [None]


def test_an_owner_of_the_same_name_with_another_uid_is_another_owner() -> None:
    owned = widget("part", uid="2")
    owned.metadata.owner_references = [reference("0")]
    with pytest.raises(AlreadyOwned, match=r"\(uid 0\), not by one \(uid 1\).*read the owner again") as caught:
        set_controller_reference(widget(), owned)
    assert (caught.value.owner.uid, caught.value.refused.uid) == ("0", "1")
    assert not has_owner_reference(owned, widget())
    assert not remove_owner_reference(widget(), owned)
    assert [one.uid for one in owned.metadata.owner_references] == ["0"]
    set_owner_reference(widget(), owned)
    assert [one.uid for one in owned.metadata.owner_references] == ["0", "1"]
    assert remove_owner_reference(widget(), owned)
    assert [one.uid for one in owned.metadata.owner_references] == ["0"]


def test_an_owner_without_a_uid_is_compared_by_its_name() -> None:
    owned = widget("part", uid="2")
    set_owner_reference(widget(), owned)
    assert has_owner_reference(owned, widget(uid=""))
    assert not has_owner_reference(owned, widget("two", uid=""))
    assert remove_owner_reference(widget(uid=""), owned)


def test_there_is_one_controller() -> None:
    owned = widget("part", uid="2")
    set_controller_reference(widget(), owned)
    with pytest.raises(AlreadyOwned, match="default/part is already owned by another Widget controller one") as caught:
        set_controller_reference(widget("two", uid="3"), owned)
    assert (caught.value.owner.name, caught.value.refused.name) == ("one", "two")
    assert len(owned.metadata.owner_references) == 1
    set_owner_reference(widget("two", uid="3"), owned, block_owner_deletion=True)
    assert len(owned.metadata.owner_references) == 2


@pytest.mark.parametrize(
    ("owner", "owned", "message"),
    [
        (widget(namespace="a"), widget(namespace="b"), "cross-namespace owner references are disallowed"),
        (
            widget(namespace="a"),
            widget("part", namespace=""),
            "Widget a/one cannot own Widget part, which has no namespace yet: set metadata.namespace of the Widget to "
            '"a", the namespace of its owner',
        ),
        (
            widget(namespace="a"),
            Planet(metadata=ObjectMeta(name="mars")),
            "Widget a/one cannot own Planet mars: a cluster-scoped resource must not have a namespace-scoped owner",
        ),
        (
            widget(namespace="a"),
            Unstructured({"apiVersion": "x/v1", "kind": "Moon", "metadata": {"name": "io"}}),
            "Widget a/one cannot own Moon io, which has no namespace: set metadata.namespace of the Moon to "
            '"a", the namespace of its owner; if Moon is cluster-scoped, so must its owner be',
        ),
        (widget(uid=""), widget(), "has no uid: create it, or read it"),
    ],
)
def test_what_cannot_be_an_owner_is_refused(owner: Widget, owned: Widget | Planet | Unstructured, message: str) -> None:
    with pytest.raises(InvalidOwner, match=message):
        set_owner_reference(owner, owned)
    assert owned.metadata.owner_references == []


def test_a_cluster_scoped_owner_owns_anywhere() -> None:
    owned = widget()
    set_owner_reference(widget("cluster", namespace=""), owned)
    assert has_owner_reference(owned, widget("cluster", namespace=""))
    assert has_owner_reference(owned.metadata.owner_references, widget("cluster", namespace=""))


def test_owners_are_removed() -> None:
    owned = widget("part", uid="2")
    assert not remove_owner_reference(widget(), owned)
    set_owner_reference(widget(), owned)
    assert remove_owner_reference(widget(), owned)
    assert owned.metadata.owner_references == []


def test_documents_own_and_are_owned() -> None:
    owner = Unstructured({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "uid": "1"}})
    owned = Unstructured({"metadata": {"name": "b", "namespace": "default"}})
    set_controller_reference(owner, owned)
    assert owned.document["metadata"]["ownerReferences"][0]["kind"] == "Thing"
