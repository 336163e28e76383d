from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

import pilotage
from pilotage.client.discovery import aggregated
from pilotage.errors import Gone, NotFound, Status, StatusDetails, TooManyRequests
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.http import handler as handlers
from pilotage.server.http.handler import HTTPHandler
from pilotage.storage.sqlite import SqliteStorage
from tests.counting import counted_lines

from ..registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, definition, opened, widget


async def ask(handler: HTTPHandler, target: str, method: str = "GET", **headers: str) -> HTTPResponse:
    given = {"authorization": "Bearer secret"} | {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await handler(HTTPRequest(method, target, Headers(given.items())))
    assert isinstance(answer, HTTPResponse)
    return answer


def document(answer: HTTPResponse) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(answer.body)
    return decoded


@pytest.mark.parametrize(
    "credentials", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic secret", "secret", "Bearer sécret"]
)
async def test_without_the_token_there_is_nothing_to_see(credentials: str) -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        for target in ("/api/v1/configmaps", "/apis", "/openapi/v3", "/nope"):
            answer = await ask(handler, target, authorization=credentials)
            assert (answer.status, document(answer)["reason"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "target", "token", "code"),
    [
        ("POST", "/api/v1/namespaces/default/configmaps", "secret", 413),
        ("PUT", "/api/v1/namespaces/default/configmaps/a", "secret", 413),
        ("PATCH", "/api/v1/namespaces/default/configmaps/a", "secret", 413),
        ("DELETE", "/api/v1/namespaces/default/configmaps/a", "secret", 413),
        ("DELETE", "/api/v1/namespaces/default/configmaps", "secret", 413),
        ("GET", "/api/v1/namespaces/default/configmaps/a", "secret", 404),
        ("POST", "/api/v1/namespaces/default/nope", "secret", 404),
        ("POST", "/api/v1/namespaces/default/configmaps", "wrong", 401),
    ],
)
async def test_a_body_that_is_too_large_is_answered_as_by_kube_apiserver(
    method: str, target: str, token: str, code: int
) -> None:
    async with opened() as api:
        headers = Headers([("authorization", f"Bearer {token}"), ("content-type", "application/json")])
        request = HTTPRequest(method, target, headers, too_large=True)
        answer = await HTTPHandler(api.registry, "secret")(request)
        assert answer.status == code
        if code == 413:
            assert isinstance(answer, HTTPResponse)
            assert ("content-type", "application/json") in answer.headers
            assert document(answer) == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "Request entity too large: limit is 3145728",
                "reason": "RequestEntityTooLarge",
                "code": 413,
            }


@pytest.mark.parametrize("target", ["/healthz", "/livez", "/readyz"])
async def test_health_is_for_everybody(target: str) -> None:
    async with opened() as api:
        assert (await ask(HTTPHandler(api.registry, "secret"), target, authorization="")).status == 200


PRIVATE = (
    "/",
    "/api",
    "/apis",
    "/livez/ping",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/version",
)


async def test_nothing_but_health_is_answered_without_credentials() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        statuses = {path: (await ask(handler, path, authorization="")).status for path in PRIVATE}
        assert statuses == dict.fromkeys(PRIVATE, 401)


@pytest.mark.parametrize("method", ["HEAD", "POST"])
@pytest.mark.parametrize("target", ["/healthz", "/version"])
async def test_other_methods_than_get_need_permission_for_health_and_version(method: str, target: str) -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        assert (await ask(handler, target, method, authorization="")).status == 401
        assert (await ask(handler, target, method)).status == (200 if target == "/healthz" else 405)


async def test_a_server_whose_database_is_removed_is_alive_and_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = await SqliteStorage.open(f"{tmp_path}/state.db")
    async with opened(storage) as api:
        handler = HTTPHandler(api.registry, "secret")
        for target in ("/readyz", "/healthz/etcd", "/livez/etcd", "/readyz/etcd"):
            assert (await ask(handler, target)).body == b"ok"
        (tmp_path / "state.db").unlink()
        answer = await ask(handler, "/readyz", authorization="")
        assert answer.status == 500
        assert answer.body.startswith(b"[+]ping ok\n[+]log ok\n")
        assert answer.body.endswith(b"[-]etcd failed: reason withheld\nreadyz check failed\n")
        for target in ("/healthz", "/livez", "/readyz/ping"):
            assert (await ask(handler, target)).body == b"ok"
        for target in ("/healthz/etcd", "/livez/etcd", "/readyz/etcd"):
            assert (await ask(handler, target)).status == 500
        assert (await ask(handler, "/readyz/etcd", authorization="")).status == 401
    await storage.close()
    assert f'Storage is broken error="StorageBroken: {tmp_path}/state.db was removed' in caplog.text


@pytest.mark.parametrize(
    ("accept", "status", "start"),
    [
        ("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", 406, b"{"),
        ("text/html", 406, b"{"),
        ("application/yaml", 200, b"apiVersion: v1\ngroups:\n"),
    ],
)
async def test_discovery_has_the_format_that_was_asked_for(accept: str, status: int, start: bytes) -> None:
    async with opened() as api:
        answer = await ask(HTTPHandler(api.registry, "secret"), "/apis", accept=accept)
        assert answer.status == status
        assert answer.body.startswith(start)


@pytest.mark.parametrize(
    ("target", "media"),
    [
        ("/api/v2", "application/json"),
        ("/apis/apps/v9", "application/json"),
        ("/apis/nope", "text/plain; charset=utf-8"),
        ("/apis/nope/v1", "text/plain; charset=utf-8"),
    ],
)
async def test_a_version_that_is_not_served_is_a_status_within_a_builtin_group(target: str, media: str) -> None:
    async with opened() as api:
        answer = await ask(HTTPHandler(api.registry, "secret"), target)
        assert (answer.status, dict(answer.headers)["content-type"]) == (404, media)


@pytest.mark.parametrize("target", ["/version", "/"])
async def test_documents_for_people_are_indented(target: str) -> None:
    async with opened() as api:
        assert (await ask(HTTPHandler(api.registry, "secret"), target)).body.startswith(b'{\n  "')


async def test_every_answer_has_an_audit_id_and_is_not_cached() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        for target in ("/version", "/api", "/api/v1/configmaps", "/nope", "/healthz", "/readyz/shutdown"):
            headers = dict((await ask(handler, target)).headers)
            assert len(headers["audit-id"]) == 36
            assert headers["cache-control"] == "no-cache, private"
        assert dict((await ask(handler, "/api", audit_id="mine")).headers)["audit-id"] == "mine"


async def test_there_is_nothing_below_a_health_check_without_a_name() -> None:
    async with opened() as api:
        answer = await ask(HTTPHandler(api.registry, "secret"), "/livez/")
        assert (answer.status, answer.body) == (404, b"404 page not found\n")


async def test_an_unknown_path_is_forbidden_before_it_is_not_found() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        answer = await ask(handler, "/nope", impersonate_user="alice")
        assert (answer.status, document(answer)["message"]) == (
            403,
            'forbidden: User "alice" cannot get path "/nope"',
        )
        assert (await ask(handler, "/nope")).status == 404


async def test_the_version_is_answered_without_a_file_descriptor_to_spare() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest_free = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                os.open(os.devnull, os.O_RDONLY)
            answer = await ask(handler, "/version")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert answer.status == 200
        assert document(answer)["gitVersion"] == f"v1.36.3+pilotage.{pilotage.__version__}"


async def test_a_request_on_behalf_of_another_user_may_do_what_that_user_may() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        answer = await ask(handler, "/api/v1/namespaces", Impersonate_User="alice")
        assert (answer.status, document(answer)["reason"]) == (403, "Forbidden")
        assert (await ask(handler, "/apis", Impersonate_User="alice")).status == 200
        assert (await ask(handler, "/apis", authorization="", Impersonate_User="alice")).status == 401


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_discovery_in_one_answer_has_what_the_many_answers_have() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        handler = HTTPHandler(api.registry, "secret")
        found: list[RESTMapping] = []
        for target in ("/api", "/apis"):
            answer = await ask(handler, target, accept=f"{AGGREGATED},application/json")
            assert ("content-type", AGGREGATED) in answer.headers
            found += aggregated(answer.body)
        info = await api.registry.resources()
        assert [one.gvk for one in found] == [one.gvk for one in sorted(info, key=lambda one: one.resource.group != "")]
        by_gvk = {one.gvk: one for one in found}
        for one in info:
            assert by_gvk[one.gvk] == one


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "application/json",
        f"application/json,{AGGREGATED}",
        f"{AGGREGATED};q=0.5,application/json",
        AGGREGATED.replace("v=v2", "v=v1") + ",application/json",
    ],
)
async def test_discovery_has_the_old_form_for_who_prefers_it(accept: str) -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        assert document(await ask(handler, "/apis", accept=accept))["kind"] == "APIGroupList"
        assert document(await ask(handler, "/api", accept=accept))["kind"] == "APIVersions"


async def test_metrics_count_requests_and_objects_under_the_names_of_kube_apiserver() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        await ask(handler, "/api/v1/namespaces/default/configmaps")
        await ask(handler, "/api/v1/namespaces/default/configmaps/none")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        answer = await ask(handler, "/metrics")
        lines = answer.body.decode().splitlines()
        labels = 'dry_run="",group="",version="v1",resource="configmaps",subresource=""'
        listed = f'verb="LIST",{labels},scope="namespace",component="apiserver"'
        assert f'apiserver_request_total{{{listed},code="200"}} 1' in lines
        missing = f'verb="GET",{labels},scope="resource",component="apiserver",code="404"'
        assert f"apiserver_request_total{{{missing}}} 1" in lines
        assert f"apiserver_request_duration_seconds_count{{{listed}}} 1" in lines
        assert 'apiserver_storage_objects{resource="configmaps"} 1' in lines
        await api.delete(CONFIG_MAPS, "a", "default")
        assert b'resource="configmaps"} 1' not in (await ask(handler, "/metrics")).body
        assert (await ask(handler, "/metrics", authorization="")).status == 401
        assert (await ask(handler, "/metrics", "POST")).status == 200


async def test_a_deprecated_kind_is_warned_of_unless_the_path_leads_nowhere() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        found = await ask(handler, "/api/v1/namespaces/default/endpoints/none")
        assert (found.status, "warning" in dict(found.headers)) == (404, True)
        nowhere = await ask(handler, "/api/v1/namespaces/default/endpoints/none/status")
        assert (nowhere.status, "warning" in dict(nowhere.headers)) == (404, False)


async def test_a_new_kind_is_in_discovery_at_once() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        assert (await ask(handler, "/apis/test.example.com/v1")).status == 404
        await api.create(DEFINITIONS, definition())
        groups = document(await ask(handler, "/apis"))["groups"]
        assert "test.example.com" in [group["name"] for group in groups]
        resources = document(await ask(handler, "/apis/test.example.com/v1"))["resources"]
        assert [one["name"] for one in resources] == ["widgets", "widgets/status"]
        assert "/openapi/v3/apis/test.example.com/v1?hash=" in str(document(await ask(handler, "/openapi/v3")))
        paths = document(await ask(handler, "/openapi/v3/apis/test.example.com/v1"))["paths"]
        operation = paths["/apis/test.example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
        assert operation["x-kubernetes-group-version-kind"]["kind"] == "Widget"


MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS_PATH = "/apis/test.example.com/v1/namespaces/default/widgets"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("HEAD", f"{MAPS}/one", 405),
        ("HEAD", MAPS, 405),
        ("HEAD", f"{WIDGETS_PATH}/one", 200),
        ("HEAD", WIDGETS_PATH, 200),
        ("HEAD", "/version", 405),
        ("HEAD", "/api/v1", 405),
        ("HEAD", "/apis", 200),
        ("HEAD", "/healthz", 200),
        ("POST", "/apis", 200),
        ("POST", "/apis/apps", 200),
        ("POST", "/apis/apps/v1", 405),
        ("POST", "/apis/test.example.com/v1", 200),
        ("GET", "/api/v1/bindings", 404),
        ("POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", 404),
        ("DELETE", "/healthz", 200),
        ("PUT", "/", 200),
        ("FROB", MAPS, 405),
        ("FROB", "/api/v1/configmaps/one", 404),
        ("FROB", "/nope", 404),
        ("OPTIONS", f"{WIDGETS_PATH}/one", 405),
        ("OPTIONS", "/apis/test.example.com/v1/widgets", 404),
        ("GET", f"{WIDGETS_PATH}/one/status/and/more", 200),
        ("GET", f"{WIDGETS_PATH}/one/nope", 404),
        ("GET", f"{MAPS}/one/status", 404),
        ("GET", f"{MAPS}/one%2Fmore", 404),
    ],
)
async def test_methods_and_paths_are_answered_as_kube_apiserver_answers_them(
    method: str, target: str, status: int
) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one"), "default")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "default")
        assert (await ask(HTTPHandler(api.registry, "secret"), target, method)).status == status


async def test_a_method_that_a_custom_resource_does_not_have_is_named_with_the_resource() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        answer = document(await ask(HTTPHandler(api.registry, "secret"), WIDGETS_PATH, "FROB"))
    assert answer["message"] == ' is not supported on resources of kind "widgets.test.example.com"'
    assert answer["details"] == {"group": "test.example.com", "kind": "widgets"}


def test_an_error_has_the_time_of_the_next_attempt() -> None:
    answer = handlers.failure(TooManyRequests("slowly", details=StatusDetails(retry_after_seconds=7)))
    assert ("retry-after", "7") in answer.headers
    assert document(answer)["details"] == {"retryAfterSeconds": 7}


def test_an_expired_page_has_a_token_to_go_on_with() -> None:
    answer = handlers.failure(Gone(status=Status(410, "Expired", "too old", continue_token="abc")))
    assert document(answer)["metadata"] == {"continue": "abc"}


def test_an_unknown_path_is_plain_text() -> None:
    answer = handlers.failure(NotFound("404 page not found"))
    assert answer.body == b"404 page not found\n"
    assert ("x-content-type-options", "nosniff") in answer.headers


async def test_a_failure_inside_is_a_500_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as api:
        await api.registry.context.storage.close()
        answer = await ask(HTTPHandler(api.registry, "secret"), "/api/v1/configmaps?limit=1")
        assert (answer.status, document(answer)["reason"]) == (500, "InternalError")
        assert "method=GET path=/api/v1/configmaps" in caplog.text


async def test_a_get_takes_few_steps_and_an_object_of_a_list_almost_none() -> None:
    async with opened() as api:
        handler = HTTPHandler(api.registry, "secret")
        target = "/api/v1/namespaces/default/configmaps"
        for number in range(100):
            await api.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}, "default")
        headers = Headers([("authorization", "Bearer secret"), ("accept", "application/json")])
        counts = {}
        for path in (f"{target}/c0", f"{target}?limit=1", target):
            request = HTTPRequest("GET", path, headers)  # the requests of a connection share their headers
            await handler(request)
            with counted_lines() as lines:
                await handler(request)
            counts[path] = lines.count
        assert counts[f"{target}/c0"] < 400
        assert counts[target] < counts[f"{target}?limit=1"] + 100 * 20
