"""Defaulters and validators of one class."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pilotage as pt
from pilotage.meta.documents import Document
from pilotage.webhook.typed import defaulting, validating

from .books import Book, BookWebhook, admission_request, applied, book, copy


class Silent(BookWebhook):
    async def default(self, book: Book) -> None:
        pass


@pytest.mark.covers("T175")
async def test_a_defaulter_sends_only_what_it_has_changed() -> None:
    sent = book()
    response = await defaulting(Book, BookWebhook())(admission_request(object=sent))
    assert response.allowed
    assert response.patches == [{"op": "add", "path": "/spec/size", "value": "A4"}]


@pytest.mark.covers("T175")
async def test_an_object_that_is_not_changed_gets_no_patch() -> None:
    response = await defaulting(Book, Silent())(admission_request(object=book()))
    assert (response.allowed, list(response.patches)) == (True, [])


@pytest.mark.covers("T175")
async def test_fields_that_the_class_does_not_know_are_kept() -> None:
    sent = book(publisher={"name": "Ada"})
    sent["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}]
    response = await defaulting(Book, BookWebhook())(admission_request(object=sent))
    assert response.patches == [{"op": "add", "path": "/spec/size", "value": "A4"}]
    assert applied(response, sent)["spec"]["publisher"] == {"name": "Ada"}


async def test_a_defaulter_of_documents_sends_what_it_has_changed() -> None:
    class Labelling:
        async def default(self, document: pt.Unstructured) -> None:
            document["spec"]["size"] = "A5"
            document.metadata.labels["seen"] = "yes"

    gvk = pt.GroupVersionKind("books.pilotage.dev", "v1", "Book")
    sent = book(publisher="Ada")
    response = await defaulting(gvk, Labelling())(admission_request(object=copy(sent)))
    changed = applied(response, sent)
    assert (changed["spec"]["size"], changed["metadata"]["labels"]) == ("A5", {"seen": "yes"})
    assert changed["spec"]["publisher"] == "Ada"


@pytest.mark.covers("T175")
async def test_unknown_fields_are_removed_by_option_even_if_nothing_else_changed() -> None:
    sent = book(publisher="Ada")
    response = await defaulting(Book, Silent(), remove_unknown_fields=True)(admission_request(object=sent))
    assert {"op": "remove", "path": "/spec/publisher"} in response.patches
    assert "publisher" not in applied(response, sent)["spec"]


@pytest.mark.covers("T175")
async def test_a_delete_is_not_defaulted() -> None:
    response = await defaulting(Book, BookWebhook())(admission_request("DELETE", oldObject=book()))
    assert (response.allowed, list(response.patches)) == (True, [])


async def test_a_defaulter_that_returns_another_object_is_an_error() -> None:
    class Returning:
        async def default(self, book: Book) -> None:
            return book  # type: ignore[return-value]  # the mistake

    with pytest.raises(pt.InvalidDefinition, match=r"Returning\.default returned Book"):
        await defaulting(Book, Returning())(admission_request(object=book()))


async def test_a_method_with_a_request_is_given_the_admission_request() -> None:
    class Signing:
        async def default(self, book: Book, *, request: pt.AdmissionRequest) -> None:
            book.metadata.annotations["written-by"] = f"{request.user_info.username} {request.dry_run}"

    response = await defaulting(Book, Signing())(admission_request(object=book(), dryRun=True))
    assert response.patches[0]["value"] == {"written-by": "ada True"}


async def test_a_defaulter_that_is_not_async_runs_in_a_thread() -> None:
    class Blocking:
        thread: threading.Thread

        def default(self, book: Book) -> None:
            self.thread = threading.current_thread()
            book.spec.size = "A5"

    defaulter = Blocking()
    response = await defaulting(Book, defaulter)(admission_request(object=book()))
    assert response.patches[0]["value"] == "A5"
    assert defaulter.thread is not threading.main_thread()


async def test_an_object_that_the_class_cannot_hold_is_refused_with_the_path() -> None:
    response = await defaulting(Book, BookWebhook())(admission_request(object=book(size=3)))
    assert (response.allowed, response.status.code) == (False, 400)
    assert ".spec.size" in response.status.message


@pytest.mark.covers("T176")
async def test_a_validator_is_called_by_operation() -> None:
    handle = validating(Book, BookWebhook())
    kept = book() | {"metadata": {"name": "summer", "labels": {"keep": "yes"}}}
    answers = [
        await handle(admission_request("CREATE", object=book("winter"))),
        await handle(admission_request("UPDATE", object=book(pages=5), oldObject=book())),
        await handle(admission_request("DELETE", oldObject=kept)),
    ]
    assert [answer.status.code for answer in answers] == [422, 422, 403]
    assert [answer.status.reason for answer in answers] == ["Invalid", "Invalid", "Forbidden"]
    assert answers[1].status.details is not None
    assert [cause.field for cause in answers[1].status.details.causes] == ["spec.pages"]
    assert (await handle(admission_request("CREATE", object=book()))).allowed


@pytest.mark.covers("T176", "T174")
async def test_warnings_of_a_validator_are_sent() -> None:
    response = await validating(Book, BookWebhook())(admission_request(object=book(pages=2000)))
    assert response.document("1")["warnings"] == ["large books are slow to print"]


@pytest.mark.covers("T176")
async def test_another_error_of_a_validator_is_403_with_its_text() -> None:
    class Refusing(BookWebhook):
        async def validate_create(self, book: Book) -> list[str]:
            raise ValueError("no books on Sundays")

    response = await validating(Book, Refusing())(admission_request(object=book()))
    assert (response.allowed, response.status.code) == (False, 403)
    assert response.status.message == "no books on Sundays"


async def test_connect_is_allowed_and_an_unknown_operation_is_not() -> None:
    handle = validating(Book, BookWebhook())
    assert (await handle(admission_request("CONNECT"))).allowed
    response = await handle(admission_request("OTHER"))
    assert (response.status.code, response.status.message) == (400, 'unknown operation "OTHER"')


async def test_a_validator_without_a_method_is_refused_when_it_is_declared() -> None:
    class Half:
        async def validate_create(self, book: Book) -> None: ...

    with pytest.raises(pt.InvalidDefinition, match=r"cannot be a validator: it needs a method validate_update"):
        validating(Book, Half())  # type: ignore[arg-type]  # the mistake
    with pytest.raises(pt.InvalidDefinition, match=r"the class BookWebhook, and not an object of it"):
        defaulting(Book, BookWebhook)  # type: ignore[arg-type]  # the mistake


unknown = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=2),
    max_leaves=6,
)
fields = st.dictionaries(st.text(min_size=1, max_size=4).map(lambda name: f"x{name}"), unknown, max_size=3)


@given(spec=fields, top=fields, metadata=fields, size=st.sampled_from([None, "A4", "A5"]))
def test_whatever_the_class_does_not_know_is_the_same_after_the_patch(
    spec: Document, top: Document, metadata: Document, size: str | None
) -> None:
    sent = {**book(**spec), **top}
    sent["metadata"] |= metadata
    if size is not None:
        sent["spec"]["size"] = size

    class Changing:
        async def default(self, book: Book) -> None:
            book.spec.pages += 1
            book.spec.size = None
            book.metadata.labels["a/b~c"] = "yes"

    async def answer() -> pt.webhook.AdmissionResponse:
        return await defaulting(Book, Changing())(admission_request(object=copy(sent)))

    response = asyncio.run(answer())
    wanted = copy(sent)
    wanted["spec"]["pages"] += 1
    wanted["spec"].pop("size", None)
    wanted["metadata"]["labels"] = {"a/b~c": "yes"}
    assert applied(response, sent) == wanted
