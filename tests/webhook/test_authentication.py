"""The authentication webhook."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pilotage.http.messages import Headers, HTTPRequest
from pilotage.meta.documents import Document
from pilotage.types.authentication.v1 import UserInfo
from pilotage.webhook.authentication import (
    AuthenticationWebhook,
    TokenRequest,
    TokenResponse,
    authenticated,
    unauthenticated,
)
from pilotage.webhook.endpoint import WebhookEndpoint

JSON = (("Content-Type", "application/json"),)


async def check(request: TokenRequest) -> TokenResponse:
    if request.token == "broken":
        raise RuntimeError("the directory is down")
    if request.token != "sesame":
        return unauthenticated("unknown token")
    return authenticated(UserInfo(username="ada", groups=["readers"]), *request.audiences)


def token_review(token: str, version: str = "v1", **more: Any) -> Document:
    return {"apiVersion": f"authentication.k8s.io/{version}", "kind": "TokenReview", "spec": {"token": token}, **more}


async def ask(body: bytes | Document, headers: tuple[tuple[str, str], ...] = JSON) -> tuple[int, Document]:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    response = await WebhookEndpoint("/token", AuthenticationWebhook(check))(
        HTTPRequest("POST", "/token", Headers(headers), data)
    )
    return response.status, msgspec.json.decode(response.body)


@pytest.mark.covers("T182")
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_token_is_answered_in_its_version_with_its_uid(version: str) -> None:
    asked = token_review("sesame", version, metadata={"uid": "7"})
    asked["spec"]["audiences"] = ["api"]
    _, document = await ask(asked)
    assert document == {
        "apiVersion": f"authentication.k8s.io/{version}",
        "kind": "TokenReview",
        "metadata": {"uid": "7"},
        "status": {
            "authenticated": True,
            "user": {"groups": ["readers"], "username": "ada"},
            "audiences": ["api"],
        },
    }


@pytest.mark.covers("T182")
@pytest.mark.parametrize(
    ("body", "headers", "words"),
    [
        (b"", JSON, "request body is empty"),
        (b"{}", (), "contentType=, expected application/json"),
        (b"{", JSON, "the body is not a JSON object"),
        (b" " * (1024 * 1024 + 1), JSON, "request entity is too large; limit is 1048576 bytes"),
        (b'{"kind": "TokenReview", "spec": {"token": ""}}', JSON, "token is empty"),
        (b'{"kind": "Pod"}', JSON, "expected a TokenReview"),
    ],
)
async def test_what_is_not_a_token_review_is_not_authenticated(
    body: bytes, headers: tuple[tuple[str, str], ...], words: str
) -> None:
    status, document = await ask(body, headers)
    assert (status, document["status"]["authenticated"]) == (200, False)
    assert words in document["status"]["error"]


@pytest.mark.covers("T182")
async def test_the_status_of_the_handler_is_not_overwritten() -> None:
    _, document = await ask(token_review("other"))
    assert document["status"] == {"authenticated": False, "user": {}, "error": "unknown token"}


async def test_a_handler_that_fails_is_an_http_error() -> None:
    status, document = await ask(token_review("broken"))
    assert (status, document["kind"]) == (500, "Status")
    assert "sesame" not in repr(TokenRequest("sesame"))
