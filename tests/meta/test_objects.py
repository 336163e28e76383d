from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from pilotage.errors import DecodeError, UnplacedItems
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.markers import ListType
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured
from pilotage.types.core.v1 import ConfigMap


class Part(Model):
    name: str


class Port(Model):
    number: int
    protocol: str | None = None


class WidgetSpec(Model):
    size: int
    tags: list[str]
    colour: str = "red"
    parts: list[Part] = []
    ports: Annotated[list[Port], ListType("map", "number", "protocol")] = []
    limit: int | None = 5
    by_name: dict[str, Part] = {}


@resource(group="demo.pilotage.dev", version="v1")
class Widget(Resource):
    spec: WidgetSpec


def document(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "default"}
    return {
        "apiVersion": "demo.pilotage.dev/v1",
        "kind": "Widget",
        "metadata": metadata,
        "spec": {"size": 1, "tags": [], "colour": "red", "limit": 5} | spec,
    }


def read(content: dict[str, Any]) -> Widget:
    return objects.decode(Widget, json.dumps(content).encode())


def written(obj: Widget) -> Any:
    return json.loads(objects.updated(obj))


def test_an_object_remembers_what_it_was_read_from() -> None:
    data = json.dumps(document()).encode()
    assert objects.origin_of(objects.decode(Widget, data)) is data


def test_a_slice_of_a_list_is_copied_so_that_the_list_can_go() -> None:
    data = json.dumps(document()).encode()
    origin = objects.origin_of(objects.decode(Widget, memoryview(b"[" + data + b"]")[1:-1]))
    assert type(origin) is bytes
    assert origin == data


def test_memory_of_the_origin_is_no_part_of_equality_or_repr() -> None:
    one, other = read(document()), read(document() | {"unknown": 1})
    assert one == other
    assert repr(one) == repr(other)


def test_encode_puts_api_version_and_kind_first_and_metadata_third() -> None:
    data = objects.encode(Widget(spec=WidgetSpec(size=1, tags=[])))
    assert list(json.loads(data)) == ["apiVersion", "kind", "metadata", "spec"]
    assert data.startswith(b'{"apiVersion":"demo.pilotage.dev/v1","kind":"Widget","metadata":{},')


def test_encode_undoes_decode_for_what_the_class_knows() -> None:
    obj = read(document(parts=[{"name": "a"}]))
    assert objects.decode(Widget, objects.encode(obj)) == obj
    assert json.loads(objects.encode(obj)) == objects.document_of(obj) == document(parts=[{"name": "a"}])


def test_a_required_list_that_is_absent_reads_as_empty() -> None:
    content = document()
    del content["spec"]["tags"]
    obj = read(content)
    assert obj.spec.tags == []
    assert written(obj) == content


def test_null_reads_as_absent_where_it_is_no_value_and_stays_in_the_document() -> None:
    content = document(parts=None, tags=None, colour=None, limit=None) | {"metadata": {"name": "one", "labels": None}}
    obj = read(content)
    assert (obj.spec.parts, obj.spec.tags, obj.spec.colour, obj.metadata.labels) == ([], [], "red", {})
    assert obj.spec.limit is None, "null is a value of this field, and not its default"
    assert written(obj) == content


def test_nulls_inside_items_read_as_absent_too() -> None:
    obj = read(
        document(ports=[{"number": 1.0, "protocol": None}], byName={"a": {"name": "a", "extra": None}}, tags=None)
    )
    assert obj.spec.ports == [Port(number=1)]
    assert obj.spec.by_name == {"a": Part(name="a")}


@pytest.mark.parametrize(
    ("data", "words", "path"),
    [
        (
            json.dumps(document(size="big")),
            ["Widget default/one", "Expected `int`, got `str`", ".spec.size", "fix the object"],
            ".spec.size",
        ),
        (json.dumps(document(parts=[{}])), ["default/one", "missing required field `name`"], ".spec.parts[0]"),
        ('{"kind": "Widget"}', ["Widget cannot be read", "missing required field `spec`"], ""),
        ("[]", ["must be a JSON object"], ""),
        ('{"spec": ', ["truncated"], ""),
        ("", ["truncated"], ""),
        ('{"a": NaN}', ["invalid character"], ""),
        ('{"spec":' * 100_000, ["nested too deeply"], ""),
    ],
)
def test_what_cannot_be_read_is_named(data: str, words: list[str], path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        objects.decode(Widget, data.encode())
    assert caught.value.path == path
    for word in words:
        assert word in str(caught.value)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(DecodeError):
        objects.decode(Widget, b'{"metadata": {"name": "\xff"}, "spec": {"size": 1, "tags": []}}')


def test_the_contract_with_a_type_that_knows_only_a_part() -> None:
    parts = [{"name": "a", "weight": 3}, {"name": "b", "weight": 5}, {"name": "c", "weight": 7}]
    obj = read(document(parts=parts, shape="round"))
    obj.spec.size = 2
    del obj.spec.parts[0]
    obj.spec.parts.append(Part(name="d"))
    assert written(obj) == document(size=2, shape="round", parts=[parts[1], parts[2], {"name": "d"}])


def test_an_item_of_a_list_is_written_with_api_version_and_kind() -> None:
    content = document()
    whole = dict(content)
    del content["apiVersion"], content["kind"]
    data = objects.updated(read(content))
    assert json.loads(data) == whole
    assert data.startswith(b'{"apiVersion":"demo.pilotage.dev/v1","kind":"Widget","metadata":')


def test_an_object_made_from_parts_is_written_as_it_stands_or_over_the_origin_it_is_given() -> None:
    obj = Widget(metadata=ObjectMeta(name="one", namespace="default"), spec=WidgetSpec(size=2, tags=[]))
    assert objects.updated(obj) == objects.encode(obj)
    origin = json.dumps(document(shape="round")).encode()
    assert json.loads(objects.updated(obj, origin)) == document(size=2, shape="round")
    assert written(objects.with_origin(obj, origin)) == document(size=2, shape="round")


def test_removed_fields_are_removed_and_defaults_that_were_absent_stay_absent() -> None:
    content = document(byName={"a": {"name": "a", "x": 1}, "b": {"name": "b"}}, parts=[{"name": "a"}])
    del content["spec"]["colour"]
    obj = read(content)
    del obj.spec.by_name["b"]
    obj.spec.parts.clear()
    del content["spec"]["byName"]["b"], content["spec"]["parts"]
    assert written(obj) == content


def test_keyed_items_are_found_again_wherever_they_go() -> None:
    ports = [{"number": 1, "protocol": "TCP", "x": 1}, {"number": 1, "protocol": "UDP", "x": 2}]
    obj = read(document(ports=ports))
    obj.spec.ports = [Port(number=2, protocol="TCP"), obj.spec.ports[1], obj.spec.ports[0]]
    assert written(obj) == document(ports=[{"number": 2, "protocol": "TCP"}, ports[1], ports[0]])


def test_unknown_fields_that_cannot_be_placed_fail_the_write_and_say_what_to_do() -> None:
    obj = read(document(parts=[{"name": "a", "weight": 1}, {"name": "b"}]))
    obj.spec.parts = [Part(name="x"), Part(name="y"), Part(name="z")]
    with pytest.raises(UnplacedItems, match="ListType") as caught:
        objects.updated(obj)
    assert caught.value.path == ".spec.parts"


def test_a_copy_is_deep_and_remembers_the_origin() -> None:
    obj = read(document(tags=["a"], shape="round"))
    twin = objects.copy_of(obj)
    twin.spec.tags.append("b")
    assert obj.spec.tags == ["a"]
    assert written(twin) == document(tags=["a", "b"], shape="round")
    unstructured = objects.copy_of(Unstructured(document()))
    assert unstructured == document()


def test_documents_of_objects_without_a_class() -> None:
    content = document()
    assert objects.document_of(Unstructured(content)) == content
    assert json.loads(objects.encode(Unstructured(content))) == content
    assert json.loads(objects.updated(Unstructured(content))) == content
    gvk = GroupVersionKind("demo.pilotage.dev", "v1", "Widget")
    partial = PartialObjectMetadata(gvk, ObjectMeta(name="one", namespace="default"))
    del content["spec"]
    assert objects.document_of(partial) == content


def test_the_header_is_read_without_the_rest() -> None:
    metadata = {
        "name": "one",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2024-01-02T03:04:05Z",
        "labels": {"a": "b"},
        "annotations": None,
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "x"}],
        "finalizers": ["f"],
        "managedFields": "whatever",
    }
    header = objects.header(json.dumps({"spec": [], "metadata": metadata}).encode())
    assert (header.name, header.namespace, header.uid, header.resource_version) == ("one", "default", "u", "7")
    assert (header.generation, header.labels, header.annotations, header.finalizers) == (2, {"a": "b"}, {}, ["f"])
    assert header.creation_timestamp == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert header.deletion_timestamp is None
    assert header.owner_references[0].uid == "x"


@pytest.mark.parametrize("data", ["{}", '{"metadata": null}', '{"metadata": {}, "spec": {"a": [1, {}]}}'])
def test_the_header_of_an_object_without_metadata_is_empty(data: str) -> None:
    assert objects.header(data.encode()) == objects.Header()


def test_the_header_of_broken_metadata_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"the metadata of an object .*Expected `str`, got `int`"):
        objects.header(b'{"metadata": {"name": 1}}')


def test_a_plain_copy_forgets_the_origin_and_is_written_as_it_stands() -> None:
    assert objects.origin_of(copy.deepcopy(read(document()))) is None
    assert objects.origin_of(Unstructured()) is None


MANAGED = (
    b'[{"manager":"me","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z",'
    b'"fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:a":{}}}}]'
)
WITH_MANAGED = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":%b},"data":{"a":"b"}}'


def test_the_fields_of_a_manager_are_decoded_when_they_are_read() -> None:
    entry = objects.decode(ConfigMap, WITH_MANAGED % MANAGED).metadata.managed_fields[0]
    assert entry.fields_v1 == {"f:data": {".": {}, "f:a": {}}}
    assert "'f:a': {}" in repr(entry)
    entry.fields_v1 = {"f:data": {}}
    assert entry.fields_v1 == {"f:data": {}}
    entry.fields_v1 = None
    assert entry.fields_v1 is None
    assert b"fieldsV1" not in objects.encode(ConfigMap(metadata=ObjectMeta(name="a", managed_fields=[entry])))


def test_the_fields_of_a_manager_are_read_from_a_document_and_a_tolerant_reading_too() -> None:
    with_null = WITH_MANAGED.replace(b'"name":"a"', b'"name":"a","labels":null') % MANAGED
    entry = objects.decode(ConfigMap, with_null).metadata.managed_fields[0]
    document = msgspec.json.decode(WITH_MANAGED % MANAGED)
    assert entry == objects.metadata_of(document["metadata"]).managed_fields[0]
    assert entry.fields_v1 == document["metadata"]["managedFields"][0]["fieldsV1"]


def test_an_update_leaves_out_managed_fields_that_were_not_changed() -> None:
    obj = objects.decode(ConfigMap, WITH_MANAGED % MANAGED)
    obj.data["a"] = "c"
    assert msgspec.json.decode(objects.updated(obj)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"a": "c"},
    }
    assert obj.metadata.managed_fields


def test_an_update_writes_managed_fields_that_were_changed_or_removed() -> None:
    obj = objects.decode(ConfigMap, WITH_MANAGED % MANAGED)
    obj.metadata.managed_fields[0].manager = "you"
    assert msgspec.json.decode(objects.updated(obj))["metadata"]["managedFields"][0]["manager"] == "you"
    obj.metadata.managed_fields = []
    assert "managedFields" not in msgspec.json.decode(objects.updated(obj))["metadata"]


def test_an_update_keeps_the_managed_fields_of_an_object_inside_another() -> None:
    inner = b'{"apiVersion":"v1","kind":"ConfigMap","inner":{"managedFields":%b},"metadata":{"name":"a"%b}}'
    for own in (b"", b',"managedFields":' + MANAGED):
        obj = objects.decode(ConfigMap, inner % (MANAGED, own))
        obj.data["a"] = "c"
        assert msgspec.json.decode(objects.updated(obj))["inner"] == {"managedFields": msgspec.json.decode(MANAGED)}
