from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pilotage.errors import BadRequest, Invalid, NotFound
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.text import jsontext
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server.decoding.fieldproblems import FieldProblems, duplicate_fields
from pilotage.server.decoding.refusals import mismatch

from ..registries import CONFIG_MAPS, DEFINITIONS, NAMESPACES, WIDGETS, definition, opened, widget

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


class Pairs(list[tuple[str, Any]]):
    """An object that may have a key twice."""


KEYS = st.text(st.sampled_from('a":\\ b'), max_size=4)
VALUES = st.recursive(
    st.text(st.sampled_from('a":\\ é'), max_size=6) | st.integers(0, 9),
    lambda children: st.lists(children, max_size=3) | st.lists(st.tuples(KEYS, children), max_size=3).map(Pairs),
    max_leaves=8,
)


def written(value: Any, gap: str, ascii_only: bool) -> str:
    if isinstance(value, Pairs):
        pairs = (
            json.dumps(key, ensure_ascii=ascii_only) + gap + ":" + written(item, gap, ascii_only) for key, item in value
        )
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, gap, ascii_only) for item in value) + "]"
    if isinstance(value, str) and ascii_only:
        return '"' + "".join("\\u0022" if one == '"' else json.dumps(one)[1:-1] for one in value) + '"'
    return json.dumps(value, ensure_ascii=ascii_only)


@given(VALUES, st.sampled_from(["", " ", "\n\t"]), st.booleans())
def test_counting_never_misses_a_key_given_twice(value: Any, gap: str, ascii_only: bool) -> None:
    text = written(value, gap, ascii_only).encode()
    assert duplicate_fields(text, jsontext.read(text)) == jsontext.duplicate_fields(text)


DOUBLED = b'{"spec":{"c":1,"b":2,"c":3,"a":{"b":1,"b":2}}}'


@pytest.mark.parametrize(("validation", "warnings"), [("", 3), ("Warn", 3), ("Ignore", 0)])
async def test_problems_are_warnings_unless_asked_otherwise(validation: str, warnings: int) -> None:
    async with opened() as api:
        info = await api.registry.context.catalogue.find(CONFIG_MAPS)
    problems = FieldProblems(unknown=["spec.b", "spec.a"], duplicate=["spec.a", "spec.a.b", "spec.c"])
    request = APIRequest(Verb.CREATE, CONFIG_MAPS, body=DOUBLED, write=WriteOptions(field_validation=validation))
    assert len(problems.report(request, info)) == warnings


async def test_strict_problems_are_an_error_that_names_them_in_order() -> None:
    async with opened() as api:
        info = await api.registry.context.catalogue.find(CONFIG_MAPS)
    problems = FieldProblems(unknown=["spec.b", "spec.a"], duplicate=["spec.a", "spec.c"])
    strict = WriteOptions(field_validation="Strict")
    with pytest.raises(BadRequest, match=r'unknown field "spec.b", duplicate field "spec.c", unknown field "spec.a"'):
        problems.report(APIRequest(Verb.CREATE, CONFIG_MAPS, body=DOUBLED, write=strict), info)
    words = r'duplicate field "spec.a", duplicate field "spec.c", unknown field "spec.a", unknown field "spec.b"'
    with pytest.raises(Invalid, match=words):
        problems.report(APIRequest(Verb.PATCH, CONFIG_MAPS, name="x", write=strict), info)


async def test_problems_of_a_custom_resource_are_duplicates_then_metadata_then_what_the_schema_drops() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        info = await api.registry.context.catalogue.find(WIDGETS)
    problems = FieldProblems(unknown=["spec.b", "metadata.z", "a"], duplicate=["a.k"])
    assert problems.report(APIRequest(Verb.CREATE, WIDGETS), info) == [
        'duplicate field "a.k"',
        'unknown field "metadata.z"',
        'unknown field "a"',
        'unknown field "spec.b"',
    ]


YAML = "application/yaml"


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"metadata: {name: x}\ndata: {n: a, 1: b, true: c}", {"false": "a", "1": "b", "true": "c"}),
        (b"metadata: {name: x}\ndata: {k: a}\n---\nmetadata: {name: other}", {"k": "a"}),
        (b"metadata: &m {name: x}\ndata: *m", {"name": "x"}),
        (b"metadata: {name: x}\ndata: {k: a, k: b}", {"k": "b"}),
    ],
)
async def test_a_yaml_body_is_read_as_kube_apiserver_reads_it(body: bytes, data: dict[str, str]) -> None:
    async with opened() as api:
        request = APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=body, content_type=YAML)
        answer = await api.registry.call(request)
    assert json.loads(answer.body)["data"] == data


async def test_a_key_that_is_in_yaml_twice_is_a_warning_or_an_error() -> None:
    body = b"metadata: {name: x}\ndata:\n  k: a\n  k: b\n"
    strict = WriteOptions(field_validation="Strict", dry_run=True)
    async with opened() as api:
        request = APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=body, content_type=YAML)
        assert (await api.registry.call(request)).warnings == ('line 4: key "k" already set in map',)
        with pytest.raises(BadRequest, match='strict decoding error: yaml: unmarshal errors:\n  line 4: key "k"'):
            await api.registry.call(replace(request, write=strict))


async def test_what_is_no_yaml_is_refused_in_the_words_of_go() -> None:
    async with opened() as api:
        for body, message in (
            (b"a: b: c", "yaml: mapping values are not allowed in this context (613a20623a2063)"),
            (b"metadata: {name: yy", "yaml: line 1: did not find expected ',' or '}'"),
        ):
            request = APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=body, content_type=YAML)
            with pytest.raises(BadRequest) as raised:
                await api.registry.call(request)
            assert message in str(raised.value)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Expected `str`, got `int` - at `$.labels[...]`",
            "json: cannot unmarshal number into field metadata.labels of type string",
        ),
        (
            "Expected `int | null`, got `str` - at `$.generation`",
            "json: cannot unmarshal string into field metadata.generation of type number",
        ),
        ("Expected `object`, got `array`", "json: cannot unmarshal array into field metadata of type object"),
        ("Something else - at `$.name`", "json: Something else - at metadata.name"),
    ],
)
def test_wrong_types_are_reported_in_words_of_json(message: str, expected: str) -> None:
    assert mismatch(message, "metadata") == expected


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("resource", "problem"),
    [
        ({"apiVersion": 3, "kind": "Pod"}, "spec.pod.apiVersion: Invalid value: 3: must be a string"),
        ({"apiVersion": "v1", "kind": 4}, "spec.pod.kind: Invalid value: 4: must be a string"),
        ({"metadata": "x"}, 'spec.pod.metadata: Invalid value: "x": json: cannot unmarshal'),
        ({"metadata": {"namespace": 42}}, 'spec.pod.metadata: Invalid value: {"namespace":42}: json: cannot unmarshal'),
    ],
)
async def test_an_embedded_resource_whose_metadata_has_wrong_types_cannot_be_decoded(
    resource: dict[str, Any], problem: str
) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, with_embedded())
        with pytest.raises(BadRequest) as raised:
            await api.create(WIDGETS, widget("a", spec={"pod": resource}), "default")
    assert problem in str(raised.value)


async def test_metadata_of_an_embedded_resource_is_checked_and_stored_as_that_of_a_whole_object() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, with_embedded())
        pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "x y"}}}
        with pytest.raises(Invalid, match=r"spec.pod.metadata.labels: Invalid value: \"x y\""):
            await api.create(WIDGETS, widget("a", spec={"pod": pod}), "default")
        pod["metadata"] = {"name": "p", "uid": "", "labels": None, "unknown": 1}
        stored = await api.create(WIDGETS, widget("a", spec={"pod": pod}), "default")
    assert stored["spec"]["pod"]["metadata"] == {"name": "p"}


def with_embedded() -> dict[str, Any]:
    made = definition()
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "properties": {"pod": EMBEDDED}}
    return made


async def test_unknown_fields_of_yaml_are_reported_in_the_order_of_their_names() -> None:
    async with opened() as api:
        request = APIRequest(
            Verb.CREATE,
            CONFIG_MAPS,
            namespace="default",
            body=b"metadata: {name: a, Name: b}\nData: {}\n",
            content_type="application/yaml",
            write=WriteOptions(field_validation="Strict"),
        )
        with pytest.raises(BadRequest, match=r'unknown field "Data", unknown field "metadata\.Name"'):
            await api.registry.call(request)


async def test_an_object_is_found_before_its_patch_is_read() -> None:
    async with opened() as api:
        media = PatchType.MERGE.value
        request = APIRequest(Verb.PATCH, CONFIG_MAPS, namespace="default", name="a", body=b"{", content_type=media)
        with pytest.raises(NotFound):
            await api.registry.call(request)
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        with pytest.raises(BadRequest, match="error decoding patch"):
            await api.registry.call(request)


async def test_the_finalizers_of_a_namespace_are_written_with_its_metadata() -> None:
    async with opened() as api:
        await api.create(NAMESPACES, {"metadata": {"name": "a", "labels": {"x": "y"}}})
        body = b'{"metadata": {"name": "a", "annotations": {"n": "o"}}, "spec": {"finalizers": ["kubernetes"]}}'
        await api.registry.call(APIRequest(Verb.UPDATE, NAMESPACES, name="a", subresource="finalize", body=body))
        written = await api.get(NAMESPACES, "a")
        assert written["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
        assert written["metadata"]["annotations"] == {"n": "o"}


@pytest.mark.covers("T155")
@pytest.mark.parametrize(
    ("number", "stored"),
    [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("1.5", "1.5"),
        ("1e20", "100000000000000000000"),
        ("99999999999999999999", "100000000000000000000"),
    ],
)
async def test_whole_numbers_of_a_custom_resource_are_stored_as_integers(number: str, stored: str) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        body = json.dumps(widget("a", spec={"n": ["<n>"]})).replace('"<n>"', number).encode()
        answer = await api.registry.call(APIRequest(Verb.CREATE, WIDGETS, namespace="default", body=body))
        assert f'"spec":{{"n":[{stored}]}}'.encode() in answer.body


async def test_the_result_of_a_patch_that_cannot_be_decoded_is_shown_with_metadata_in_its_usual_order() -> None:
    async with opened() as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}, "default")
        with pytest.raises(Invalid) as caught:
            await api.patch(CONFIG_MAPS, "a", {"data": {"k": 5}}, "default")
        message = caught.value.status.message
        names = ("apiVersion", "data", "kind", "metadata", "name", "namespace", "uid", "resourceVersion", "labels")
        places = [message.index(f'\\"{name}\\"') for name in names]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"labels": ["x"]}}, "cannot restore map from slice"),
        ({"metadata": {"labels": {"a.b/c": 1}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": ["x"]}}}, "unrecognized type: string"),
        ({"metadata": "x"}, "cannot restore struct from: string"),
        ({"metadata": {"finalizers": "x"}}, "cannot restore slice from string"),
        ({"spec": True}, "cannot restore struct from: bool"),
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": 1}}, "unrecognized type: bool"),
        ({"spec": {"template": {"spec": {"nodeSelector": 5}}}}, "cannot restore map from int64"),
        ({"spec": {"template": {"spec": {"securityContext": 1.5}}}}, "cannot restore struct from: float64"),
        ({"spec": {"template": {"spec": {"containers": {"a": "b"}}}}}, "cannot restore slice from map"),
        (
            {"spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": "x"}}]}}}},
            "cannot restore map from string",
        ),
    ],
)
async def test_a_wrong_type_in_a_strategic_patch_has_the_message_of_kube_apiserver(patch: object, reason: str) -> None:
    async with opened() as api:
        pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": pods}
        await api.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, "default")
        request = APIRequest(
            Verb.PATCH,
            DEPLOYMENTS,
            namespace="default",
            name="d",
            body=json.dumps(patch).encode(),
            content_type=PatchType.STRATEGIC.value,
        )
        with pytest.raises(Invalid, match=f": {reason}$"):
            await api.registry.call(request)


async def test_the_core_group_may_be_an_empty_one_before_the_slash() -> None:
    async with opened() as api:
        document = {"apiVersion": "/v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        created = await api.create(CONFIG_MAPS, document, "default")
        assert created["apiVersion"] == "v1"


async def test_a_value_that_is_given_again_is_no_way_around_the_limit_of_depth() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    text = json.dumps(document | definition(versions=[version]))[:-1] + ',"spec":{"scope":"Namespaced"}}'
    async with opened() as api:
        with pytest.raises(BadRequest, match="nested deeper than 64 levels"):
            await api.registry.call(APIRequest(Verb.CREATE, DEFINITIONS, body=text.encode()))


async def test_the_name_of_a_cluster_is_an_unknown_field_of_the_metadata_of_a_custom_resource() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        body = json.dumps(widget("one", metadata={"name": "one", "clusterName": "a"})).encode()
        response = await api.registry.call(APIRequest(Verb.CREATE, WIDGETS, namespace="default", body=body))
        assert list(response.warnings) == ['unknown field "metadata.clusterName"']
        assert "clusterName" not in json.loads(response.body)["metadata"]


@pytest.mark.parametrize("number", ["1.0", "1e2", "0.0"])
async def test_integers_in_the_metadata_of_a_custom_resource_may_be_whole_floats(number: str) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        body = json.dumps(widget("one", metadata={"name": "one", "generation": 7})).replace("7", number).encode()
        response = await api.registry.call(APIRequest(Verb.CREATE, WIDGETS, namespace="default", body=body))
        assert json.loads(response.body)["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"apiVersion": "v2"}, 'Widget "one" is invalid: apiVersion: Invalid value: "v2": must be test.example.com/v1'),
        ({"apiVersion": "x.y/v1"}, 'Widget.x.y "one" is invalid: apiVersion: Invalid value: "x.y/v1": must be'),
        ({"kind": "X"}, 'X.test.example.com "one" is invalid: kind: Invalid value: "X": must be Widget'),
    ],
)
async def test_a_patch_to_another_kind_is_refused_for_that_kind(patch: dict[str, str], message: str) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one"), "default")
        with pytest.raises(Invalid, match=re.escape(message)):
            await api.patch(WIDGETS, "one", patch, "default")
