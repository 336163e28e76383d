from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.kubernetes.tables import ROWS
from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.server.http.handler import HTTPHandler

from ..registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, definition, opened, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "How large it is"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
]


async def ask(api: Api, target: str) -> HTTPResponse | StreamingResponse:
    given = {"authorization": "Bearer secret", "accept": TABLE}
    return await HTTPHandler(api.registry, "secret")(HTTPRequest("GET", target, Headers(given.items())))


async def table(api: Api, target: str) -> dict[str, Any]:
    answer = await ask(api, target)
    assert isinstance(answer, HTTPResponse)
    decoded: dict[str, Any] = json.loads(answer.body)
    return decoded


@asynccontextmanager
async def filled() -> AsyncIterator[Api]:
    """A registry with two ConfigMaps."""
    async with opened() as api:
        for name in ("a", "b"):
            await api.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": {"k": name}}, "default")
        yield api


async def test_a_list_is_a_table_with_a_row_for_each_object() -> None:
    async with filled() as api:
        found = await table(api, "/api/v1/namespaces/default/configmaps?labelSelector=!x")
        assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Data", "Age"]
        assert [row["cells"][:2] for row in found["rows"] if len(row["cells"][0]) == 1] == [["a", 1], ["b", 1]]
        assert {row["object"]["kind"] for row in found["rows"]} == {"PartialObjectMetadata"}
        assert found["metadata"]["resourceVersion"]


async def test_a_page_of_a_table_has_a_token_for_the_next() -> None:
    async with filled() as api:
        found = await table(api, "/api/v1/namespaces/default/configmaps?limit=1")
        assert len(found["rows"]) == 1
        more = await table(
            api, f"/api/v1/namespaces/default/configmaps?limit=9&continue={found['metadata']['continue']}"
        )
        assert len(more["rows"]) == found["metadata"]["remainingItemCount"]


async def test_one_object_is_a_table_of_one_row() -> None:
    async with filled() as api:
        found = await table(api, "/api/v1/namespaces/default/configmaps/a")
        assert found["metadata"] == {"resourceVersion": found["rows"][0]["object"]["metadata"]["resourceVersion"]}
        assert len(found["rows"]) == 1


@pytest.mark.parametrize(("include", "kind"), [("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata")])
async def test_a_row_has_as_much_of_its_object_as_was_asked_for(include: str, kind: str) -> None:
    async with filled() as api:
        found = await table(api, f"/api/v1/namespaces/default/configmaps/a?includeObject={include}")
        assert found["rows"][0]["object"]["kind"] == kind


async def test_a_row_without_its_object() -> None:
    async with filled() as api:
        found = await table(api, "/api/v1/namespaces/default/configmaps/a?includeObject=None")
        assert found["rows"][0]["object"] is None


async def test_another_word_for_what_to_include_is_refused() -> None:
    async with filled() as api:
        found = await table(api, "/api/v1/namespaces/default/configmaps?includeObject=Everything")
        assert (found["code"], found["reason"]) == (400, "BadRequest")
        assert "must be 'Metadata', 'Object', 'None', or empty" in found["message"]


async def test_only_the_first_event_of_a_watch_has_columns() -> None:
    async with filled() as api:
        answer = await ask(
            api, "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=0&fieldSelector=metadata.name!=x"
        )
        assert isinstance(answer, StreamingResponse)
        events = [json.loads(line) async for line in answer.chunks]
        tables = [event["object"] for event in events]
        assert [len(each["rows"]) for each in tables] == [1] * len(tables)
        assert tables[0]["columnDefinitions"]
        assert {each["columnDefinitions"] for each in map(dict, tables[1:]) if not each["columnDefinitions"]} == {None}


async def test_custom_resources_have_the_columns_of_their_definition() -> None:
    async with filled() as api:
        document = definition()
        document["spec"]["versions"][0]["additionalPrinterColumns"] = COLUMNS
        await api.create(DEFINITIONS, document)
        ready = {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}
        await api.create(WIDGETS, widget("w", spec={"size": 3}), "default")
        await api.patch(WIDGETS, "w", {"status": ready}, "default", "status")
        found = await table(api, "/apis/test.example.com/v1/namespaces/default/widgets")
        assert [row["cells"] for row in found["rows"]] == [["w", 3, "True"]]
        assert found["columnDefinitions"][1] == {
            "name": "Size", "type": "integer", "format": "", "description": "How large it is", "priority": 1,
        }  # fmt: skip


@pytest.mark.parametrize(("namespace", "shown"), [({}, "*/p"), ({"namespace": "a"}, "a/p")])
def test_the_parameters_of_a_policy_binding_are_shown_with_their_namespace(
    namespace: dict[str, str], shown: str
) -> None:
    resource = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicybindings")
    metadata = {"name": "b", "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"policyName": "x", "paramRef": {"name": "p", **namespace}}
    cells = ROWS[str(resource)].cells({"metadata": metadata, "spec": spec}, datetime(2026, 1, 1, tzinfo=UTC))
    assert cells == ["b", "x", shown, "0s"]


async def test_an_error_is_a_status_and_no_table() -> None:
    async with filled() as api:
        assert (await table(api, "/api/v1/namespaces/default/configmaps/none"))["kind"] == "Status"


async def test_columns_have_the_descriptions_of_kube_apiserver() -> None:
    async with opened() as api:
        version = definition()["spec"]["versions"][0] | {"additionalPrinterColumns": COLUMNS}
        await api.create(DEFINITIONS, definition(versions=[version]))
        custom = await table(api, "/apis/test.example.com/v1/widgets")
        maps = await table(api, "/api/v1/configmaps")
    texts = {column["name"]: column["description"] for column in custom["columnDefinitions"]}
    assert texts["Name"].startswith("Name must be unique within a namespace.")
    assert texts["Size"] == "How large it is"
    assert texts["Ready"].startswith("Custom resource definition column (in JSONPath format): .status.conditions")
    assert [column["description"][:17] for column in maps["columnDefinitions"]] == [
        "Name must be uniq",
        "Data contains the",
        "CreationTimestamp",
    ]


async def test_an_empty_table_of_a_kind_without_columns_of_its_own_has_null_for_rows() -> None:
    async with opened() as api:
        assert (await table(api, "/api/v1/namespaces/default/limitranges"))["rows"] is None
        assert (await table(api, "/api/v1/namespaces/default/pods"))["rows"] == []


@pytest.mark.parametrize(("phase", "ended"), [("Running", False), ("Succeeded", True), ("Failed", True)])
async def test_the_row_of_a_pod_that_has_ended_has_a_condition(phase: str, ended: bool) -> None:
    pods = GroupVersionResource("", "v1", "pods")
    async with opened() as api:
        await api.create(
            pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}, "default"
        )
        await api.patch(pods, "p", {"status": {"phase": phase}}, "default", "status")
        [row] = (await table(api, "/api/v1/namespaces/default/pods"))["rows"]
        found = [(one["type"], one["status"], one["reason"]) for one in row.get("conditions", ())]
        assert found == ([("Completed", "True", phase)] if ended else [])


async def test_the_scale_of_a_custom_resource_may_have_no_replicas() -> None:
    [version] = definition()["spec"]["versions"]
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    async with opened() as api:
        await api.create(DEFINITIONS, definition(versions=[version | {"subresources": {"scale": scale}}]))
        await api.create(WIDGETS, widget("a", spec={"size": 2}), "default")
        target = "/apis/test.example.com/v1/namespaces/default/widgets/a/scale"
        [row] = (await table(api, target))["rows"]
        assert row["cells"][:3] == ["a", 2, 0]
        patch = {"authorization": "Bearer secret", "accept": TABLE, "content-type": "application/merge-patch+json"}
        body = b'{"spec":{"replicas":null}}'
        answer = await HTTPHandler(api.registry, "secret")(HTTPRequest("PATCH", target, Headers(patch.items()), body))
        assert isinstance(answer, HTTPResponse)
        [row] = json.loads(answer.body)["rows"]
        assert row["cells"][:3] == ["a", None, 0]


async def test_autoscalers_of_each_version_are_printed_as_they_are_stored() -> None:
    autoscalers = GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers")
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": cpu}, {"type": "Resource", "resource": memory}]
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "metrics": metrics}
    async with opened() as api:
        await api.create(autoscalers, {"metadata": {"name": "h"}, "spec": spec}, "default")
        for version in ("v1", "v2"):
            target = f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"
            [row] = (await table(api, target))["rows"]
            assert row["cells"][2] == "cpu: <unknown>/50%, memory: <unknown>/1Gi"
            assert "annotations" not in row["object"]["metadata"]


async def test_the_metadata_of_a_row_has_no_annotation_that_stands_for_a_field_of_another_version() -> None:
    sets = GroupVersionResource("apps", "v1", "daemonsets")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    metadata = {"name": "d", "annotations": {"x": "y"}}
    async with opened() as api:
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        created = await api.create(sets, {"metadata": metadata, "spec": spec}, "default")
        assert len(created["metadata"]["annotations"]) == 2
        [row] = (await table(api, "/apis/apps/v1/namespaces/default/daemonsets"))["rows"]
        assert row["object"]["metadata"]["annotations"] == {"x": "y"}
        request = APIRequest(Verb.GET, sets, namespace="default", name="d", form=Form.METADATA)
        alone = json.loads((await api.registry.call(request)).body)
        assert alone["metadata"]["annotations"] == {"x": "y"}
