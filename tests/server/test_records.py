from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.server import records
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Entry

from .registries import definition

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=10),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=8,
)
DOCUMENT = st.fixed_dictionaries({"metadata": st.dictionaries(st.text(max_size=8), JSON, max_size=4), "spec": JSON})


def stored(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "uid": "u"}} | more


@given(DOCUMENT, st.integers(1, 2**60))
def test_stamping_is_setting_the_version(document: dict[str, Any], revision: int) -> None:
    document = {"kind": "K", "apiVersion": "v1"} | document
    document["metadata"]["uid"] = "u"  # nothing is stored without one
    stamped = records.decode(records.stamp(records.encode(document), revision))
    assert stamped["metadata"].pop("resourceVersion") == str(revision)
    document["metadata"].pop("resourceVersion", None)
    assert stamped == document


def test_a_label_that_looks_like_metadata_is_not_taken_for_it() -> None:
    document = stored(data={"x": '"metadata":{'}) | {"kind": 'A"metadata":{'}
    stamped = records.decode(records.stamp(records.encode(document), 7))
    assert stamped["metadata"]["resourceVersion"] == "7"
    assert stamped["data"] == document["data"]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (stored(), False),
        (stored(metadata={"name": "a", "deletionTimestamp": "2024-01-01T00:00:00Z"}), True),
        (stored(data={"deletionTimestamp": "x"}), False),
        (stored(metadata={"name": "a", "labels": {"deletionTimestamp": "x"}}), False),
    ],
)
def test_only_the_mark_in_the_metadata_counts(document: dict[str, Any], expected: bool) -> None:
    assert records.terminating(records.encode(document)) is expected


def test_metadata_alone_is_copied_as_it_stands() -> None:
    data = records.stamp(records.encode(stored(data={"a": "b"})), 3)
    alone = json.loads(records.metadata_only(data))
    assert alone == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "one", "uid": "u", "resourceVersion": "3"},
    }


def versions() -> dict[str, ResourceInfo]:
    """v1, which is stored, and v2, each with a field and a default of its own."""

    def version(name: str, field: str, *, storage: bool) -> dict[str, Any]:
        spec = {
            "type": "object",
            "properties": {"size": {"type": "integer"}, field: {"type": "string", "default": "x"}},
        }
        schema = {"type": "object", "properties": {"spec": spec}}
        return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}

    document = definition(versions=[version("v2", "new", storage=False), version("v1", "old", storage=True)])
    document["status"] = {
        "acceptedNames": document["spec"]["names"],
        "conditions": [{"type": "Established", "status": "True"}],
    }
    return {info.gvr.version: info for info in resources_of(document, "/key", 10)}


def entry(api_version: str, spec: dict[str, Any], revision: int) -> Entry:
    document = {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}
    return Entry("/k", records.encode(document), revision, revision)


def test_what_was_written_under_todays_schema_is_not_even_decoded() -> None:
    one = entry("test.example.com/v1", {"anything": 1}, 11)
    assert json.loads(records.as_read(one, versions()["v1"]))["spec"] == {"anything": 1}


def test_what_was_written_under_an_older_schema_is_pruned_and_defaulted() -> None:
    one = entry("test.example.com/v1", {"size": 1, "gone": 1}, 9)
    assert json.loads(records.as_read(one, versions()["v1"]))["spec"] == {"size": 1, "old": "x"}


def test_another_version_is_fitted_to_its_own_schema_then_pruned_by_the_wanted_one() -> None:
    one = entry("test.example.com/v1", {"size": 1, "old": "y"}, 11)
    seen = json.loads(records.as_read(one, versions()["v2"]))
    assert seen["apiVersion"] == "test.example.com/v2"
    assert seen["spec"] == {"size": 1}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("oldest", [9, 11])
def test_a_list_shows_each_entry_as_a_get_does(version: str, oldest: int) -> None:
    info = versions()[version]
    entries = [entry("test.example.com/v1", {"size": size}, oldest + size) for size in range(3)]
    shown, expected = records.all_as_read(entries, info), [records.as_read(each, info) for each in entries]
    assert shown == records.all_as_read(entries, info) == expected
    assert [shown[index] for index in range(len(shown))] == expected
    assert [*shown[1:]] == expected[1:]


def test_a_list_of_current_objects_copies_no_bytes_before_they_are_read() -> None:
    entries = [entry("test.example.com/v1", {"text": "x" * 100_000}, 11) for _ in range(10)]
    tracemalloc.start()
    try:
        shown = records.all_as_read(entries, versions()["v1"])
        held, _ = tracemalloc.get_traced_memory()
        size = len(shown[0])
    finally:
        tracemalloc.stop()
    assert held < size


def test_stored_bytes_take_no_more_memory_than_they_need() -> None:
    document = stored(data={"text": "x" * 3000})
    tracemalloc.start()
    try:
        values = [records.encode(document) for _ in range(50)]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.1 * sum(map(len, values))


def test_a_write_is_stored_in_the_storage_version() -> None:
    document = {"apiVersion": "test.example.com/v2", "kind": "Widget", "metadata": {"name": "a"}}
    document |= {"spec": {"size": 1, "new": "z"}}
    kept = records.storable(document, versions()["v2"])
    assert kept["apiVersion"] == "test.example.com/v1"
    assert kept["spec"] == {"size": 1, "old": "x"}
    assert document["spec"] == {"size": 1, "new": "z"}, "the caller's own document is left alone"


def test_a_field_set_that_many_objects_share_is_stored_as_any_other() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:size": {}, 'k:{"name":"é"}': {".": {}}}}
    entries = [{"manager": "a", "operation": "Update", "fieldsV1": fields}]
    document = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "managedFields": entries}}
    before = records.encode(document)
    records.share_fields(fields)
    assert records.encode(document) == before
    assert entries[0]["fieldsV1"] is fields, "the document is left alone"
    changed = [entries[0] | {"fieldsV1": {"f:spec": {}}}]
    assert json.loads(records.encode(document | {"metadata": {"managedFields": changed}}))["metadata"] == {
        "managedFields": changed
    }


def test_a_limited_number_of_shared_field_sets_is_remembered() -> None:
    for number in range(3000):
        records.share_fields({f"f:{number}": {}})
    assert len(records._shared) <= records._MAX_SHARED
