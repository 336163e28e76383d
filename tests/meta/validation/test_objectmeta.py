from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import Cause
from pilotage.meta.validation.objectmeta import (
    MAX_ANNOTATIONS,
    field_manager_causes,
    is_minimal,
    object_meta_causes,
    object_meta_update_causes,
)

GOOD: dict[str, Any] = {
    "name": "web",
    "namespace": "default",
    "labels": {"app.kubernetes.io/name": "web", "empty": ""},
    "annotations": {"Example.com/Note": "anything\nat all"},
    "finalizers": ["example.com/cleanup"],
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}],
    "managedFields": [{"operation": "Apply", "fieldsType": "FieldsV1", "manager": "me", "fieldsV1": {}}],
}


def lines(causes: list[Cause]) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in causes]


def with_(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def test_ordinary_metadata_is_fine() -> None:
    assert object_meta_causes(GOOD, namespaced=True) == []


def test_scope_decides_about_the_namespace() -> None:
    assert lines(object_meta_causes(with_(namespace=""), namespaced=True)) == ["metadata.namespace: Required value"]
    assert lines(object_meta_causes(GOOD, namespaced=False)) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]
    assert lines(object_meta_causes(with_(namespace="a.b"), namespaced=True)) == [
        'metadata.namespace: Invalid value: "a.b": must not contain dots'
    ]


def test_a_name_is_required_and_has_the_form_of_its_kind() -> None:
    assert lines(object_meta_causes(with_(name=""), namespaced=True)) == [
        "metadata.name: Required value: name or generateName is required"
    ]
    assert object_meta_causes(with_(name="system:admin"), namespaced=True, name="path") == []
    assert object_meta_causes(with_(name="1web"), namespaced=True, name="dns1035") != []
    found = object_meta_causes(with_(name="Web", generateName="Web-"), namespaced=True)
    assert [cause.field for cause in found] == ["metadata.generateName", "metadata.name"]
    assert object_meta_causes(with_(name="web-x", generateName="web-"), namespaced=True) == []


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("labels", {"a": "-"}, 'metadata.labels: Invalid value: "-": a valid label must be an empty string or consist'),
        ("labels", {"/a": ""}, 'metadata.labels: Invalid value: "/a": prefix part must be non-empty'),
        ("labels", {"a": 1}, "metadata.labels[a]: Invalid value: 1: must be a string"),
        ("labels", [], "metadata.labels: Invalid value: must be an object"),
        ("annotations", {"a": "x" * (256 * 1024)}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ("annotations", {"a": "é" * (128 * 1024)}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ("generation", -1, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        ("finalizers", ["/"], 'metadata.finalizers: Invalid value: "/": prefix part must be non-empty'),
        (
            "finalizers",
            ["orphan", "foregroundDeletion"],
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        ("finalizers", [1], "metadata.finalizers[0]: Invalid value: 1: must be a string"),
        ("name", 5, "metadata.name: Invalid value: 5: must be a string"),
        ("managedFields", [{}], 'metadata.managedFields[0].operation: Invalid value: "": must be `Apply` or `Update`'),
        ("managedFields", [{}] * 1001, "metadata.managedFields: Too many: 1001: must have at most 1000 items"),
        ("managedFields", [1], "metadata.managedFields[0]: Invalid value: 1: must be an object"),
    ],
)
def test_each_problem_has_its_path(field: str, value: Any, line: str) -> None:
    found = lines(object_meta_causes(with_(**{field: value}), namespaced=True))
    assert found[0].startswith(line), found


def test_owner_references_name_all_four_parts() -> None:
    found = object_meta_causes(with_(ownerReferences=[{}]), namespaced=True)
    assert lines(found) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_an_object_has_one_controller_and_no_event_owns_anything() -> None:
    one = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": True}
    found = object_meta_causes(with_(ownerReferences=[one, {**one, "name": "b"}]), namespaced=True)
    assert 'Found "true" in references for Pod/a and Pod/b' in found[0].message
    found = object_meta_causes(with_(ownerReferences=[{**one, "kind": "Event"}]), namespaced=True)
    assert "v1, Kind=Event is disallowed from being an owner" in found[0].message


def test_annotations_of_just_the_limit_are_fine() -> None:
    assert object_meta_causes(with_(annotations={"a": "x" * (256 * 1024 - 1)}), namespaced=True) == []


def test_identity_cannot_change() -> None:
    old = {"name": "a", "namespace": "b", "uid": "1", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 2}
    assert object_meta_update_causes(dict(old), old) == []
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        assert lines(object_meta_update_causes({**old, field: "x"}, old)) == [
            f'metadata.{field}: Invalid value: "x": field is immutable'
        ]
    assert lines(object_meta_update_causes({**old, "generation": 1}, old)) == [
        "metadata.generation: Invalid value: 1: must not be decremented"
    ]


def test_labels_are_checked_on_update_too() -> None:
    assert object_meta_update_causes({"name": "a", "labels": {"a": "-"}}, {"name": "a"}) != []


def test_finalizers_cannot_be_added_to_what_is_being_deleted() -> None:
    old = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["a/b"]}
    assert object_meta_update_causes({**old, "finalizers": []}, old) == []
    assert lines(object_meta_update_causes({**old, "finalizers": ["a/b", "c/d"]}, old)) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"c/d"}'
    ]


def test_a_field_manager_is_short_and_printable() -> None:
    assert field_manager_causes("kubectl-client-side-apply") == []
    assert field_manager_causes("x" * 129)[0].reason == "FieldValueTooLong"
    assert "invalid character U+000A (at position 1)" in field_manager_causes("a\nb")[0].message


MINIMAL: dict[str, Any] = {"name": "a.b", "namespace": "n", "labels": {"x/y": "", "z": "1"}, "annotations": {"k": " "}}
texts = st.sampled_from(["a", "", "A", "a.b", "-", "x/y", "X/y", "a" * 64, "a" * 254, "é", "a\n"])
odd: st.SearchStrategy[Any] = (
    st.none() | st.integers() | texts | st.dictionaries(texts, texts | st.none(), max_size=3) | st.just([])
)


@given(st.dictionaries(st.sampled_from([*MINIMAL, "uid", "generateName", "unknown"]), odd, max_size=3))
def test_minimal_metadata_is_valid_and_has_nothing_empty(changes: dict[str, Any]) -> None:
    metadata = MINIMAL | changes
    if is_minimal(metadata):
        assert object_meta_causes(metadata, namespaced=True) == []
        assert all(metadata.values())
        assert metadata.keys() <= MINIMAL.keys()


def test_the_metadata_of_most_new_objects_is_minimal() -> None:
    assert is_minimal(MINIMAL)
    assert is_minimal({"name": "a"})
    assert not is_minimal(GOOD)
    assert not is_minimal(None)


def test_metadata_with_large_annotations_is_not_plain() -> None:
    assert not is_minimal(MINIMAL | {"annotations": {"k": "x" * MAX_ANNOTATIONS}})
    assert not is_minimal(MINIMAL | {"annotations": {f"k{n:060}": "x" for n in range(MAX_ANNOTATIONS // 60)}})
