from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.kinds import GroupVersion
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.openapi import descriptions, documents
from pilotage.storage.memory import MemoryStorage
from pilotage.types import builtin

from ..registries import DEFINITIONS, Api, definition, opened

RECORDED = json.loads(Path(__file__).with_name("gizmos.json").read_bytes())
BUILTIN = sorted({mapping.resource.group_version for mapping in builtin.resources()})


async def ask(api: Api, target: str, **headers: str) -> HTTPResponse:
    given = {"authorization": "Bearer secret"} | {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await HTTPHandler(api.registry, "secret")(HTTPRequest("GET", target, Headers(given.items())))
    assert isinstance(answer, HTTPResponse)
    return answer


def without_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_descriptions(item)
            for key, item in value.items()
            if not (key == "description" and isinstance(item, str))
        }
    return [without_descriptions(item) for item in value] if isinstance(value, list) else value


def references(text: bytes, prefix: str) -> set[str]:
    return set(re.findall(f'"{prefix}([^"]+)"', text.decode()))


@pytest.mark.parametrize("group_version", BUILTIN, ids=str)
def test_a_document_has_every_schema_that_it_refers_to(group_version: GroupVersion) -> None:
    found = documents.document([], group_version, KINDS)
    assert found is not None
    assert references(found[0], "#/components/schemas/") <= set(json.loads(found[0])["components"]["schemas"])


def test_a_kind_is_found_by_the_operation_that_patches_it() -> None:
    found = documents.document([], GroupVersion("apps", "v1"), KINDS)
    assert found is not None
    patch = json.loads(found[0])["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


async def test_custom_resources_have_the_schema_that_a_kube_apiserver_publishes() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, RECORDED["definition"])
        for version in ("v1", "v2"):
            answer = await ask(api, f"/openapi/v3/apis/tables.pilotage.dev/{version}")
            schemas = json.loads(answer.body)["components"]["schemas"]
            for name in (f"dev.pilotage.tables.{version}.Gizmo", f"dev.pilotage.tables.{version}.GizmoList"):
                assert without_descriptions(schemas[name]) == RECORDED["v3"][name]


async def test_version_2_leaves_open_what_it_has_no_words_for() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, RECORDED["definition"])
        answer = await ask(api, "/openapi/v2", accept="application/json")
        found = json.loads(answer.body)["definitions"]["dev.pilotage.tables.v1.Gizmo"]
        assert without_descriptions(found) == RECORDED["v2"]["dev.pilotage.tables.v1.Gizmo"]


_KEPT = {"maxLength": 3, "pattern": "^a", "x-kubernetes-validations": [{"rule": "true"}]}
_UNKNOWN = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED = {"x-kubernetes-embedded-resource": True}
_NUMBER_OR_TEXT = {"x-kubernetes-int-or-string": True}


def with_schema(schema: Any) -> Any:
    document = definition()
    document["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return document


@pytest.mark.parametrize(
    ("schema", "published"),
    [
        ({"type": "string", "nullable": True, **_KEPT}, _KEPT),
        (_NUMBER_OR_TEXT | _KEPT | {"anyOf": [{"type": "integer"}, {"type": "string"}]}, _NUMBER_OR_TEXT | _KEPT),
        ({"type": "object", "properties": {"a": {"type": "string"}}, **_UNKNOWN}, _UNKNOWN),
        ({"type": "array", "items": {"type": "string"}, "nullable": True, "maxItems": 2}, {"maxItems": 2}),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}},
                "required": ["a", "b"],
            },
            {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}, "required": ["b"]},
        ),
        ({"type": "object", **_EMBEDDED, **_UNKNOWN}, _EMBEDDED | _UNKNOWN),
        (
            {"type": "object", **_EMBEDDED, "properties": {"spec": {"type": "object"}}},
            {
                "type": "object",
                "properties": {
                    "spec": {"type": "object"},
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
                },
                "required": ["kind", "apiVersion"],
                **_EMBEDDED,
            },
        ),
    ],
)
async def test_version_2_keeps_what_it_can_of_the_schema_of_a_definition(schema: Any, published: Any) -> None:
    async with opened() as api:
        root = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": schema}}}}
        await api.create(DEFINITIONS, with_schema(root))
        answer = await ask(api, "/openapi/v2", accept="application/json")
        found = json.loads(answer.body)["definitions"]["com.example.test.v1.Widget"]
        assert without_descriptions(found["properties"]["spec"]["properties"]["a"]) == published


async def test_version_2_has_no_fields_of_a_kind_that_has_unknown_ones() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, with_schema({"type": "object", "description": "open", **_UNKNOWN}))
        answer = await ask(api, "/openapi/v2", accept="application/json")
        found = json.loads(answer.body)["definitions"]["com.example.test.v1.Widget"]
        gvk = {"group": "test.example.com", "kind": "Widget", "version": "v1"}
        assert found == {"type": "object", "x-kubernetes-group-version-kind": [gvk]}


def test_version_2_has_one_type_for_a_number_or_text_and_no_defaults() -> None:
    definitions = documents.version_2([], KINDS)["definitions"]
    port = definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert (port["type"], port["format"]) == ("string", "int-or-string")
    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"
    strategy = definitions["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]
    assert strategy["x-kubernetes-patch-strategy"] == "retainKeys"
    assert "default" not in definitions["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]


def test_version_2_has_every_definition_that_it_refers_to() -> None:
    text = documents.version_2_json([], KINDS)
    assert references(text, "#/definitions/") <= set(json.loads(text)["definitions"])
    assert b"#/components" not in text


async def test_the_description_of_a_field_is_that_of_the_definition() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, RECORDED["definition"])
        answer = await ask(api, "/openapi/v3/apis/tables.pilotage.dev/v1")
        schema = json.loads(answer.body)["components"]["schemas"]["dev.pilotage.tables.v1.Gizmo"]
        assert schema["properties"]["spec"]["description"] == "What is wanted."


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_builtin_kinds_and_their_fields_have_descriptions(version: str) -> None:
    if version == "v2":
        definitions = documents.version_2([], KINDS)["definitions"]
    else:
        found = documents.document([], GroupVersion("apps", "v1"), KINDS)
        assert found is not None
        definitions = json.loads(found[0])["components"]["schemas"]
    spec = definitions["io.k8s.api.apps.v1.DeploymentSpec"]
    assert spec["description"].startswith("DeploymentSpec is")
    for name in ("replicas", "template"):  # a value, and a reference
        assert spec["properties"][name]["description"]


def test_every_builtin_definition_is_described_as_it_is() -> None:
    for name in builtin.definition_names():
        assert without_descriptions(descriptions.described(name)) == builtin.definition(name)


async def test_the_index_names_each_document_with_a_hash_that_changes_with_the_definition() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        before = json.loads((await ask(api, "/openapi/v3")).body)["paths"]
        assert {f"apis/{one}" if one.group else f"api/{one.version}" for one in BUILTIN} < set(before)
        shorter = {"spec": {"names": {"plural": "widgets", "kind": "Widget", "shortNames": ["w"]}}}
        await api.patch(DEFINITIONS, "widgets.test.example.com", shorter)
        after = json.loads((await ask(api, "/openapi/v3")).body)["paths"]
        assert [path for path in before if before[path] != after[path]] == ["apis/test.example.com/v1"]


@pytest.mark.parametrize(
    ("target", "accept"),
    [
        ("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        ("/openapi/v3/apis/apps/v1", "application/json"),
        ("/openapi/v2", "application/json"),
    ],
)
async def test_a_client_that_has_the_document_gets_no_second_copy(target: str, accept: str) -> None:
    async with opened() as api:
        first = await ask(api, target, accept=accept)
        (tag,) = (value for name, value in first.headers if name == "etag")
        again = await ask(api, target, accept=accept, if_none_match=tag)
        assert (again.status, again.body) == (304, b"")
        assert "content-type" not in dict(again.headers)
        assert (await ask(api, target, accept=accept, if_none_match='"other"')).status == 200


async def test_paths_without_a_version_have_the_documents_of_kube_apiserver() -> None:
    recorded = json.loads(Path(__file__).with_name("roots.json").read_bytes())
    async with opened() as api:
        index = json.loads((await ask(api, "/openapi/v3")).body)["paths"]
        for path, (name, tags) in recorded["operations"].items():
            found = json.loads((await ask(api, index[path]["serverRelativeURL"])).body)
            operation = found["paths"][f"/{path}/"]["get"]
            assert (operation["operationId"], operation["tags"]) == (name, tags)
            if path in recorded["documents"]:
                assert without_descriptions(found) == recorded["documents"][path]


async def test_a_client_with_an_old_hash_is_sent_to_the_document_that_is_served_now() -> None:
    async with opened() as api:
        index = json.loads((await ask(api, "/openapi/v3")).body)["paths"]
        current = index["apis/apps/v1"]["serverRelativeURL"]
        found = await ask(api, current)
        assert (found.status, dict(found.headers)["cache-control"]) == (200, "public, immutable")
        assert "expires" in dict(found.headers)
        unnamed = await ask(api, "/openapi/v3/apis/apps/v1")
        assert dict(unnamed.headers)["cache-control"] == "no-cache, private"
        moved = await ask(api, "/openapi/v3/apis/apps/v1?hash=OLD")
        assert (moved.status, dict(moved.headers)["location"]) == (301, current)


@pytest.mark.parametrize(
    "target", ["/openapi/v3/apis/none/v1", "/openapi/v3/api/v2", "/openapi", "/openapi/v3/apis/a/b/c"]
)
async def test_there_is_no_document_of_what_is_not_served(target: str) -> None:
    async with opened() as api:
        assert (await ask(api, target)).status == 404


def test_a_definition_that_is_not_established_has_no_schema() -> None:
    assert list(resources_of(definition(), "key", 1)) == []


async def test_version_2_is_protobuf_for_who_asks_for_it() -> None:
    async with opened() as api:
        for media in (
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        ):
            answer = await ask(api, "/openapi/v2", accept=media)
            assert answer.body.startswith(b"\x0a\x032.0")  # swagger, in field 1
        assert (await ask(api, "/openapi/v2", accept="text/html")).status == 406


@pytest.mark.parametrize("target", ["/openapi/v3", "/openapi/v2", "/apis"])
async def test_the_first_documents_of_a_started_server_have_its_custom_resources(target: str) -> None:
    """Before `/readyz` is asked: a server with custom resources never describes itself without them."""
    storage = MemoryStorage()
    async with opened(storage) as api:
        await api.create(DEFINITIONS, definition())
    async with opened(storage) as started:
        assert b"test.example.com" in (await ask(started, target)).body
        assert (await ask(started, "/openapi/v3/apis/test.example.com/v1")).status == 200
        assert (await ask(started, "/readyz")).status == 200
