"""Protobuf over HTTP, as client-go's typed clients and kubectl's generators use it."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pilotage.errors import DecodeError
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.protobuf import envelope, wire
from pilotage.server.http.handler import HTTPHandler
from pilotage.types import protobuf

from ..registries import DEFINITIONS, WIDGETS, definition, opened, widget

NOW = datetime(2026, 1, 1, tzinfo=UTC)

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MAPS = "/api/v1/namespaces/default/configmaps"
WIDGET_PATH = "/apis/test.example.com/v1/namespaces/default/widgets"
POD = GroupVersionKind("", "v1", "Pod")
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


async def send(
    handler: HTTPHandler,
    method: str,
    target: str,
    body: bytes = b"",
    *,
    content_type: str = PROTOBUF,
    accept: str = "application/json",
) -> HTTPResponse:
    headers = [("authorization", "Bearer secret"), ("accept", accept)]
    if body:
        headers.append(("content-type", content_type))
    answer = await handler(HTTPRequest(method, target, Headers(headers), body))
    assert isinstance(answer, HTTPResponse)
    return answer


async def test_what_is_created_as_protobuf_is_what_is_created_as_json() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "a", "image": "nginx", "resources": {"limits": {"cpu": "100m"}}}]},
            },
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        },
    }
    target = "/apis/apps/v1/namespaces/default/deployments?dryRun=All"
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        ours = await send(handler, "POST", target, protobuf.encode(deployment))
        plain = await send(handler, "POST", target, json.dumps(deployment).encode(), content_type="application/json")
    created, expected = json.loads(ours.body), json.loads(plain.body)
    assert (ours.status, plain.status) == (201, 201)
    assert created["spec"] == expected["spec"]
    assert created["spec"]["replicas"] == 0


async def test_delete_options_may_be_protobuf() -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "another"}}
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        assert (await send(handler, "POST", MAPS, protobuf.encode(CONFIG_MAP))).status == 201
        assert (await send(handler, "DELETE", f"{MAPS}/a", protobuf.encode(options))).status == 409
        assert (await send(handler, "DELETE", f"{MAPS}/a", b"k8s\0\x12\x00")).status == 200


async def test_a_custom_resource_cannot_be_sent_as_protobuf() -> None:
    body = envelope.wrap("test.example.com/v1", "Widget", b"")
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one"), "default")
        handler = HTTPHandler(api.registry, "secret")
        for method, target in (("POST", WIDGET_PATH), ("PUT", f"{WIDGET_PATH}/one")):
            answer = await send(handler, method, target, body)
            assert (answer.status, json.loads(answer.body)["message"]) == (
                415,
                "the body of the request was in an unknown format - accepted media types include: application/json, "
                "application/yaml",
            )
        options = protobuf.encode({"apiVersion": "v1", "kind": "DeleteOptions"})
        assert (await send(handler, "DELETE", f"{WIDGET_PATH}/one", options)).status == 200


UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
HANDLED = 'in version "v1" cannot be handled as a ConfigMap: '


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"k8s\0", f"{UNRECOGNIZED}empty body (6b387300)"),
        (b"hello", f"{UNRECOGNIZED}provided data does not appear to be a protobuf message, expected prefix "
                   "[107 56 115 0] (68656c6c6f)"),
        (protobuf.encode(CONFIG_MAP)[:30], f"{UNRECOGNIZED}unexpected EOF (6b3873000a0f0a0276311209436f6e6669674d6170"
                                           "121b0a110a01611200)"),
        (envelope.wrap("v1", "ConfigMap", b"\x0a\xff"), f"ConfigMap {HANDLED}unexpected EOF"),
        (envelope.wrap("v1", "ConfigMap", b"\x0a" + b"\xff" * 11), f"ConfigMap {HANDLED}proto: integer overflow"),
        (envelope.wrap("v1", "ConfigMap", b"\xff\x7f\x01a"), f"ConfigMap {HANDLED}proto: illegal wireType 7"),
    ],
)  # fmt: skip
async def test_a_broken_message_is_refused_in_the_words_of_kube_apiserver(body: bytes, message: str) -> None:
    async with opened() as api:
        answer = await send(HTTPHandler(api.registry, "secret"), "POST", MAPS, body)
    assert (answer.status, json.loads(answer.body)["message"]) == (400, message)


@pytest.mark.parametrize(
    ("api_version", "kind"), [("v1", "Foo"), ("v9", "ConfigMap"), ("v1", "Secret"), ("a/b/c", "ConfigMap"), ("/", "\0")]
)
async def test_a_message_of_another_kind_is_refused(api_version: str, kind: str) -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        answer = await send(handler, "POST", MAPS, envelope.wrap(api_version, kind, b"\x0a\x03\x0a\x01x"))
    assert answer.status == 400
    message = json.loads(answer.body)["message"]
    assert "cannot be handled as a ConfigMap" in message or "unexpected GroupVersion string" in message


def schemas(depth: int) -> bytes:
    """A CustomResourceDefinition whose schema has schemas inside one another."""
    data = b""
    for _ in range(depth):
        data = b"\xda\x01" + wire.delimited(data)  # not
    versions = b"\x3a" + wire.delimited(b"\x22" + wire.delimited(b"\x0a" + wire.delimited(data)))
    return envelope.wrap("apiextensions.k8s.io/v1", "CustomResourceDefinition", b"\x12" + wire.delimited(versions))


HOSTILE = {
    "empty containers": b"\x12" + wire.delimited(b"\x12\x00" * 20_000),
    "empty labels": b"\x0a" + wire.delimited(b"\x5a\x00" * 20_000),
    "the same field": b"\x12" + wire.delimited(b"\x20\x01" * 20_000),
    "unknown fields": b"\xf8\x7f\x01" * 20_000,
    "groups": b"\xfb\x7f" * 20_000,
    "a huge length": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_message_is_refused_with_an_answer(name: str) -> None:
    async with opened() as api:
        body = envelope.wrap("v1", "Pod", HOSTILE[name])
        answer = await send(HTTPHandler(api.registry, "secret"), "POST", "/api/v1/namespaces/default/pods", body)
    assert answer.status in (400, 422)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_message_takes_memory_in_proportion_to_its_size(name: str) -> None:
    body = envelope.wrap("v1", "Pod", HOSTILE[name])
    message = protobuf.unwrap(body, POD)
    with suppress(DecodeError):
        protobuf.decode(protobuf.unwrap(envelope.wrap("v1", "Pod", b""), POD))  # compiled before it is measured
    tracemalloc.start()
    with suppress(DecodeError):
        protobuf.decode(message)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * len(body) + 100_000


async def test_a_schema_nested_without_end_is_refused() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        answer = await send(handler, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", schemas(5000))
    assert answer.status == 400
    assert "nested deeper than 64 levels" in json.loads(answer.body)["message"]


BASES = json.loads((Path(__file__).parents[1] / "recordings" / "bases.json").read_bytes())


@pytest.mark.parametrize("name", [name for name, base in BASES.items() if "object" in base])
async def test_every_kind_is_the_same_as_protobuf_and_as_json(name: str) -> None:
    base = BASES[name]
    root = f"/apis/{base['group']}/{base['version']}" if base["group"] else f"/api/{base['version']}"
    target = f"{root}{'/namespaces/default' if base['namespaced'] else ''}/{base['resource']}"
    metadata = {key: value for key, value in base["object"]["metadata"].items() if key != "namespace"}
    document = {**base["object"], "metadata": metadata}
    async with opened(clock=lambda: NOW) as api:  # all answers are of one second
        handler = HTTPHandler(api.registry, "secret")
        plain = await send(handler, "POST", f"{target}?dryRun=All", json.dumps(document).encode(), content_type=JSON)
        sent = await send(handler, "POST", target, protobuf.encode(document))
        assert sent.status == plain.status
        if sent.status == 201:
            created = json.loads(sent.body)
            assert _steady(created) == _steady(json.loads(plain.body))
            read = await send(handler, "GET", f"{target}/{created['metadata']['name']}", accept=PROTOBUF)
            decoded = protobuf.decode(protobuf.unwrap(read.body, POD))
            as_json = json.loads((await send(handler, "GET", f"{target}/{created['metadata']['name']}")).body)
            assert _steady(decoded) == _steady(as_json)


def _steady(document: dict[str, Any]) -> Any:
    """Without nulls, what is new in each object, and what messages do not have."""
    uid = document["metadata"].get("uid", "<uid>")
    for template in document.get("spec", {}).get("volumeClaimTemplates") or ():
        template.pop("apiVersion", None), template.pop("kind", None)
    for address in ("clusterIP", "clusterIPs"):
        document.get("spec", {}).pop(address, None)
    document = {**document, "metadata": {**document["metadata"]}}
    for key in ("resourceVersion", "managedFields", "uid", "creationTimestamp"):
        document["metadata"].pop(key, None)
    return _without_nulls(json.loads(json.dumps(document).replace(uid, "<uid>")))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
