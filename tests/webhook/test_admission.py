"""Admission requests and responses, and the objects in them."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

import pilotage as pt
from pilotage.types.autoscaling.v1 import Scale

from .books import Book, admission_request, book

BOOK = pt.GroupVersionKind("books.pilotage.dev", "v1", "Book")


def test_a_request_has_what_the_review_has() -> None:
    request = admission_request("UPDATE", object=book(pages=20), oldObject=book(), dryRun=True, subResource="status")
    assert (request.operation, request.subresource, request.dry_run) == ("UPDATE", "status", True)
    assert request.kind == request.request_kind == BOOK
    assert (request.resource.resource, request.namespace, request.name) == ("books", "default", "summer")
    assert (request.user_info.username, request.user_info.groups) == ("ada", ["system:authenticated"])
    assert request.options == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}


@pytest.mark.covers("T179")
def test_the_objects_of_a_request_are_decoded() -> None:
    request = admission_request("UPDATE", object=book(pages=20), oldObject=book())
    assert (request.decode(Book).spec.pages, request.decode_old(Book).spec.pages) == (20, 10)


@pytest.mark.covers("T179")
def test_raw_json_and_documents_are_decoded_alike() -> None:
    assert pt.from_yaml(Book, msgspec.json.encode(book())) == pt.meta.from_document(Book, book())


@pytest.mark.covers("T179")
def test_a_kind_without_a_class_is_decoded_to_its_document() -> None:
    decoded = admission_request(object=book(publisher="Ada")).decode(BOOK)
    assert isinstance(decoded, pt.Unstructured)
    assert decoded["spec"]["publisher"] == "Ada"


@pytest.mark.covers("T179")
def test_an_object_of_another_kind_or_of_none_is_an_error() -> None:
    with pytest.raises(
        pt.errors.DecodeError, match=r"is Pod of v1, and cannot be decoded as Book of books\.pilotage\.dev/v1"
    ):
        admission_request(object={"apiVersion": "v1", "kind": "Pod"}).decode(Book)
    with pytest.raises(pt.errors.DecodeError, match="has no apiVersion or no kind"):
        admission_request(object={"metadata": {}}).decode(Book)
    with pytest.raises(pt.errors.DecodeError, match="there is no content to decode: the request has no oldObject"):
        admission_request(object=book()).decode_old(Book)


def test_a_scale_is_decoded_as_a_scale() -> None:
    document = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    request = admission_request("UPDATE", subResource="scale", object=document)
    scale = request.decode(Scale)
    assert scale.spec is not None
    assert scale.spec.replicas == 3


def test_a_request_of_wrong_types_is_an_error_with_its_place() -> None:
    with pytest.raises(pt.errors.DecodeError, match=r"`\$\.userInfo\.groups`"):
        admission_request(userInfo={"groups": "admins"})


@pytest.mark.covers("T174")
def test_responses_have_the_status_of_controller_runtime() -> None:
    assert pt.allowed("fine").document("1") == {
        "uid": "1",
        "allowed": True,
        "status": {"metadata": {}, "code": 200, "message": "fine"},
    }
    refused = pt.denied("no").document("1")
    assert (refused["allowed"], refused["status"]["code"], refused["status"]["reason"]) == (False, 403, "Forbidden")
    failed = pt.webhook.errored(400, ValueError("bad")).document("1")["status"]
    assert (failed["code"], failed["message"], "reason" in failed) == (400, "bad", False)
    assert pt.webhook.AdmissionResponse(True).document("1")["status"]["code"] == 200


@pytest.mark.covers("T174")
def test_patches_are_one_blob_with_their_type() -> None:
    operations: list[dict[str, Any]] = [{"op": "remove", "path": "/a"}, {"op": "add", "path": "/b", "value": 1}]
    document = pt.webhook.patched("", *operations).document("1")
    assert document["patchType"] == "JSONPatch"
    assert msgspec.json.decode(base64.b64decode(document["patch"])) == operations
    assert "patchType" not in pt.webhook.patched("").document("1")
    assert pt.webhook.patch_response(book(), book(pages=20)).patches == [
        {"op": "replace", "path": "/spec/pages", "value": 20}
    ]


@pytest.mark.covers("T174")
def test_warnings_are_appended() -> None:
    assert pt.allowed().with_warnings("a").with_warnings("b", "c").document("1")["warnings"] == ["a", "b", "c"]


def test_paths_of_fields_are_written_as_kubernetes_writes_them() -> None:
    assert pt.field.path("spec", "items", 0, "name") == "spec.items[0].name"
    assert pt.field.key(pt.field.path("metadata", "labels"), "app") == "metadata.labels[app]"
