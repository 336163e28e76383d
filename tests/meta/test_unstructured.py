from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta, OwnerReference, Resource, resource
from pilotage.meta.unstructured import MetadataOnly, PartialObjectMetadata, Unstructured, metadata_only

GVK = GroupVersionKind("demo.pilotage.dev", "v1", "Widget")


@resource(group="demo.pilotage.dev", version="v1")
class Widget(Resource):
    pass


def document(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.pilotage.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "default"} | metadata,
        "spec": {"size": 1, "parts": [{"name": "a"}]},
    }


def test_it_is_a_mapping_over_the_document() -> None:
    obj = Unstructured(document())
    obj["spec"]["size"] = 2
    obj["status"] = {"ready": True}
    del obj["kind"]
    assert list(obj) == ["apiVersion", "metadata", "spec", "status"]
    assert len(obj) == 4
    assert "status" in obj
    assert "kind" not in obj
    assert obj.get("kind", "none") == "none"
    assert obj.document["spec"]["size"] == 2


def test_it_knows_what_it_is() -> None:
    obj = Unstructured(document())
    assert (obj.api_version, obj.kind, obj.gvk) == ("demo.pilotage.dev/v1", "Widget", GVK)


def test_it_is_compared_by_its_document() -> None:
    assert Unstructured(document()) == Unstructured.from_bytes(json.dumps(document()).encode())
    assert Unstructured(document()) == document()
    assert Unstructured(document()) != Unstructured(document(name="two"))
    assert Unstructured(document()) != 1


def test_bytes_are_kept_until_they_are_read() -> None:
    data = b' {"spec" : {}, "apiVersion":"demo.pilotage.dev/v1", "kind":"Widget", "metadata":{"name":"one"}}'
    obj = Unstructured.from_bytes(memoryview(data))
    assert (obj.header.name, obj.kind, obj.gvk) == ("one", "Widget", GVK)
    assert repr(obj) == "<Unstructured demo.pilotage.dev/v1 Widget one>"
    assert obj.to_bytes() == data
    obj["spec"]["size"] = 1
    assert json.loads(obj.to_bytes())["spec"] == {"size": 1}
    assert obj.header.name == "one"


def test_changes_of_the_typed_metadata_are_in_the_document_and_unknown_fields_stay() -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "x": 1}]
    obj = Unstructured(document(invented={"a": 1}, ownerReferences=owners, labels={"a": "b"}))
    obj.metadata.labels["c"] = "d"
    obj.metadata.owner_references.append(OwnerReference(api_version="v1", kind="Pod", name="q", uid="2"))
    obj.metadata.namespace = ""
    assert obj["metadata"] == {
        "name": "one",
        "invented": {"a": 1},
        "labels": {"a": "b", "c": "d"},
        "ownerReferences": [*owners, {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "2"}],
    }
    assert json.loads(obj.to_bytes())["metadata"] == obj["metadata"]


def test_changes_of_the_document_are_in_the_typed_metadata_that_was_read_before() -> None:
    obj = Unstructured(document())
    metadata = obj.metadata
    obj["metadata"]["labels"] = {"a": "b"}
    metadata.annotations["c"] = "d"
    assert obj.metadata is metadata
    assert metadata.labels == {"a": "b"}
    assert obj["metadata"]["annotations"] == {"c": "d"}
    obj["metadata"] = {"name": "two"}
    assert obj.metadata.name == metadata.name == "two"
    assert metadata.labels == {}


def test_metadata_can_be_set_and_made() -> None:
    obj = Unstructured(document(invented=1))
    obj.metadata = ObjectMeta(name="two")
    assert obj["metadata"] == {"name": "two", "invented": 1}
    assert obj.header.name == "two"
    empty = Unstructured()
    assert empty.metadata == ObjectMeta()
    assert empty.document == {}
    empty.metadata.name = "three"
    assert empty == {"metadata": {"name": "three"}}


def test_reading_the_typed_metadata_changes_nothing() -> None:
    raw = document(labels={}, annotations=None, generation=0, invented=[])
    obj = Unstructured(copy.deepcopy(raw))
    assert obj.metadata.labels == {}
    assert obj.document == raw


def test_values_are_read_by_their_path() -> None:
    obj = Unstructured(document())
    assert obj.nested("spec", "size") == 1
    assert obj.nested("spec", "parts", 0, "name") == "a"
    assert obj.nested("spec", "parts", 7, "name", default="none") == "none"
    assert obj.nested("status", "phase") is None
    assert obj.nested("metadata", "name") == "one"
    with pytest.raises(TypeError, match=r"\.spec\.size is of type int, so there is no 'unit' in it"):
        obj.nested("spec", "size", "unit")


def test_values_are_set_and_removed_by_their_path() -> None:
    obj = Unstructured(document())
    obj.set_nested("Ready", "status", "phase")
    obj.set_nested("b", "spec", "parts", 0, "name")
    obj.set_nested("x", "metadata", "labels", "app")
    obj.remove_nested("spec", "size")
    obj.remove_nested("nothing", "here")
    assert obj["status"] == {"phase": "Ready"}
    assert obj["spec"] == {"parts": [{"name": "b"}]}
    assert obj.metadata.labels == {"app": "x"}
    obj.remove_nested("spec", "parts", 0)
    obj.remove_nested("spec", "parts", 0)
    assert obj["spec"] == {"parts": []}
    with pytest.raises(TypeError, match="at least one key"):
        obj.set_nested(1)
    with pytest.raises(TypeError, match=r"\.kind is of type str"):
        obj.set_nested(1, "kind", "x")
    with pytest.raises(TypeError, match=r"\.kind is of type str"):
        obj.remove_nested("kind", "x", "y")


@pytest.mark.parametrize(
    "content", [{}, {"apiVersion": "v1"}, {"apiVersion": 1, "kind": "Pod"}, {"apiVersion": "v1", "kind": ""}]
)
def test_a_document_that_does_not_say_what_it_is_is_refused_when_that_is_asked(content: dict[str, Any]) -> None:
    with pytest.raises(DecodeError, match=r"not a Kubernetes object: (apiVersion|kind) is"):
        _ = Unstructured(content).gvk
    with pytest.raises(DecodeError):
        _ = Unstructured.from_bytes(json.dumps(content).encode()).gvk


def test_an_api_version_with_too_many_parts_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"a/b/c.*GROUP/VERSION"):
        _ = Unstructured({"apiVersion": "a/b/c", "kind": "Pod"}).gvk


@pytest.mark.parametrize("data", [b"[]", b"1", b"{", b"\xff"])
def test_bytes_that_are_not_an_object_are_refused_when_they_are_read(data: bytes) -> None:
    obj = Unstructured.from_bytes(data)
    with pytest.raises(DecodeError):
        obj.get("spec")
    assert repr(obj).startswith("<Unstructured: ")


def test_broken_metadata_is_refused_when_it_is_read() -> None:
    with pytest.raises(DecodeError, match=r"metadata one cannot be read: Expected `object`, got `array` at .labels"):
        _ = Unstructured({"metadata": {"name": "one", "labels": []}}).metadata


def test_it_prints_who_it_is() -> None:
    assert repr(Unstructured(document())) == "<Unstructured demo.pilotage.dev/v1 Widget default/one>"
    assert repr(Unstructured()) == "<Unstructured ? ? (no name)>"
    assert repr(Unstructured({"metadata": {"name": "a"}, "spec": object()})) == "<Unstructured ? ? a>"
    assert repr(Unstructured({"kind": object()})).startswith("<Unstructured: ")


def test_a_deep_copy_shares_nothing() -> None:
    obj = Unstructured(document())
    obj.metadata.labels["a"] = "b"
    twin = objects.copy_of(obj)
    twin.metadata.labels["c"] = "d"
    twin["spec"]["size"] = 9
    assert obj["metadata"]["labels"] == {"a": "b"}
    assert obj["spec"]["size"] == 1
    assert twin["metadata"]["labels"] == {"a": "b", "c": "d"}


def test_metadata_only_stands_for_a_class_or_a_kind() -> None:
    assert metadata_only(Widget) == metadata_only(GVK) == MetadataOnly(GVK)
    assert len({metadata_only(Widget), metadata_only(GVK)}) == 1


def test_partial_metadata_is_read_from_any_object_of_the_kind() -> None:
    partial = PartialObjectMetadata.from_bytes(GVK, json.dumps(document(labels=None)).encode())
    assert partial == PartialObjectMetadata(GVK, ObjectMeta(name="one", namespace="default"))
    assert (partial.api_version, partial.kind) == ("demo.pilotage.dev/v1", "Widget")
    assert partial.document == {
        "apiVersion": "demo.pilotage.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "default"},
    }


def test_metadata_that_cannot_be_typed_can_still_be_read_and_corrected() -> None:
    obj = Unstructured(document())
    assert obj.metadata.name == "one"
    obj["metadata"]["labels"] = {"a": 1}
    with pytest.raises(DecodeError):
        _ = obj.metadata
    assert obj["metadata"]["labels"] == {"a": 1}
    obj["metadata"]["labels"] = {"a": "1"}
    assert obj.metadata.labels == {"a": "1"}
