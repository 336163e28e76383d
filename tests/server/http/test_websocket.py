from __future__ import annotations

import base64
import json

import pytest

from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.server.http.handler import HTTPHandler

from ..registries import opened

WATCH = "/api/v1/namespaces?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=default"
OFFER = {
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
    "origin": "http://localhost",
    "authorization": "Bearer secret",
}
TOKEN = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"secret").decode().rstrip("=")


async def ask(handler: HTTPHandler, target: str = WATCH, **changes: str) -> HTTPResponse | StreamingResponse:
    changed = OFFER | {name.replace("_", "-"): value for name, value in changes.items()}
    return await handler(HTTPRequest("GET", target, Headers((name, value) for name, value in changed.items() if value)))


@pytest.mark.virtual_time
async def test_events_of_a_watch_are_messages() -> None:
    async with opened() as api:
        answer = await ask(HTTPHandler(api.registry, "secret"))
        assert isinstance(answer, StreamingResponse)
        assert (answer.status, answer.endless) == (101, True)
        assert ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") in answer.headers
        (frame,) = [frame async for frame in answer.chunks]
        assert frame[:2] == b"\x81\x7e"
        event = json.loads(frame[4:])
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "default")
        assert frame.endswith(b"\n")


@pytest.mark.virtual_time
async def test_protobuf_is_a_binary_message_without_a_length() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        answer = await ask(handler, accept="application/vnd.kubernetes.protobuf;stream=watch")
        assert isinstance(answer, StreamingResponse)
        (frame,) = [frame async for frame in answer.chunks]
        assert frame[:2] == b"\x82\x7e"
        assert frame[4:].startswith(b"\n\x05ADDED\x12")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"origin": ""}, 403),
        ({"sec_websocket_version": "8"}, 400),
        ({"sec_websocket_protocol": "a, b"}, 400),
        ({"sec_websocket_protocol": f"{TOKEN}, a"}, 400),
        ({"connection": ""}, 200),
        ({"accept": "application/yaml"}, 406),
        ({"authorization": ""}, 401),
        ({"authorization": "", "sec_websocket_protocol": TOKEN}, 401),
        ({"authorization": "", "sec_websocket_protocol": f"{TOKEN}, {TOKEN}, a"}, 401),
        ({"authorization": "", "sec_websocket_protocol": f"{TOKEN}*, a"}, 401),
        ({"authorization": "", "sec_websocket_protocol": f"{TOKEN}, a", "upgrade": ""}, 401),
        ({"authorization": "", "sec_websocket_protocol": f"{TOKEN}, a"}, 101),
    ],
)
@pytest.mark.virtual_time
async def test_a_request_to_upgrade_is_answered_as_by_kube_apiserver(changes: dict[str, str], code: int) -> None:
    async with opened() as api:
        answer = await ask(HTTPHandler(api.registry, "secret"), **changes)
        assert answer.status == code
        if code == 101:
            assert ("sec-websocket-protocol", "a") in answer.headers
        if isinstance(answer, StreamingResponse):
            assert len([chunk async for chunk in answer.chunks]) == 1


@pytest.mark.parametrize(
    ("target", "code"), [("/api/v1/namespaces", 200), ("/api/v1/namespaces/default", 200), ("/api/v1/no?watch=1", 404)]
)
async def test_only_a_watch_is_upgraded(target: str, code: int) -> None:
    async with opened() as api:
        answer = await ask(HTTPHandler(api.registry, "secret"), target)
        assert isinstance(answer, HTTPResponse)
        assert answer.status == code


async def test_a_token_in_the_subprotocols_is_not_shown() -> None:
    assert TOKEN not in repr(Headers([("sec-websocket-protocol", f"{TOKEN}, a")]))
