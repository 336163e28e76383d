"""Hostile requests: each gets a clear answer in bounded time and memory."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pilotage.errors import ApiError, Invalid, NotFound
from pilotage.http.certificates import self_signed
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.http.server import serve
from pilotage.http.tls import server_context
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import request as rest
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.decoding.parts import MAX_PARTS
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.ownership.track import track_create
from pilotage.server.verbs import create
from pilotage.server.writes import steps
from pilotage.storage import open_storage
from pilotage.storage.memory import MemoryStorage

from ..counting import counted_lines
from .registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, definition, opened, widget

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = GroupVersionResource("", "v1", "pods")
GIZMOS = "/apis/test.example.com/v1/namespaces/default/widgets"
LINES = 1_500_000
"""Of Python, for one request: a second executes some ten million."""
MEGABYTES = 40


@asynccontextmanager
async def faced() -> AsyncIterator[tuple[HTTPHandler, Api]]:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one", spec={"list": ["x" * 10]}), "default")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"k": "v"}}, "default")
        yield HTTPHandler(api.registry, "secret"), api


async def ask(
    handler: HTTPHandler, method: str, target: str, body: bytes = b"", content_type: str = ""
) -> HTTPResponse:
    headers = Headers([("authorization", "Bearer secret"), ("content-type", content_type)][: 2 if content_type else 1])
    answer = await handler(HTTPRequest(method, target, headers, body))
    assert isinstance(answer, HTTPResponse)
    return answer


def nested(depth: int, opening: str = "[", core: str = "", closing: str = "]") -> str:
    return opening * depth + core + closing * depth


def config_map(data: str) -> bytes:
    return f'{{"metadata":{{"name":"x"}},"data":{data}}}'.encode()


def bomb() -> str:
    levels = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for one, other in zip("abcdefg", "bcdefgh", strict=True):
        levels.append(f"{other}: &{other} [{','.join([f'*{one}'] * 9)}]")
    return "\n".join(levels)


DOUBLING: list[dict[str, Any]] = [{"op": "add", "path": "/spec/a", "value": {"x": "y" * 1000}}]
for _ in range(40):
    DOUBLING.append({"op": "add", "path": "/spec/b", "value": {}})
    DOUBLING.append({"op": "copy", "from": "/spec/a", "path": "/spec/b/x"})
    DOUBLING.append({"op": "copy", "from": "/spec/a", "path": "/spec/b/y"})
    DOUBLING.append({"op": "move", "from": "/spec/b", "path": "/spec/a"})
DEEP = [{"op": "add", "path": "/spec/a", "value": json.loads(nested(60, '{"a":', "1", "}"))}]
DEEP += [{"op": "add", "path": "/spec" + "/a" * 61, "value": json.loads(nested(60, '{"a":', "1", "}"))}]


def applied_by(manager: str) -> dict[str, Any]:
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return entry | {"fieldsV1": {"f:data": {"f:a": {}}}}


BODIES: dict[str, tuple[bytes, str]] = {
    "deep lists": (config_map(nested(100_000)), ""),
    "deep objects": (config_map(nested(50_000, '{"a":', "1", "}")), ""),
    "deep lists that msgspec decodes on Python 3.14": (config_map(nested(9_000)), ""),
    "just too deep": (config_map(nested(64)), ""),
    "nothing but brackets": (b"[" * 1_000_000, ""),
    "not a number": (config_map('{"a":NaN}'), ""),
    "infinite": (config_map('{"a":-Infinity}'), ""),
    "a giant integer": (config_map('{"a":' + "9" * 100_000 + "}"), ""),
    "a giant exponent": (config_map('{"a":1e999999999}'), ""),
    "a byte order mark": (b"\xef\xbb\xbf{}", ""),
    "UTF-16": ('{"metadata":{"name":"x"}}'.encode("utf-16"), ""),
    "a YAML bomb": (bomb().encode(), "application/yaml"),
    "YAML of another world": (b"!!python/object/apply:os.system ['true']", "application/yaml"),
    "deep YAML": (nested(20_000).encode(), "application/yaml"),
    "two documents": (b"a: 1\n---\nb: 2", "application/yaml"),
    "YAML in bad UTF-8": (b"a: \xff", "application/yaml"),
    "nothing": (b"", ""),
    "blanks": (b" " * 1000, ""),
    "a name that climbs": (b'{"metadata":{"name":"../../x"}}', ""),
    "a name with a slash": (b'{"metadata":{"name":"a/b"}}', ""),
    "a name with a NUL": (b'{"metadata":{"name":"a\\u0000b"}}', ""),
    "a name of a confusable": ('{"metadata":{"name":"аdmin"}}'.encode(), ""),  # noqa: RUF001 on purpose
    "a name that is encoded": (b'{"metadata":{"name":"a%2fb"}}', ""),
    "a very long name": (json.dumps({"metadata": {"name": "a" * 100_000}}).encode(), ""),
    "names that are lists": (b'{"metadata":{"name":["x"]}}', ""),
    "another namespace": (b'{"metadata":{"name":"x","namespace":"kube-system"}}', ""),
    "too many labels": (
        msgspec.json.encode({"metadata": {"name": "x", "labels": {f"k {n}": "" for n in range(100_000)}}}),
        "",
    ),
    "finalizers without end": (json.dumps({"metadata": {"name": "x", "finalizers": [" "] * 500_000}}).encode(), ""),
    "keys without end": (config_map(json.dumps({f"{n} ": "" for n in range(200_000)})), ""),
    "managed fields without end": (
        json.dumps({"metadata": {"name": "x", "managedFields": [applied_by(f"m{n}") for n in range(1001)]}}).encode(),
        "",
    ),
    "too large": (config_map(json.dumps({"a": "x" * 3 * 1024 * 1024})), ""),
    "protobuf": (b"k8s\x00\x0a\x00", "application/vnd.kubernetes.protobuf"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_hostile_body_is_refused_in_bounded_time_and_space(name: str) -> None:
    body, content_type = BODIES[name]
    async with faced() as (handler, api):
        tracemalloc.start()
        with counted_lines() as lines:
            answer = await ask(handler, "POST", MAPS, body, content_type)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 400 <= answer.status < 500, answer.body[:300]
        status = json.loads(answer.body)
        assert status["message"]
        assert len(answer.body) < 150_000
        assert lines.count < LINES
        assert peak < MEGABYTES * 1024 * 1024
        assert await api.names(CONFIG_MAPS) == ["one"]


@pytest.mark.parametrize("name", ["deep lists", "not a number", "a giant integer"])
@pytest.mark.parametrize("kind", ["application/merge-patch+json", "application/strategic-merge-patch+json"])
async def test_a_hostile_merge_patch_is_refused(name: str, kind: str) -> None:
    async with faced() as (handler, api):
        answer = await ask(handler, "PATCH", f"{MAPS}/one", BODIES[name][0], kind)
        assert answer.status == 400, answer.body[:300]
        assert (await api.get(CONFIG_MAPS, "one", "default"))["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        (DOUBLING, 422),
        (DEEP, 422),
        ([{"op": "test", "path": "/a", "value": 1}] * 10_001, 413),
        ([{"op": "add", "path": "/" + "a/" * 10_000, "value": 1}], 422),
        ([{"op": "add", "path": "/spec/list/99999999999999999999", "value": 1}], 422),
        ([{"op": "move", "from": "/spec", "path": "/spec/inside"}], 422),
        ([{"op": "replace", "path": "", "value": []}], 422),
        ([{"op": "replace", "path": "", "value": {}}], 422),
        ([{"op": "add", "path": "/metadata/name", "value": "../x"}], 400),
        ([{"op": "remove", "path": "/metadata/uid"}, {"op": "add", "path": "/metadata/uid", "value": 1}], 422),
    ],
)
async def test_a_hostile_json_patch_is_refused(patch: list[dict[str, Any]], code: int) -> None:
    async with faced() as (handler, api):
        before = await api.get(WIDGETS, "one", "default")
        data = json.dumps(patch).encode()
        with counted_lines() as lines:
            answer = await ask(handler, "PATCH", f"{GIZMOS}/one", data, "application/json-patch+json")
        assert answer.status == code, answer.body[:300]
        assert lines.count < LINES
        assert await api.get(WIDGETS, "one", "default") == before


FIELDS = {f"f{number}": {"type": "integer", "default": number} for number in range(100)}
AMPLIFYING = {"type": "array", "items": {"type": "object", "properties": FIELDS}}


def with_list(items: Any, **spec: Any) -> dict[str, Any]:
    """A definition of widgets whose spec has a list of these items."""
    made = definition()
    properties = {"list": items, **spec}
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "properties": properties,
    }
    return made


async def test_defaults_that_amplify_a_body_end_at_what_can_be_stored() -> None:
    body = b'{"apiVersion":"test.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"list":[%b]}}'
    async with opened() as api:
        await api.create(DEFINITIONS, with_list(AMPLIFYING))
        handler = HTTPHandler(api.registry, "secret")
        with counted_lines() as lines:
            answer = await ask(handler, "POST", GIZMOS, body % b",".join([b"{}"] * 200_000))
        assert lines.count < LINES
        assert answer.status == 413
        assert "more than 1572864 bytes" in json.loads(answer.body)["message"]


async def test_defaults_that_a_later_definition_asks_for_are_bounded_when_objects_are_read() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, with_list({"type": "array", "items": {"type": "object"}}))
        await api.create(WIDGETS, widget("one", spec={"list": [{}] * 100_000}), "default")
        made = await api.get(DEFINITIONS, "widgets.test.example.com")
        made["spec"] = with_list(AMPLIFYING)["spec"]
        await api.update(DEFINITIONS, made)
        found = await api.get(WIDGETS, "one", "default")
        assert found["spec"]["list"][0] == {f"f{number}": number for number in range(100)}
        assert found["spec"]["list"][-1] == {}
        assert len(json.dumps(found)) < 8_000_000


async def turns_while(work: Awaitable[Any]) -> int:
    """How often the loop turns until something is done."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    with suppress(ApiError):
        await task
    return turns


async def test_the_server_goes_on_while_each_part_of_a_large_create_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            threads.append(threading.current_thread())
            return function(*arguments, **named)

        return called

    monkeypatch.setattr(steps, "prepare_create", noting(steps.prepare_create))
    monkeypatch.setattr(create, "track_create", noting(track_create))
    async with opened() as api:
        threads.clear()
        with pytest.raises(Invalid):
            await api.create(PODS, {"metadata": {"name": "many"}, "spec": {"containers": [{}] * 30_000}}, "default")
    assert len(threads) == 2
    assert threading.main_thread() not in threads


MANY = "{}," * MAX_PARTS + "{}"


@pytest.mark.parametrize(
    ("method", "content_type", "body"),
    [
        ("POST", "", f'{{"metadata":{{"name":"many"}},"spec":{{"containers":[{MANY}]}}}}'),
        ("PATCH", "application/merge-patch+json", f'{{"spec":{{"containers":[{MANY}]}}}}'),
        ("PATCH", "application/apply-patch+yaml", f'{{"apiVersion":"v1","kind":"Pod","spec":[{MANY}]}}'),
    ],
)
async def test_a_body_of_too_many_objects_is_refused(method: str, content_type: str, body: str) -> None:
    async with faced() as (handler, _):
        path = MAPS if method == "POST" else f"{MAPS}/one?fieldManager=test"
        answer = await ask(handler, method, path, body.encode(), content_type)
        assert answer.status == 413
        assert json.loads(answer.body)["message"].endswith("it has more than 250000 objects and lists")


@pytest.mark.parametrize("verb", ["create", "update"])
async def test_the_server_goes_on_while_a_large_object_is_looked_at(verb: str) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, with_list({"type": "array", "items": {"type": "integer", "minimum": 1}}))
        small = await api.create(WIDGETS, widget("one", spec={"list": [1]}), "default")
        large = {**small, "spec": {"list": [0] * 400_000}}
        if verb == "create":
            large["metadata"] = {"name": "two"}
        answer = api.create(WIDGETS, large, "default") if verb == "create" else api.update(WIDGETS, large, "default")
        assert await turns_while(answer) > 20  # without a thread it is two


async def test_the_server_goes_on_while_a_large_definition_is_compiled() -> None:
    async with opened() as api:
        properties = {f"f{number}": {"type": "integer", "maximum": number} for number in range(4_000)}
        assert await turns_while(api.create(DEFINITIONS, with_list(AMPLIFYING, **properties))) > 20
        assert await turns_while(api.create(WIDGETS, widget("one", spec={}), "default")) > 20
        assert await api.names(WIDGETS) == ["one"]


def token(**content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "query",
    [
        "labelSelector=" + quote("a=" + "b" * 5000),
        "labelSelector=" + quote(",".join(f"k{n}=v" for n in range(2000))),
        "labelSelector=" + quote("((((((((("),
        "labelSelector=" + quote("!" * 4000),
        "labelSelector=" + quote("a in (b' OR '1'='1)"),
        "labelSelector=%ff",
        "labelSelector=%00",
        "fieldSelector=" + quote("metadata.name=" + "b" * 5000),
        "fieldSelector=" + quote("metadata.name=" + "\\" * 3999),
        "fieldSelector=" + quote("__class__=x"),
        "fieldSelector=" + quote("metadata.name.x=1"),
        "continue=" + quote("' OR 1=1 --"),
        "continue=" + token(v="meta.k8s.io/v1", rv=2, start="../../core/secrets/"),
        "continue=" + token(v="meta.k8s.io/v1", rv=2, start="/../x"),
        "limit=1e9",
        "limit=" + "9" * 30,
        "limit=٣",
        "resourceVersion=" + "9" * 30,
        "resourceVersion=1'--",
        "resourceVersion=0x1",
        "&".join(f"k{n}=v" for n in range(500)),
        "sendInitialEvents=true",
    ],
)
async def test_a_hostile_query_is_refused(query: str) -> None:
    async with faced() as (handler, _):
        with counted_lines() as lines:
            answer = await ask(handler, "GET", f"{MAPS}?{query}")
        assert 400 <= answer.status < 500, answer.body[:300]
        assert lines.count < LINES


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/configmaps/..%2F..%2Fsecrets",
        "/api/v1/namespaces/default/configmaps/%2e%2e",
        "/api/v1/namespaces/default/configmaps/../secrets/x",
        "/api/v1/namespaces/default/configmaps/a%00b",
        "/api/v1/namespaces/default/configmaps/%252e%252e%252f",
        "/api/v1/namespaces/default/configmaps/%ff",
        "/api/v1/namespaces/default/configmaps/" + "a" * 10_000,
        "/api/v1/namespaces/..%2Fkube-system/configmaps",
        "/api/v1/namespaces//configmaps/one",
        "/api//v1/namespaces/default/configmaps/one",
        "/apis/test.example.com/v1/namespaces/default/widgets%00/one",
        "/apis/example.com/v1/namespaces/default/widgets.test/one",
        "/apis/" + "a/" * 5000,
        "/" + "%2f" * 1000,
        "*",
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_hostile_path_leads_nowhere(method: str, path: str) -> None:
    async with faced() as (handler, api):
        answer = await ask(handler, method, path)
        assert answer.status in (400, 404, 405), (answer.status, answer.body[:300])
        assert await api.names(CONFIG_MAPS) == ["one"]


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_the_names_a_key_stays_within_its_collection(namespace: str, name: str) -> None:
    info = asyncio.run(Catalogue(MemoryStorage(), "/t/", KINDS).find(CONFIG_MAPS))
    assert info.key(namespace, name).startswith("core/configmaps/")


@pytest.mark.parametrize("name", ["../../secrets/x", "a/b", "\x00", "\ud800", "", "é", "%2e", "a" * 5000])
async def test_names_from_within_the_process_are_no_more_trusted(tmp_path: Path, name: str) -> None:
    storage = await open_storage(f"sqlite:{tmp_path}/test.db")
    try:
        async with opened(storage) as api:
            for verb in (rest.Verb.GET, rest.Verb.DELETE):
                with pytest.raises(ApiError):
                    await api.registry.call(rest.APIRequest(verb, CONFIG_MAPS, namespace="default", name=name or "/"))
            with pytest.raises(ApiError):
                await api.create(CONFIG_MAPS, {"metadata": {"name": name}}, "default")
            with pytest.raises((Invalid, NotFound)):
                await api.create(CONFIG_MAPS, {"metadata": {"name": "x"}}, name or "/")
    finally:
        await storage.close()


@pytest.mark.parametrize("text", ["'; DROP TABLE entries; --", '"', "%", "_", "a' OR '1'='1", "\\", "🦊"])
async def test_texts_go_into_sqlite_as_they_are(tmp_path: Path, text: str) -> None:
    storage = await open_storage(f"sqlite:{tmp_path}/test.db")
    try:
        async with opened(storage) as api:
            document = {"metadata": {"name": "one", "annotations": {"a": text}}, "data": {"k": text}}
            await api.create(CONFIG_MAPS, document, "default")
            await api.create(CONFIG_MAPS, {"metadata": {"name": "two"}}, "default")
            found = await api.get(CONFIG_MAPS, "one", "default")
            assert (found["data"], found["metadata"]["annotations"]) == ({"k": text}, {"a": text})
            assert await api.names(CONFIG_MAPS) == ["one", "two"]
    finally:
        await storage.close()


async def test_over_https_the_worst_of_it_is_refused_and_the_server_lives_on(tmp_path: Path) -> None:
    certificate = self_signed("127.0.0.1")
    (tmp_path / "crt").write_bytes(certificate.certificate)
    (tmp_path / "key").write_bytes(certificate.key)
    context = server_context(str(tmp_path / "crt"), str(tmp_path / "key"))
    from pilotage.client.transport.http import HTTPTransport

    async with opened() as api, serve(HTTPHandler(api.registry, "secret"), ssl=context) as server:
        url = f"https://127.0.0.1:{server.port}"
        transport = HTTPTransport(url, token="secret", ca_file=str(tmp_path / "crt"))
        try:
            for name in ("deep lists", "a YAML bomb", "not a number", "too large", "a giant integer"):
                body, content_type = BODIES[name]
                request = rest.APIRequest(rest.Verb.CREATE, CONFIG_MAPS, namespace="default", body=body)
                with pytest.raises(ApiError) as refusal:
                    await transport.call(replace(request, content_type=content_type))
                assert refusal.value.status.code in (400, 413)
            good = rest.APIRequest(
                rest.Verb.CREATE, CONFIG_MAPS, namespace="default", body=b'{"metadata":{"name":"ok"}}'
            )
            assert (await transport.call(good)).code == 201
        finally:
            await transport.close()
