"""Server-side apply on the registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilotage.errors import ApiError, BadRequest, Conflict, Invalid, NotFound, UnsupportedMediaType
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.redaction import LAST_APPLIED
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.rest.response import Response
from pilotage.server import records
from tests.counting import counted_lines

from ..registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, definition, widget
from .test_track import Managed, config_map, managed, owners

PARTS = GroupVersionResource("test.example.com", "v1", "parts")
HOSTILE_LINES = 50_000
"""More lines than the server executes for any input that it refuses; large inputs have 50,000 values and more."""


async def answer(
    api: Managed,
    resource: GroupVersionResource,
    config: Any,
    manager: str = "me",
    name: str = "a",
    subresource: str = "",
    **options: Any,
) -> Response:
    body = config if isinstance(config, bytes) else json.dumps(config).encode()
    request = APIRequest(
        Verb.PATCH,
        resource,
        namespace="default",
        name=name,
        subresource=subresource,
        content_type=PatchType.APPLY.value,
        body=body,
        write=WriteOptions(field_manager=manager, **options),
    )
    return await api.registry.call(request)


async def applied(api: Managed, resource: GroupVersionResource, config: Any, manager: str = "me", **more: Any) -> Any:
    return json.loads((await answer(api, resource, config, manager, **more)).body)


@pytest.mark.covers("T152")
async def test_an_apply_creates_what_is_missing() -> None:
    async with managed() as api:
        created = await answer(api, CONFIG_MAPS, config_map())
        again = await answer(api, CONFIG_MAPS, config_map())
    made = json.loads(created.body)
    assert (created.code, again.code) == (201, 200)
    assert json.loads(again.body) == made
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k": {}}},
        }
    ]


@pytest.mark.covers("T152")
async def test_fields_that_are_left_out_are_removed() -> None:
    async with managed() as api:
        await applied(api, CONFIG_MAPS, config_map(data={"k": "v", "l": "w"}))
        await api.patch(CONFIG_MAPS, "a", {"data": {"other": "x"}})
        made = await applied(api, CONFIG_MAPS, config_map(data={"l": "w"}))
    assert made["data"] == {"l": "w", "other": "x"}


@pytest.mark.covers("T152")
async def test_a_conflict_names_the_manager_and_the_field() -> None:
    async with managed() as api:
        await applied(api, CONFIG_MAPS, config_map(), "one")
        with pytest.raises(Conflict, match=r'^Apply failed with 1 conflict: conflict with "one": \.data\.k$') as caught:
            await applied(api, CONFIG_MAPS, config_map(data={"k": "other"}), "two")
        details = caught.value.status.details
        assert details is not None
        assert [(cause.reason, cause.message, cause.field) for cause in details.causes] == [
            ("FieldManagerConflict", 'conflict with "one"', ".data.k")
        ]
        forced = await applied(api, CONFIG_MAPS, config_map(data={"k": "other"}), "two", force=True)
    assert owners(forced) == {"two": {"f:data": {"f:k": {}}}}


async def test_what_was_there_before_the_first_apply_has_a_manager() -> None:
    async with managed() as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
        await api.patch(CONFIG_MAPS, "a", {"data": {"k": "v"}})
        with pytest.raises(Conflict, match=r'conflict with "before-first-apply" using v1: \.data\.k'):
            await applied(api, CONFIG_MAPS, config_map(data={"k": "w"}))
        made = await applied(api, CONFIG_MAPS, config_map(data={"l": "w"}))
    assert owners(made) == {"me": {"f:data": {"f:l": {}}}, "before-first-apply": {"f:data": {".": {}, "f:k": {}}}}


@pytest.mark.covers("T152")
async def test_the_status_is_applied_apart_and_only_where_there_is_an_object() -> None:
    async with managed() as api:
        with pytest.raises(NotFound):
            await applied(api, WIDGETS, widget("w", status={"phase": "x"}), name="w", subresource="status")
        await applied(api, WIDGETS, widget("w", spec={"a": 1}, status={"phase": "ignored"}), name="w")
        config = widget("w", spec={"a": 2}, status={"phase": "x"})
        made = await applied(api, WIDGETS, config, name="w", subresource="status")
    assert (made["spec"], made["status"]) == ({"a": 1}, {"phase": "x"})
    assert [(entry.get("subresource"), entry["fieldsV1"]) for entry in made["metadata"]["managedFields"]] == [
        (None, {"f:spec": {"f:a": {}}}),
        ("status", {"f:status": {"f:phase": {}}}),
    ]


async def test_a_dry_run_stores_nothing() -> None:
    async with managed() as api:
        await applied(api, CONFIG_MAPS, config_map(), dry_run=True)
        assert (await answer(api, CONFIG_MAPS, config_map())).code == 201


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (config_map(kind="Secret"), "invalid object type: /v1, Kind=Secret"),
        (b"", "invalid object type: /, Kind="),
        (b"[]", "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array"),
        (b"a: [", "error decoding YAML: error converting YAML to JSON: yaml: "),
        (config_map(metadata={"name": "a", "managedFields": []}), "metadata.managedFields must be nil"),
        (config_map(metadata={"name": "b"}), "the name of the object (b) does not match the name on the URL (a)"),
        (config_map(metadata={}), "the name of the object (a based on URL) was undeterminable: name must be provided"),
        (
            config_map(metadata={"name": "a", "namespace": "x"}),
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
    ids=str,
)
async def test_a_configuration_of_something_else_is_a_bad_request(config: Any, message: str) -> None:
    async with managed() as api:
        with pytest.raises(BadRequest) as caught:
            await applied(api, CONFIG_MAPS, config)
    assert str(caught.value).startswith(message)


async def test_wrong_types_are_an_error_of_the_server_as_in_kubernetes() -> None:
    async with managed() as api:
        with pytest.raises(ApiError) as caught:
            await applied(api, CONFIG_MAPS, config_map(data={"k": 1}))
    assert (caught.value.status.code, caught.value.status.reason, str(caught.value)) == (
        500,
        "",
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): "
        ".data.k: expected string, got &value.valueUnstructured{Value:1}",
    )


@pytest.mark.covers("T152")
async def test_an_apply_needs_a_manager() -> None:
    async with managed() as api:
        with pytest.raises(Invalid, match="fieldManager: Required value: is required for apply patch"):
            await applied(api, CONFIG_MAPS, config_map(), manager="")


@pytest.mark.covers("T145", "T152")
async def test_a_uid_and_a_version_in_the_configuration_are_preconditions() -> None:
    async with managed() as api:
        with pytest.raises(Conflict, match="uid mismatch: the provided object specified uid u, and no existing object"):
            await applied(api, CONFIG_MAPS, config_map(metadata={"name": "a", "uid": "u"}))
        versioned = config_map(metadata={"name": "a", "resourceVersion": "1"})
        assert (await answer(api, CONFIG_MAPS, versioned)).code == 201
        with pytest.raises(Conflict, match="the object has been modified"):
            await applied(api, CONFIG_MAPS, versioned)
        with pytest.raises(Invalid, match="field is immutable"):
            await applied(api, CONFIG_MAPS, config_map(metadata={"name": "a", "uid": "u"}))


async def test_yaml_is_read_as_kubernetes_reads_it() -> None:
    head = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    text = head + b'data:\n  n: b\n  1: "c"\n  1.5: "d"\n  n: e\n---\nx: y\n'
    async with managed() as api:
        got = await answer(api, CONFIG_MAPS, text)
        with pytest.raises(BadRequest, match=r'unmarshal errors:\n  line 8: key "false" already set in map'):
            await applied(api, CONFIG_MAPS, text, field_validation="Strict")
    assert json.loads(got.body)["data"] == {"false": "e", "1": "c", "1.5": "d"}
    assert got.warnings == ('line 8: key "false" already set in map',)


async def test_kubectl_takes_over_what_its_client_side_apply_had_set() -> None:
    last = config_map(data={"k": "v"})
    annotations = {LAST_APPLIED: json.dumps(last)}
    async with managed() as api:
        live = config_map(metadata={"name": "a", "annotations": annotations})
        await api.create(CONFIG_MAPS, live, manager="kubectl-client-side-apply")
        with pytest.raises(Conflict):
            await applied(api, CONFIG_MAPS, config_map(data={"k": "w"}), "another")
        made = await applied(api, CONFIG_MAPS, config_map(data={"k": "w"}), "kubectl")
    assert made["data"] == {"k": "w"}
    assert json.loads(made["metadata"]["annotations"][LAST_APPLIED]) == config_map(data={"k": "w"})


async def test_other_media_types_are_refused_in_the_words_of_kubernetes() -> None:
    async with managed() as api:
        for resource, message in ((CONFIG_MAPS, "415: Unsupported Media Type"), (WIDGETS, "application/apply-patch")):
            request = APIRequest(
                Verb.PATCH, resource, namespace="default", name="a", content_type="text/plain", body=b"{}"
            )
            with pytest.raises(UnsupportedMediaType, match=message):
                await api.registry.call(request)


async def test_a_list_that_becomes_atomic_is_owned_as_a_whole() -> None:
    async with managed() as api:
        await api.create(DEFINITIONS, _gadgets("set"))
        await applied(api, GADGETS, _gadget(["a"]), "one", name="g")
        await applied(api, GADGETS, _gadget(["b"]), "two", name="g")
        changed = [{"op": "replace", "path": f"{_LIST_TYPE}", "value": "atomic"}]
        await api.patch(DEFINITIONS, "gadgets.test.example.com", changed, kind=PatchType.JSON)
        with pytest.raises(Conflict, match=r'conflicts? with "one":'):
            await applied(api, GADGETS, _gadget(["c"]), "two", name="g")
        made = await applied(api, GADGETS, _gadget(["c"]), "two", name="g", force=True)
    assert owners(made) == {"two": {"f:spec": {"f:names": {}}}}


GADGETS = GroupVersionResource("test.example.com", "v1", "gadgets")
_LIST_TYPE = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/names/x-kubernetes-list-type"


def _gadgets(list_type: str) -> Any:
    names = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": list_type}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"names": names}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return definition("gadgets", "Gadget", versions=[version])


def _gadget(names: list[str]) -> Any:
    return widget("g", kind="Gadget", spec={"names": names})


@pytest.mark.parametrize(
    "config",
    [
        b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(b"b%d: &b%d [%s]\n" % (n, n, b"*a," * 9) for n in range(6)),
        b"[" * 100_000,
        b"{" * 100_000,
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{' + b'"k":{' * 3000,
        json.dumps(config_map(data={str(n): n for n in range(50_000)})).encode(),
        json.dumps(config_map(metadata={"name": "a", "finalizers": ["x.dev/y"] * 50_000})).encode(),
        json.dumps(config_map(metadata={"name": "a", "ownerReferences": [{}] * 20_000})).encode(),
    ],
    ids=["aliases", "lists", "maps", "depth", "types", "duplicates", "keyless"],
)
async def test_a_hostile_configuration_is_refused_with_bounded_work(config: bytes) -> None:
    async with managed() as api:
        with pytest.raises(ApiError) as caught, counted_lines() as lines:
            await applied(api, CONFIG_MAPS, config)
        assert lines.count < HOSTILE_LINES
        assert len(str(caught.value)) < 100_000


async def test_hostile_managed_fields_are_ignored_with_bounded_work() -> None:
    deep: Any = {}
    for _ in range(50):
        deep = {"f:a": deep}
    sets = [deep, {"k:" + "[" * 50_000: {}}, {"v:" + "9" * 5000: {}}, {f"f:{n}": {} for n in range(50_000)}, {"x": 1}]
    async with managed() as api:
        made = await api.create(CONFIG_MAPS, config_map())
        for fields in sets:
            entry = made["metadata"]["managedFields"][0] | {"fieldsV1": fields}
            with counted_lines() as lines:
                changed = await api.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": [entry]}})
            assert lines.count < HOSTILE_LINES
            assert changed["data"] == made["data"]


async def test_an_apply_of_the_same_whole_float_changes_nothing() -> None:
    async with managed() as api:
        config = widget("a", spec={"size": 2.0})
        first = await applied(api, WIDGETS, config)
        assert (type(first["spec"]["size"]), await applied(api, WIDGETS, config)) == (int, first)


def _structural() -> Any:
    """A definition whose schema knows all fields, and keeps one as it is."""
    rule = {"rule": "!has(self.name) || self.name == oldSelf.name", "message": "the name stays"}
    properties = {"name": {"type": "string"}, "tags": {"type": "object", "additionalProperties": {"type": "string"}}}
    made = definition("parts", "Part")
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
    schema["properties"]["status"] = {"type": "object", "properties": {}}
    return made


async def test_an_apply_decodes_the_stored_object_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    decode = records.decode

    def counted(data: bytes) -> Any:
        decoded.append(bytes(data))
        return decode(data)

    async with managed() as api:
        await api.create(DEFINITIONS, _structural())
        await applied(api, PARTS, widget("a", kind="Part", spec={"name": "x"}))
        monkeypatch.setattr(records, "decode", counted)
        for tags in ({"a": "1"}, {"a": "1"}, {"a": "2"}):
            decoded.clear()
            await applied(api, PARTS, widget("a", kind="Part", spec={"name": "x", "tags": tags}))
            assert len(decoded) == 1


async def test_an_apply_leaves_the_object_before_it_as_it_was() -> None:
    async with managed() as api:
        await api.create(DEFINITIONS, _structural())
        made = await applied(api, PARTS, widget("a", kind="Part", spec={"name": "x", "tags": {"a": "1"}}))
        with pytest.raises(Invalid, match="the name stays"):
            await applied(api, PARTS, widget("a", kind="Part", spec={"name": "y", "tags": {"a": "2"}}))
        assert await applied(api, PARTS, widget("a", kind="Part", spec={"name": "x", "tags": {"a": "1"}})) == made
