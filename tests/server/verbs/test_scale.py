from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from pilotage.errors import ApiError, BadRequest, Conflict, InternalError, Invalid, MethodNotSupported, NotFound
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server.tables.table import TableWriter

from ..registries import WIDGETS_V2, Api, definition, opened

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
CONTROLLERS = GroupVersionResource("", "v1", "replicationcontrollers")
DEFINITIONS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
WIDGETS = GroupVersionResource("test.example.com", "v1", "widgets")
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "nginx:1"}]}}
SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["z", "y"]}]}


async def call(
    api: Api, verb: Verb, body: Any = None, resource: GroupVersionResource = DEPLOYMENTS, **more: Any
) -> Document:
    data = b"" if body is None else json.dumps(body).encode()
    request = APIRequest(verb, resource, namespace="default", name="one", subresource="scale", body=data, **more)
    document: Document = json.loads((await api.registry.call(request)).body)
    return document


def scale(**more: Any) -> Document:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "one"}} | more


async def deployed(api: Api) -> None:
    document = {"metadata": {"name": "one"}, "spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}}
    await api.create(DEPLOYMENTS, document, "default")


async def test_the_scale_of_a_deployment() -> None:
    async with opened() as api:
        await deployed(api)
        found = await call(api, Verb.GET)
        whole = await api.get(DEPLOYMENTS, "one", "default")
    assert (found["apiVersion"], found["kind"]) == ("autoscaling/v1", "Scale")
    assert found["spec"] == {"replicas": 3}
    assert found["status"] == {"replicas": 0, "selector": "a=b,c notin (y,z)"}
    assert found["metadata"] == {
        key: whole["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    }


async def test_a_scale_is_written_as_a_change_of_the_object() -> None:
    async with opened() as api:
        await deployed(api)
        assert (await call(api, Verb.UPDATE, scale(spec={"replicas": 7})))["spec"] == {"replicas": 7}
        whole = await api.get(DEPLOYMENTS, "one", "default")
        assert whole["spec"]["replicas"] == 7
        assert whole["metadata"]["generation"] == 2
        assert (await call(api, Verb.UPDATE, scale()))["spec"] == {}
        assert (await api.get(DEPLOYMENTS, "one", "default"))["spec"]["replicas"] == 0


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (PatchType.MERGE, {"spec": {"replicas": 5}}),
        (PatchType.STRATEGIC, {"spec": {"replicas": 5}}),
        (PatchType.JSON, [{"op": "replace", "path": "/spec/replicas", "value": 5}]),
    ],
)
async def test_a_scale_is_patched(kind: PatchType, patch: Any) -> None:
    async with opened() as api:
        await deployed(api)
        found = await call(api, Verb.PATCH, patch, content_type=kind.value)
        assert found["spec"] == {"replicas": 5}
        managed = (await api.get(DEPLOYMENTS, "one", "default"))["metadata"]["managedFields"]
    assert [entry["fieldsV1"] for entry in managed if entry.get("subresource") == "scale"] == [
        {"f:spec": {"f:replicas": {}}}
    ]


async def test_a_scale_is_applied() -> None:
    async with opened() as api:
        await deployed(api)
        options: dict[str, Any] = {
            "content_type": PatchType.APPLY.value,
            "write": WriteOptions(field_manager="scaler", force=True),
        }
        assert (await call(api, Verb.PATCH, scale(spec={"replicas": 9}), **options))["spec"] == {"replicas": 9}
        managed = (await api.get(DEPLOYMENTS, "one", "default"))["metadata"]["managedFields"]
    [entry] = [entry for entry in managed if entry["manager"] == "scaler"]
    assert (entry["operation"], entry["subresource"], entry["apiVersion"]) == ("Apply", "scale", "apps/v1")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (scale(spec={"replicas": "9"}), r"\.spec\.replicas: expected numeric \(int or float\), got string"),
        (scale(spec={"replica": 9}), r"\.spec\.replica: field not declared in schema"),
        (scale(kind="Deployment"), "invalid object type: autoscaling/v1, Kind=Deployment"),
    ],
)
async def test_what_is_not_a_scale_is_not_applied(body: Any, message: str) -> None:
    async with opened() as api:
        await deployed(api)
        write = WriteOptions(field_manager="scaler", force=True)
        with pytest.raises(ApiError, match=message):
            await call(api, Verb.PATCH, body, content_type=PatchType.APPLY.value, write=write)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (scale(spec={"replicas": -1}), Invalid, 'Scale.autoscaling "one" is invalid: spec.replicas: Invalid value: -1'),
        (scale(spec={"replicas": "x"}), BadRequest, "cannot be handled as a Scale"),
        (scale(metadata={"name": "two"}), BadRequest, "does not match the name on the URL"),
        (scale(metadata={"name": "one", "namespace": "other"}), BadRequest, "namespace"),
        (scale(metadata={"name": "one", "resourceVersion": "1"}), Conflict, "has been modified"),
        (scale(metadata={"name": "one", "uid": "u"}), Conflict, "Precondition failed"),
        (scale(kind="Deployment"), BadRequest, "Deployment"),
        (scale(metadata={"name": "one", "finalizers": ["x"]}), Invalid, "neither a standard finalizer name"),
    ],
)
async def test_what_is_not_a_scale_of_the_object_is_refused(body: Any, error: type[ApiError], message: str) -> None:
    async with opened() as api:
        await deployed(api)
        with pytest.raises(error, match=message):
            await call(api, Verb.UPDATE, body)


async def test_the_uid_in_a_patch_of_a_scale_must_be_that_of_the_object() -> None:
    async with opened() as api:
        await deployed(api)
        with pytest.raises(Conflict, match="Precondition failed"):
            await call(api, Verb.PATCH, {"metadata": {"uid": "u"}}, content_type=PatchType.MERGE.value)


async def test_only_reads_and_updates_of_a_scale_are_served() -> None:
    async with opened() as api:
        with pytest.raises(NotFound):
            await call(api, Verb.GET)
        await deployed(api)
        with pytest.raises(MethodNotSupported):
            await call(api, Verb.DELETE)


async def test_the_selector_of_a_replication_controller_is_its_labels() -> None:
    async with opened() as api:
        await api.create(CONTROLLERS, {"metadata": {"name": "one"}, "spec": {"template": TEMPLATE}}, "default")
        found = await call(api, Verb.GET, resource=CONTROLLERS)
    assert (found["spec"], found["status"]["selector"]) == ({"replicas": 1}, "a=b")


def scalable() -> Document:
    document = definition()
    version = document["spec"]["versions"][0]
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    paths = {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count", "labelSelectorPath": ".status.s"}
    version["subresources"] = {"status": {}, "scale": paths}
    return document


async def test_a_custom_resource_has_its_scale_at_the_paths_of_its_definition() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, scalable())
        widget = {"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
        await api.create(WIDGETS, widget, "default")
        with pytest.raises(InternalError, match="does not exist"):
            await call(api, Verb.GET, resource=WIDGETS)
        merge: dict[str, Any] = {"resource": WIDGETS, "content_type": PatchType.MERGE.value}
        with pytest.raises(BadRequest, match="cannot be empty"):
            await call(api, Verb.PATCH, {"metadata": {"labels": {"a": "b"}}}, **merge)
        await call(api, Verb.PATCH, {"metadata": {"uid": "u"}, "spec": {"replicas": 2}}, **merge)  # no precondition
        await api.patch(WIDGETS, "one", {"status": {"count": 1, "s": "x=y"}}, "default", "status")
        applying = {"content_type": PatchType.APPLY.value, "write": WriteOptions(field_manager="scaler")}
        await call(api, Verb.PATCH, scale(spec={"replicas": 2}), resource=WIDGETS, **applying)
        found = await call(api, Verb.GET, resource=WIDGETS)
        assert (found["spec"], found["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "x=y"})
        assert (await api.get(WIDGETS, "one", "default"))["spec"] == {"count": 2}
        with pytest.raises(Invalid) as caught:
            await call(api, Verb.PATCH, {"spec": {"replicas": -1}}, **merge)
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [
        (".spec.count", "Invalid value: -1: should be a non-negative integer")
    ]


async def test_the_table_of_a_scale_has_its_own_columns() -> None:
    async with opened() as api:
        await deployed(api)
        found = await call(api, Verb.GET)
        info = await api.registry.describe(APIRequest(Verb.GET, DEPLOYMENTS, namespace="default", name="one"))
    now = datetime(2024, 1, 1, tzinfo=UTC)
    table = json.loads(TableWriter(info, "").single(json.dumps(found).encode(), now))
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["one", 3, 0]


WRONG: list[Any] = [5, [], None, "x"]
MANAGER = WriteOptions(field_manager="m")
HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff",
    b"[" * 100_000,
    *(json.dumps(scale(**{key: value})).encode() for key in ("metadata", "spec") for value in WRONG),
    *(json.dumps(scale(spec={"replicas": value})).encode() for value in (*WRONG, 1.5, 10**30, True, 2**40)),
]


@pytest.mark.parametrize("media", ["application/json", "application/yaml", *(kind.value for kind in PatchType)])
async def test_every_body_of_a_scale_is_answered(media: str) -> None:
    codes = set()
    async with opened() as api:
        await deployed(api)
        for body in HOSTILE:
            for verb in (Verb.UPDATE, Verb.PATCH):
                request = APIRequest(verb, DEPLOYMENTS, namespace="default", name="one", subresource="scale", body=body)
                try:
                    codes.add((await api.registry.call(replace(request, content_type=media, write=MANAGER))).code)
                except ApiError as error:
                    codes.add(error.code)
    assert codes <= {200, 400, 409, 415, 422} | ({500} if media == PatchType.APPLY.value else set())


async def test_a_write_of_a_scale_warns_of_the_template_of_its_object() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80}]
    template = TEMPLATE | {"spec": {"containers": [{"name": "x", "image": "nginx:1", "ports": ports}]}}
    async with opened() as api:
        document = {
            "metadata": {"name": "one"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        }
        await api.create(DEPLOYMENTS, document, "default")
        body = json.dumps(scale(spec={"replicas": 5})).encode()
        request = APIRequest(Verb.UPDATE, DEPLOYMENTS, namespace="default", name="one", subresource="scale", body=body)
        [warning] = (await api.registry.call(request)).warnings
        assert "duplicate port definition" in warning
        assert not (await api.registry.call(request)).warnings, "nothing has changed"


async def test_a_scale_keeps_the_managers_of_versions_that_the_object_does_not_fit() -> None:
    def version(name: str, kind: str, *, storage: bool) -> Document:
        spec: Document = {"type": "object", "properties": {"replicas": {"type": "integer"}, "a": {"type": kind}}}
        if kind == "array":
            spec["properties"]["a"]["items"] = {"type": "string"}
        return {
            "name": name,
            "served": True,
            "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        }

    versions = [version("v1", "array", storage=True), version("v2", "string", storage=False)]
    config = {"apiVersion": "test.example.com/v2", "kind": "Widget", "metadata": {"name": "one"}}
    async with opened() as api:
        await api.create(DEFINITIONS, definition(versions=versions))
        request = APIRequest(
            Verb.PATCH,
            WIDGETS_V2,
            namespace="default",
            name="one",
            body=json.dumps(config | {"spec": {"replicas": 2, "a": "x"}}).encode(),
            content_type=PatchType.APPLY.value,
            write=WriteOptions(field_manager="me"),
        )
        made = json.loads((await api.registry.call(request)).body)
        merge: dict[str, Any] = {"resource": WIDGETS, "content_type": PatchType.MERGE.value}
        await call(api, Verb.PATCH, {"spec": {"replicas": 2}}, **merge)
        assert await api.get(WIDGETS_V2, "one", "default") == made
        await call(api, Verb.PATCH, {"spec": {"replicas": 3}}, **merge)
        entries = (await api.get(WIDGETS_V2, "one", "default"))["metadata"]["managedFields"]
        assert {entry["manager"]: entry["fieldsV1"] for entry in entries} == {
            "me": {"f:spec": {"f:a": {}}},
            "unknown": {"f:spec": {"f:replicas": {}}},
        }
