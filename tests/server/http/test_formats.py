"""The formats of answers: JSON, YAML and protobuf, converted and plain, for objects, lists, watches and errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.text import yamltext
from pilotage.server.http.handler import HTTPHandler
from pilotage.types import protobuf

from ..registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, definition, opened, widget

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MAPS = "/api/v1/namespaces/default/configmaps"
WIDGET_PATH = "/apis/test.example.com/v1/namespaces/default/widgets"
PARTIAL = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = ";as=Table;g=meta.k8s.io;v=v1"
EXPECTED = GroupVersionKind("", "v1", "Unnamed")


@asynccontextmanager
async def served() -> AsyncIterator[tuple[HTTPHandler, Api]]:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("w"), "default")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}, "default")
        yield HTTPHandler(api.registry, "secret"), api


async def get(handler: HTTPHandler, target: str, accept: str, method: str = "GET", **headers: str) -> HTTPResponse:
    given = {"authorization": "Bearer secret", "accept": accept}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await handler(HTTPRequest(method, target, Headers(given.items())))
    assert isinstance(answer, HTTPResponse)
    return answer


def media(answer: HTTPResponse | StreamingResponse) -> str:
    return dict(answer.headers)["content-type"]


def document(answer: HTTPResponse) -> Any:
    match media(answer):
        case "application/vnd.kubernetes.protobuf":
            return protobuf.decode(protobuf.unwrap(answer.body, EXPECTED))
        case "application/yaml":
            return yamltext.read(answer.body)
    return json.loads(answer.body)


@pytest.mark.parametrize("wanted", [JSON, YAML, PROTOBUF])
@pytest.mark.parametrize("target", [f"{MAPS}/a", MAPS, f"{MAPS}/missing"])
async def test_objects_lists_and_errors_are_the_same_in_every_format(target: str, wanted: str) -> None:
    async with served() as (handler, _):
        plain, answer = await get(handler, target, JSON), await get(handler, target, wanted)
    assert (answer.status, media(answer)) == (plain.status, wanted)
    assert document(answer) == document(plain)


async def test_json_ends_with_a_line_break_unless_it_is_indented() -> None:
    async with served() as (handler, _):
        assert (await get(handler, f"{MAPS}/a", JSON)).body.endswith(b"}\n")
        for target, accept, agent in (
            (f"{MAPS}/a?pretty=true", JSON, ""),
            (f"{MAPS}/a", f"{JSON};pretty=1", ""),
            (f"{MAPS}/a", "*/*", "curl/8.0"),
            (f"{MAPS}/missing", "*/*", "Wget/1"),
        ):
            assert (await get(handler, target, accept, user_agent=agent)).body.startswith(b'{\n  "')
        assert (await get(handler, f"{MAPS}/a?pretty=0", "*/*", user_agent="curl/8.0")).body.startswith(b'{"')


@pytest.mark.covers("T154")
async def test_the_items_of_a_typed_list_have_no_kind_and_those_of_an_untyped_one_do() -> None:
    async with served() as (handler, _):
        maps, widgets = document(await get(handler, MAPS, JSON)), document(await get(handler, WIDGET_PATH, JSON))
    assert set(maps["items"][0]) == {"metadata", "data"}
    assert "continue" not in maps["metadata"]
    assert (widgets["items"][0]["kind"], widgets["metadata"]["continue"]) == ("Widget", "")


@pytest.mark.parametrize("wanted", [JSON, YAML, PROTOBUF])
@pytest.mark.parametrize("path", [f"{MAPS}/a", f"{WIDGET_PATH}/w"])
async def test_metadata_alone_is_served_in_every_format_of_custom_resources_too(path: str, wanted: str) -> None:
    collection = path.rpartition("/")[0]
    async with served() as (handler, _):
        whole = document(await get(handler, path, JSON))
        one = await get(handler, path, wanted + PARTIAL.replace("v=v1", "v=v1beta1"))
        many = await get(handler, collection, wanted + PARTIAL_LIST)
    assert media(one) == media(many) == wanted
    assert document(one) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": whole["metadata"],
    }
    assert document(many)["items"][0]["metadata"] == whole["metadata"]


NOT_LIST = "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
A_LIST = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
ONLY = "only the following media types are accepted: application/json, application/yaml, " + PROTOBUF
AVAILABLE = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " + PROTOBUF
STREAMS = f"application/json;stream=watch, {PROTOBUF};stream=watch"


@pytest.mark.parametrize(
    ("target", "accept", "message"),
    [
        (f"{MAPS}/a", "application/*", AVAILABLE),
        (f"{MAPS}/a", "text/html", AVAILABLE),
        (MAPS, "application/*", f"{AVAILABLE}, {STREAMS}"),
        (MAPS, JSON + ";as=Other;g=meta.k8s.io;v=v1", ONLY),
        (f"{MAPS}/missing", JSON + ";as=Other;g=meta.k8s.io;v=v1", ONLY),
        (MAPS, PROTOBUF + TABLE, ONLY),
        (f"{WIDGET_PATH}/w", PROTOBUF, ONLY),
        (f"{WIDGET_PATH}/w", "text/html", ONLY),
        (f"{MAPS}?watch=1", YAML, f"only the following media types are accepted: {STREAMS}"),
        (f"{MAPS}?watch=1", f"{YAML},{JSON}", f"only the following media types are accepted: {STREAMS}"),
        (MAPS, JSON + PARTIAL, A_LIST),
        (f"{MAPS}/a", JSON + PARTIAL_LIST, NOT_LIST),
    ],
)  # fmt: skip
async def test_what_cannot_be_served_is_refused_in_the_words_of_kube_apiserver(
    target: str, accept: str, message: str
) -> None:
    async with served() as (handler, _):
        answer = await get(handler, target, accept)
    assert (answer.status, document(answer)["message"]) == (406, message)


@pytest.mark.parametrize(
    ("target", "code"),
    [  # the answers of a kube-apiserver, about objects that do not exist
        ("/api/v1/namespaces/default/pods/x/ephemeralcontainers", 406),
        ("/api/v1/namespaces/default/pods/x/resize", 406),
        ("/api/v1/namespaces/default/pods/x/status", 404),
        ("/apis/apiregistration.k8s.io/v1/apiservices/x/status", 406),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval", 406),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests/x/status", 404),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x/status", 406),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/x/status", 406),
        (f"{WIDGET_PATH}/x/status", 404),
    ],
)
async def test_some_subresources_have_no_table(target: str, code: int) -> None:
    async with served() as (handler, _):
        assert (await get(handler, target, f"{JSON}{TABLE}")).status == code
        assert (await get(handler, target, f"{JSON}{TABLE},{JSON}")).status == 404


async def test_an_error_is_never_converted_and_is_readable_where_nothing_is_acceptable() -> None:
    async with served() as (handler, _):
        for accept, wanted in ((JSON + TABLE, JSON), (f"{JSON}{TABLE},{YAML}", YAML), (PROTOBUF + PARTIAL, JSON)):
            answer = await get(handler, f"{MAPS}/missing", accept)
            assert (answer.status, media(answer), document(answer)["reason"]) == (404, wanted, "NotFound")
        assert (await get(handler, f"{MAPS}/missing", JSON + TABLE)).body.startswith(b'{\n  "kind": "Status"')


async def test_custom_resources_accept_any_application_type() -> None:
    async with served() as (handler, _):
        answer = await get(handler, WIDGET_PATH, "application/*")
        assert (answer.status, media(answer)) == (200, JSON)


async def test_a_delete_as_metadata_is_a_status_or_metadata() -> None:
    async with served() as (handler, api):
        await api.create(CONFIG_MAPS, {"metadata": {"name": "held", "finalizers": ["a.example/b"]}}, "default")
        removed = await get(handler, f"{MAPS}/a", JSON + PARTIAL, "DELETE")
        held = await get(handler, f"{MAPS}/held", JSON + PARTIAL, "DELETE")
    assert [document(removed)["kind"], document(held)["kind"]] == ["Status", "PartialObjectMetadata"]


async def watched(
    handler: HTTPHandler, accept: str, target: str = f"{MAPS}?watch=1&timeoutSeconds=1"
) -> tuple[str, bytes]:
    headers = Headers([("authorization", "Bearer secret"), ("accept", accept)])
    answer = await handler(HTTPRequest("GET", target, headers))
    assert isinstance(answer, StreamingResponse)
    return media(answer), b"".join([chunk async for chunk in answer.chunks])


@pytest.mark.virtual_time
async def test_a_watch_as_protobuf_is_a_stream_of_frames() -> None:
    async with served() as (handler, _):
        _, lines = await watched(handler, JSON)
        wanted, frames = await watched(handler, f"{PROTOBUF};stream=watch")
    assert wanted == f"{PROTOBUF};stream=watch"
    size = int.from_bytes(frames[:4], "big")
    assert len(frames) == size + 4
    assert frames[4:].startswith(b"\x0a\x05ADDED\x12")
    message = frames[frames.index(b"k8s\0") :]
    assert protobuf.decode(protobuf.unwrap(message, EXPECTED)) == json.loads(lines)["object"]


@pytest.mark.virtual_time
async def test_a_watch_may_be_of_metadata() -> None:
    async with served() as (handler, _):
        _, lines = await watched(handler, JSON + PARTIAL)
    assert json.loads(lines)["object"].keys() == {"kind", "apiVersion", "metadata"}
    assert json.loads(lines)["object"]["kind"] == "PartialObjectMetadata"


INITIAL = "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.mark.virtual_time
async def test_a_bookmark_of_a_typed_kind_has_the_fields_that_go_never_leaves_out() -> None:
    async with served() as (handler, _):
        _, line = await watched(handler, JSON, f"/apis/apps/v1/deployments?{INITIAL}")
        _, frame = await watched(handler, PROTOBUF, f"/apis/apps/v1/deployments?{INITIAL}")
        _, custom = await watched(handler, JSON, f"{WIDGET_PATH}?{INITIAL}")
    bookmark = json.loads(line)["object"]
    assert bookmark == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {
            "resourceVersion": bookmark["metadata"]["resourceVersion"],
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
        "spec": {
            "replicas": 0,
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    }
    decoded = protobuf.decode(protobuf.unwrap(frame[frame.index(b"k8s\0") :], EXPECTED))
    assert decoded["metadata"]["annotations"] == bookmark["metadata"]["annotations"]
    assert json.loads(custom.splitlines()[-1])["object"].keys() == {"kind", "apiVersion", "metadata"}


async def test_only_a_large_answer_is_compressed_and_only_where_the_client_takes_it() -> None:
    async with served() as (handler, api):
        await api.create(CONFIG_MAPS, {"metadata": {"name": "large"}, "data": {"k": "x" * 200_000}}, "default")
        plain = await get(handler, f"{MAPS}/large", JSON)
        small = await get(handler, f"{MAPS}/a", JSON, accept_encoding="gzip")
        large = await get(handler, f"{MAPS}/large", JSON, accept_encoding="deflate, gzip;q=1.0")
    assert "content-encoding" not in dict(plain.headers) | dict(small.headers)
    assert dict(large.headers)["content-encoding"] == "gzip"
    assert dict(large.headers)["vary"] == "Accept-Encoding"
    assert gzip.decompress(large.body) == plain.body


DISCOVERY = ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/test.example.com/v1")


@pytest.mark.parametrize("target", DISCOVERY)
async def test_discovery_is_the_same_in_every_format(target: str) -> None:
    async with served() as (handler, _):
        plain = document(await get(handler, target, JSON))
        for wanted in (YAML, PROTOBUF):
            answer = await get(handler, target, wanted)
            assert media(answer) == wanted
            found = document(answer)
            assert found["kind"] == plain["kind"]
            for part in ("groups", "resources", "versions"):
                assert len(found.get(part, ())) == len(plain.get(part, ()))


@pytest.mark.parametrize("target", ["/api", "/apis"])
async def test_aggregated_discovery_is_the_same_in_every_format(target: str) -> None:
    aggregated = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    async with served() as (handler, _):
        plain = json.loads((await get(handler, target, JSON + aggregated)).body)
        as_yaml = await get(handler, target, YAML + aggregated)
        as_protobuf = await get(handler, target, PROTOBUF + aggregated)
    assert (media(as_yaml), media(as_protobuf)) == (YAML + aggregated, PROTOBUF + aggregated)
    assert yamltext.read(as_yaml.body) == plain
    decoded = protobuf.decode(protobuf.unwrap(as_protobuf.body, EXPECTED))
    assert [one["metadata"] for one in decoded["items"]] == [one["metadata"] for one in plain["items"]]


@pytest.mark.parametrize("target", DISCOVERY)
async def test_discovery_in_a_format_that_is_not_known_is_refused(target: str) -> None:
    async with served() as (handler, _):
        assert (await get(handler, target, "text/html")).status == 406
