"""A kind with webhooks, and the reviews that an API server sends about its objects."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

import pilotage as pt
from pilotage.meta.documents import Document
from pilotage.meta.patches import json_patch


class BookSpec(pt.Model):
    title: str
    pages: Annotated[int, pt.Minimum(1)] = 10
    size: str | None = None


@pt.resource(group="books.pilotage.dev", version="v1")
class Book(pt.Resource):
    spec: BookSpec


class BookWebhook:
    """Fills in the size; a title needs a capital letter, the number of pages cannot decrease, and books labelled `keep`
    cannot be deleted."""

    async def default(self, book: Book) -> None:
        if book.spec.size is None:
            book.spec.size = "A4"

    async def validate_create(self, book: Book) -> list[str]:
        if book.spec.title.islower():
            raise pt.Invalid.of(book, pt.field.invalid("spec.title", book.spec.title, "must begin with a capital"))
        return ["large books are slow to print"] if book.spec.pages > 1000 else []

    async def validate_update(self, old: Book, book: Book) -> list[str]:
        if book.spec.pages < old.spec.pages:
            raise pt.Invalid.of(book, pt.field.invalid("spec.pages", book.spec.pages, "may not shrink"))
        return []

    async def validate_delete(self, book: Book) -> list[str]:
        if book.metadata.labels.get("keep") == "yes":
            raise pt.Forbidden("it is labelled to be kept")
        return []


def book(title: str = "Summer", pages: int = 10, **more: Any) -> Document:
    """A document of a Book; `more` are further fields of its spec."""
    return {
        "apiVersion": "books.pilotage.dev/v1",
        "kind": "Book",
        "metadata": {"name": "summer", "namespace": "default"},
        "spec": {"title": title, "pages": pages, **more},
    }


def request(operation: str = "CREATE", **fields: Any) -> Document:
    """The `request` of a review; `object` and `oldObject` among `fields`."""
    gvk = {"group": "books.pilotage.dev", "version": "v1", "kind": "Book"}
    gvr = {"group": "books.pilotage.dev", "version": "v1", "resource": "books"}
    return {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": "summer",
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "ada", "groups": ["system:authenticated"]},
        "dryRun": False,
        "options": {"kind": f"{operation.title()}Options", "apiVersion": "meta.k8s.io/v1"},
        **fields,
    }


def review(operation: str = "CREATE", version: str = "v1", **fields: Any) -> Document:
    return {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "request": request(operation, **fields),
    }


def admission_request(operation: str = "CREATE", **fields: Any) -> pt.AdmissionRequest:
    return pt.AdmissionRequest.from_document(request(operation, **fields))


def applied(response: pt.webhook.AdmissionResponse, document: Document) -> Document:
    """The document with the patch of a response, as the API server applies it."""
    patched: Document = json_patch.apply(document, list(response.patches))
    return patched


def copy(document: Document) -> Document:
    copied: Document = msgspec.json.decode(msgspec.json.encode(document))
    return copied
