"""HTTP around a webhook: what is refused, versions, deadlines, failures and metrics."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

import pilotage as pt
from pilotage.http.messages import Headers, HTTPRequest
from pilotage.meta.documents import Document
from pilotage.telemetry.logs import logged_fields
from pilotage.telemetry.metrics import REGISTRY
from pilotage.webhook.endpoint import MAX_SECONDS, WebhookEndpoint, deadline_of
from pilotage.webhook.typed import validating
from pilotage.webhook.webhook import PANICS, WebhookOptions

from .books import Book, BookWebhook, book, review

JSON = (("Content-Type", "application/json"),)


def http(body: bytes | Document, headers: tuple[tuple[str, str], ...] = JSON, target: str = "/validate") -> HTTPRequest:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return HTTPRequest("POST", target, Headers(headers), data)


def endpoint(handler: pt.webhook.AdmissionHandler | None = None, **options: Any) -> WebhookEndpoint:
    webhook = pt.webhook.AdmissionWebhook(handler or validating(Book, BookWebhook()), WebhookOptions(**options))
    return WebhookEndpoint("/validate", webhook)


async def answer(to: WebhookEndpoint, request: HTTPRequest) -> tuple[int, Document]:
    response = await to(request)
    return response.status, msgspec.json.decode(response.body)


async def raising(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    raise KeyError("oops")


async def hanging(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    await asyncio.Event().wait()
    raise AssertionError("never")


@pytest.mark.covers("T173")
@pytest.mark.parametrize(
    ("body", "headers", "code", "words"),
    [
        (b"", JSON, 400, "request body is empty"),
        (
            b"{}",
            (("Content-Type", "application/yaml"),),
            400,
            "contentType=application/yaml, expected application/json",
        ),
        (b"{}", (), 400, "contentType=, expected application/json"),
        (b"{", JSON, 400, "the body is not a JSON object"),
        (b"[]", JSON, 400, "the body is not a JSON object"),
        (b"[" * 100_000, JSON, 400, "the body is not a JSON object"),
        (b" " * (7 * 1024 * 1024 + 1), JSON, 413, "request entity is too large; limit is 7340032 bytes"),
        (b'{"kind": "Pod", "apiVersion": "v1"}', JSON, 400, "expected a AdmissionReview"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v2"}', JSON, 400, "got AdmissionReview of"),
    ],
)
async def test_what_is_not_a_review_is_refused(
    body: bytes, headers: tuple[tuple[str, str], ...], code: int, words: str
) -> None:
    status, document = await answer(endpoint(), http(body, headers))
    assert (status, document["response"]["allowed"], document["response"]["status"]["code"]) == (200, False, code)
    assert words in document["response"]["status"]["message"]


async def test_a_review_of_an_object_that_is_nested_very_deeply_is_answered() -> None:
    deep = b"[" * 9_000 + b"]" * 9_000
    body = msgspec.json.encode(review(object=book() | {"deep": msgspec.Raw(deep)}))
    status, document = await answer(endpoint(), http(body, JSON))
    assert (status, document["kind"]) == (200, "AdmissionReview")


@pytest.mark.covers("T173")
@pytest.mark.parametrize(
    ("sent", "answered"),
    [("admission.k8s.io/v1",) * 2, ("admission.k8s.io/v1beta1",) * 2, ("", "admission.k8s.io/v1")],
)
async def test_reviews_are_answered_in_their_version(sent: str, answered: str) -> None:
    asked = review(object=book()) | {"apiVersion": sent}
    if not sent:
        del asked["kind"]
    _, document = await answer(endpoint(), http(asked))
    assert (document["apiVersion"], document["kind"]) == (answered, "AdmissionReview")
    assert document["response"] == {
        "uid": asked["request"]["uid"],
        "allowed": True,
        "status": {"metadata": {}, "code": 200},
    }


async def test_a_refusal_has_the_causes_in_its_status() -> None:
    _, document = await answer(endpoint(), http(review(object=book("winter"))))
    status = document["response"]["status"]
    assert (status["code"], status["reason"], status["status"]) == (422, "Invalid", "Failure")
    assert status["message"].startswith(
        'Book.books.pilotage.dev "summer" is invalid: spec.title: Invalid value: "winter"'
    )
    assert status["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "message": 'Invalid value: "winter": must begin with a capital',
            "field": "spec.title",
        }
    ]


@pytest.mark.covers("T178")
async def test_a_handler_that_raises_is_an_http_error_so_that_the_failure_policy_decides() -> None:
    before = PANICS.labels().value
    status, document = await answer(endpoint(raising), http(review(object=book())))
    assert (status, document["kind"], document["code"]) == (500, "Status", 500)
    assert PANICS.labels().value == before + 1
    assert document["message"] == "panic: KeyError: 'oops' [recovered]"


async def test_a_handler_that_cannot_decode_its_object_refuses_it() -> None:
    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        request.decode(Book)
        return pt.allowed()

    _, document = await answer(endpoint(handle), http(review(object={"apiVersion": "v1", "kind": "Pod"})))
    status = document["response"]["status"]
    assert (document["response"]["allowed"], status["code"]) == (False, 400)


@pytest.mark.covers("T178")
async def test_without_recovery_the_error_ends_the_server() -> None:
    errors: list[BaseException] = []
    webhook = pt.webhook.AdmissionWebhook(raising, WebhookOptions(recover_panic=False))
    status, _ = await answer(WebhookEndpoint("/validate", webhook, errors.append), http(review(object=book())))
    assert status == 500
    assert [repr(error) for error in errors] == ["KeyError('oops')"]


@pytest.mark.virtual_time
async def test_a_handler_that_hangs_is_ended_when_the_api_server_stops_waiting() -> None:
    start = asyncio.get_running_loop().time()
    status, document = await answer(endpoint(hanging), http(review(object=book()), target="/validate?timeout=3s"))
    assert asyncio.get_running_loop().time() - start == pytest.approx(3)
    assert (status, document["message"]) == (504, "the webhook /validate did not answer within 3 s")
    assert 'controller_runtime_webhook_requests_total{webhook="/validate",code="504"} 1' in REGISTRY.render()


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        ("/a?timeout=10s", 10),
        ("/a?x=1&timeout=1500ms", 1.5),
        ("/a?timeout=1m", MAX_SECONDS),
        ("/a", MAX_SECONDS),
        ("/a?timeout=never", MAX_SECONDS),
        ("/a?timeout=0s", MAX_SECONDS),
        ("/a?nottimeout=1s", MAX_SECONDS),
    ],
)
def test_the_deadline_is_that_of_the_api_server(target: str, seconds: float) -> None:
    assert deadline_of(target) == seconds


async def test_a_call_without_http_gives_the_same_answer() -> None:
    asked = review(object=book("winter"))
    _, over_http = await answer(endpoint(), http(asked))
    assert await endpoint().local(asked) == over_http
    with pytest.raises(pt.errors.InternalError, match="panic: KeyError"):
        await endpoint(raising).local(review(object=book()))


@pytest.mark.covers("T173", "T178")
async def test_a_context_function_and_log_fields_surround_the_handler() -> None:
    tenant = contextvars.ContextVar("tenant", default="none")
    seen: list[tuple[str, object]] = []

    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        seen.append((tenant.get(), logged_fields().get("requestID")))
        return pt.allowed()

    @contextmanager
    def context(request: HTTPRequest | None) -> Iterator[None]:
        token = tenant.set("none" if request is None else request.headers.get("x-tenant"))
        yield
        tenant.reset(token)

    asked = review(object=book())
    at = endpoint(handle, context_func=context)
    await at(http(asked, (*JSON, ("X-Tenant", "blue"))))
    await at.local(asked)
    own = endpoint(handle, log_fields=lambda request: {"requestID": f"mine-{request.name}"})
    await own.local(asked)
    uid = asked["request"]["uid"]
    assert seen == [("blue", uid), ("none", uid), ("none", "mine-summer")]


async def test_requests_are_counted_by_path_and_code() -> None:
    at = WebhookEndpoint("/counted", pt.webhook.AdmissionWebhook(raising))
    await at(http(review(object=book())))
    lines = [line for line in REGISTRY.render().splitlines() if '"/counted"' in line]
    assert 'controller_runtime_webhook_requests_total{webhook="/counted",code="500"} 1' in lines
    assert 'controller_runtime_webhook_requests_total{webhook="/counted",code="200"} 0' in lines
    assert 'controller_runtime_webhook_requests_in_flight{webhook="/counted"} 0' in lines
    assert 'controller_runtime_webhook_latency_seconds_count{webhook="/counted"} 1' in lines


@pytest.mark.covers("T178")
@pytest.mark.parametrize("broken", ["log_fields", "context_func", "patch"])
async def test_an_error_around_the_handler_is_recovered_too(broken: str) -> None:
    ended: list[BaseException] = []

    def fail(_: object) -> Any:
        raise KeyError("absent")

    def patch(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        return pt.webhook.AdmissionResponse(True, pt.allowed().status, [{"op": "add", "path": "/a", "value": object()}])

    given: dict[str, Any] = {broken: fail} if broken != "patch" else {}
    options = WebhookOptions(**given)
    webhook = pt.webhook.AdmissionWebhook(patch if broken == "patch" else lambda request: pt.allowed(), options)
    status, document = await answer(WebhookEndpoint("/validate", webhook, ended.append), http(review(object=book())))
    assert (status, ended) == (500, [])
    assert document["message"].endswith("[recovered]")


@pytest.mark.covers("T178")
async def test_without_recovery_a_timeout_of_the_handlers_own_ends_the_server() -> None:
    async def late(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        raise TimeoutError("of another server")

    ended: list[BaseException] = []
    webhook = pt.webhook.AdmissionWebhook(late, WebhookOptions(recover_panic=False))
    await answer(WebhookEndpoint("/validate", webhook, ended.append), http(review(object=book())))
    assert [repr(error) for error in ended] == ["TimeoutError('of another server')"]
