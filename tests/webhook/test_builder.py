"""The builder: paths, declarations, and what it refuses."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType
from typing import cast

import pytest

import pilotage as pt
from pilotage.types.core.v1 import Pod
from pilotage.webhook.builder import WebhookBuilder, webhook_path
from pilotage.webhook.declarations import Declaration, program_of

from .books import Book, BookWebhook, admission_request, book, review


class Manager:
    """Only the server of a manager."""

    def __init__(self) -> None:
        self.webhook_server = pt.webhook.WebhookServer()


@pytest.mark.covers("T180")
def test_paths_are_those_of_kubebuilder() -> None:
    assert (
        webhook_path(pt.GroupVersionKind("apps", "v1", "StatefulSet"), mutating=True) == "/mutate-apps-v1-statefulset"
    )
    book_kind = pt.GroupVersionKind("books.pilotage.dev", "v1", "Book")
    assert webhook_path(book_kind, mutating=False) == "/validate-books-pilotage-dev-v1-book"
    assert webhook_path(pt.GroupVersionKind("", "v1", "Pod"), mutating=True) == "/mutate--v1-pod"


@pytest.mark.covers("T180")
def test_a_defaulter_and_a_validator_are_served_and_declared() -> None:
    manager, webhook = Manager(), BookWebhook()
    WebhookBuilder(manager).for_(Book).with_defaulter(webhook).with_validator(webhook).complete()
    server = manager.webhook_server
    assert server.handles("/mutate-books-pilotage-dev-v1-book")
    assert server.handles("/validate-books-pilotage-dev-v1-book")
    mutating, validating = server.declarations
    assert isinstance(mutating, Declaration)
    assert isinstance(validating, Declaration)
    assert (mutating.name, mutating.rules[0].operations) == ("mutate-v1.books.books.pilotage.dev", ("CREATE", "UPDATE"))
    assert validating.rules[0].operations == ("CREATE", "UPDATE", "DELETE")
    assert validating.document({"url": "https://a/b"})["webhooks"][0]["rules"] == [
        {
            "apiGroups": ["books.pilotage.dev"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["books"],
            "scope": "*",
        }
    ]


@pytest.mark.covers("T180")
def test_paths_can_be_chosen_and_are_checked() -> None:
    manager = Manager()
    builder = WebhookBuilder(manager).for_(Book).with_validator(BookWebhook(), path="/books/check")
    builder.with_defaulter(BookWebhook(), path="/books/fill_in").complete()
    assert manager.webhook_server.handles("/books/check")
    assert manager.webhook_server.handles("/books/fill_in")
    for wrong in ("books", "/books/", "/books?x=1", "//"):
        with pytest.raises(pt.InvalidDefinition, match="cannot be the path of a webhook"):
            WebhookBuilder(manager).for_(Book).with_validator(BookWebhook(), path=wrong)


@pytest.mark.covers("T180")
def test_both_styles_at_once_are_an_error() -> None:
    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        return pt.allowed()

    builder = WebhookBuilder(Manager()).for_(Book)
    with pytest.raises(pt.InvalidDefinition, match="only one of a mutating handler and a defaulter can be set"):
        builder.with_defaulter(BookWebhook()).with_mutating_handler(handle)
    with pytest.raises(pt.InvalidDefinition, match="there is a validator already"):
        builder.with_validator(BookWebhook()).with_validator(BookWebhook())


def test_a_builder_without_a_kind_or_without_a_webhook_is_refused() -> None:
    with pytest.raises(pt.InvalidDefinition, match="needs for_"):
        WebhookBuilder(Manager()).complete()
    with pytest.raises(pt.InvalidDefinition, match="the webhooks of Book do nothing"):
        WebhookBuilder(Manager()).for_(Book).complete()


@pytest.mark.parametrize("role", ["mutating", "validating"])
def test_a_handler_that_is_no_function_is_refused(role: str) -> None:
    add = getattr(WebhookBuilder(Manager()).for_(Book), f"with_{role}_handler")
    with pytest.raises(pt.InvalidDefinition, match=f"None cannot be a {role} handler"):
        add(None)


@pytest.mark.covers("T180")
def test_a_path_that_is_served_already_is_left_as_it_is() -> None:
    manager = Manager()
    for _ in range(2):
        WebhookBuilder(manager).for_(Book).with_validator(BookWebhook()).complete()
    assert len(manager.webhook_server.declarations) == 1


async def test_a_kind_without_a_class_is_given_as_documents() -> None:
    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        assert request.object is not None
        return pt.webhook.patched("", {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}})

    manager = Manager()
    gvk = pt.GroupVersionKind("books.pilotage.dev", "v1", "Book")
    WebhookBuilder(manager).for_(gvk).with_mutating_handler(handle).complete()
    endpoint = manager.webhook_server.endpoint("/mutate-books-pilotage-dev-v1-book")
    answer = await endpoint.local(review(object=book()))
    assert answer["response"]["patchType"] == "JSONPatch"
    with pytest.raises(pt.InvalidDefinition, match="no webhook is served at /other; there are: /mutate-books"):
        manager.webhook_server.endpoint("/other")
    assert admission_request(object=book()).decode(gvk).metadata.name == "summer"


def test_a_subresource_of_another_kind_needs_a_handler_for_documents() -> None:
    builder = WebhookBuilder(Manager()).for_(Book).with_options(pt.RegistrationOptions(subresources=("scale",)))
    with pytest.raises(pt.InvalidDefinition, match=r"books/scale is not a Book: use with_validating_handler"):
        builder.with_validator(BookWebhook()).complete()


def test_the_resource_of_a_built_in_kind_is_known_without_its_class() -> None:
    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        return pt.allowed()

    manager = Manager()
    endpoints = pt.GroupVersionKind("", "v1", "Endpoints")
    WebhookBuilder(manager).for_(endpoints).with_validating_handler(handle).complete()
    (declaration,) = manager.webhook_server.declarations
    assert declaration.name == "tests-validate-v1.endpoints.core"


class Labels:
    async def default(self, pod: Pod) -> None: ...


def _in(module: str, handler: type[Labels]) -> Labels:
    """A handler that is defined in the module."""
    return cast("type[Labels]", type("Labels", (handler,), {"__module__": module}))()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("greetings.webhooks.pods", "greetings-mutate-v1.pods.core"),
        ("Greeting_Service", "greeting-service-mutate-v1.pods.core"),
        ("a" * 100, f"{'a' * 40}-mutate-v1.pods.core"),
    ],
)
def test_a_webhook_for_a_built_in_kind_is_named_after_the_program(module: str, name: str) -> None:
    """So the configurations of two programs in a cluster do not replace each other."""
    manager = Manager()
    WebhookBuilder(manager).for_(Pod).with_defaulter(_in(module, Labels)).complete()
    (declaration,) = manager.webhook_server.declarations
    assert declaration.name == name


def test_a_file_that_is_run_has_the_same_name_as_when_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    main.__file__ = "/app/greetings.py"
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert program_of(_in("__main__", Labels)) == "greetings"


def test_the_program_of_a_function_with_arguments_is_the_program_of_the_function() -> None:
    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        return pt.allowed()

    assert program_of(partial(partial(handle))) == "tests"


def test_two_webhooks_of_one_name_are_refused() -> None:
    manager = Manager()
    WebhookBuilder(manager).for_(Book).with_validator(BookWebhook()).complete()
    second = WebhookBuilder(manager).for_(Book).with_validator(BookWebhook(), path="/second")
    with pytest.raises(pt.InvalidDefinition, match=r"there are two webhooks validate-v1\.books.* named"):
        second.complete()
    WebhookBuilder(manager).for_(Book).with_validator(BookWebhook(), path="/third").named("third.test").complete()
    assert [each.name for each in manager.webhook_server.declarations][-1] == "validate.third.test"


def test_each_handler_may_have_operations_of_its_own() -> None:
    manager = Manager()
    options = pt.RegistrationOptions(operations=["UPDATE"])
    builder = WebhookBuilder(manager).for_(Book).with_defaulter(BookWebhook(), operations=["CREATE"])
    builder.with_validator(BookWebhook()).with_options(options).complete()
    mutating, validating = manager.webhook_server.declarations
    assert isinstance(mutating, Declaration)
    assert isinstance(validating, Declaration)
    assert (mutating.rules[0].operations, validating.rules[0].operations) == (["CREATE"], ["UPDATE"])


def test_operations_of_a_handler_are_checked() -> None:
    with pytest.raises(pt.InvalidDefinition, match=r"operations='DELETE' must be a list"):
        WebhookBuilder(Manager()).for_(Book).with_validator(BookWebhook(), operations="DELETE")
    with pytest.raises(pt.InvalidDefinition, match="'Delete' must be one of CREATE, UPDATE, DELETE, CONNECT"):
        WebhookBuilder(Manager()).for_(Book).with_validator(BookWebhook(), operations=["Delete"])
