"""A server without the kinds of Kubernetes: custom resources work, and nothing else is served."""

from __future__ import annotations

import json

import pytest

from pilotage.errors import NotFound
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.meta.kinds import GroupVersionResource
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.kinds import KindSet

from .registries import CONFIG_MAPS, DEFINITIONS, NAMESPACES, WIDGETS, definition, opened, widget

REVIEWS = {
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectreviews",
    "selfsubjectrulesreviews",
    "subjectaccessreviews",
    "tokenreviews",
}


async def test_an_empty_set_serves_what_a_server_needs_and_custom_resources() -> None:
    async with opened(kinds=KindSet()) as api:
        await api.create(DEFINITIONS, definition())
        served = {mapping.resource.resource for mapping in await api.registry.resources()}
        assert served == {"namespaces", "customresourcedefinitions", "widgets"} | REVIEWS


async def test_custom_resources_work_without_the_kinds_of_kubernetes() -> None:
    async with opened(kinds=KindSet()) as api:
        await api.create(NAMESPACES, {"metadata": {"name": "team"}})
        await api.create(DEFINITIONS, definition())
        made = await api.create(WIDGETS, widget("one", spec={"size": 1}), "team")
        async with api.watch(WIDGETS, "team", resource_version=made["metadata"]["resourceVersion"]) as events:
            changed = await api.patch(WIDGETS, "one", {"spec": {"size": 2}}, "team")
            assert changed["metadata"]["generation"] == 2
            await api.delete(NAMESPACES, "team")
            assert [(await anext(events))[0] for _ in range(2)] == ["MODIFIED", "DELETED"]


@pytest.mark.parametrize(
    "resource", [CONFIG_MAPS, GroupVersionResource("", "v1", "pods"), GroupVersionResource("apps", "v1", "deployments")]
)
async def test_built_in_kinds_are_not_served_by_an_empty_set(resource: GroupVersionResource) -> None:
    async with opened(kinds=KindSet()) as api:
        with pytest.raises(NotFound):
            await api.create(resource, {"metadata": {"name": "one"}}, "default")


async def test_documents_describe_the_kinds_of_the_set() -> None:
    async with opened(kinds=KindSet()) as api:
        await api.create(DEFINITIONS, definition())
        handler = HTTPHandler(api.registry, "secret")
        token = Headers([("authorization", "Bearer secret")])
        answer = await handler(HTTPRequest("GET", "/openapi/v3", token))
        assert isinstance(answer, HTTPResponse)
        paths = set(json.loads(answer.body)["paths"])
        assert {"api/v1", "apis/apiextensions.k8s.io/v1", "apis/test.example.com/v1"} <= paths
        assert not [path for path in paths if "apps" in path or "batch" in path]
