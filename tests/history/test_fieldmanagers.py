"""Paths of fields, and which client owns or wrote them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import UNSET

from pilotage.history.fieldmanagers import FieldWriter, owner_of_finalizer, owners, writer_of
from pilotage.history.fieldpaths import segments, touches, value_at


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.text", ("data", "text")),
        (".spec.size", ("spec", "size")),
        ("{.spec.size}", ("spec", "size")),
        ("spec.containers[main].image", ("spec", "containers", "main", "image")),
        ("spec.args[0]", ("spec", "args", "0")),
        ("metadata.labels['a.b/c']", ("metadata", "labels", "a.b/c")),
        ('metadata.labels["a.b/c"].x', ("metadata", "labels", "a.b/c", "x")),
        (r"metadata.labels.a\.b/c", ("metadata", "labels", "a.b/c")),
        ("", ()),
        ("." * 100_000, ()),
        ("a" + ".a" * 100_000, ("a",) * 100),
    ],
)
def test_a_path_has_the_names_keys_and_indexes_that_people_write(path: str, found: tuple[str, ...]) -> None:
    assert segments(path) == found


def test_a_change_touches_the_fields_above_and_below_it() -> None:
    assert touches(("spec", "size"), ("spec",))
    assert touches(("spec",), ("spec", "size"))
    assert not touches(("spec", "size"), ("spec", "name"))


def test_the_value_at_a_path_may_be_in_an_item_of_a_list() -> None:
    document = {"spec": {"containers": [{"name": "side"}, {"name": "main", "image": "a"}], "args": ["x"]}}
    assert value_at(document, segments("spec.containers[main].image")) == "a"
    assert value_at(document, segments("spec.containers[0].name")) == "side"
    assert value_at(document, segments("spec.args[x]")) == "x"
    assert value_at(document, segments("spec.args[9].none")) is UNSET


def entry(manager: str, fields: Any, time: str = "2026-01-01T10:00:00Z", **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields, **more}


def document(*entries: Any) -> dict[str, Any]:
    return {"metadata": {"managedFields": [*entries]}}


TEXT = entry("operator", {"f:data": {".": {}, "f:text": {}}})
ATOMIC = entry("applier", {"f:data": {}}, "2026-01-01T11:00:00Z", operation="Apply", subresource="status")
ITEM = entry("sidecar", {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}}}}})
SET = entry("cleaner", {"f:metadata": {"f:finalizers": {".": {}, 'v:"example.com/cleanup"': {}}}})


def test_the_owners_of_a_field_are_found_the_latest_first() -> None:
    found = owners(document(TEXT, ATOMIC, ITEM), "data.text")
    assert [each.name for each in found] == ["applier", "operator"]
    assert found[0] == FieldWriter("applier", "Apply", "status", datetime(2026, 1, 1, 11, tzinfo=UTC))
    assert [each.name for each in owners(document(TEXT, ITEM), "data.other")] == []
    assert [each.name for each in owners(document(TEXT, ITEM), "data")] == ["operator"]


def test_the_owner_of_a_field_of_an_item_is_found_by_its_key() -> None:
    assert [each.name for each in owners(document(ITEM), "spec.containers[main].image")] == ["sidecar"]
    assert owners(document(ITEM), "spec.containers[other].image") == ()


def test_the_client_that_set_a_finalizer_is_found() -> None:
    assert owner_of_finalizer(document(TEXT, SET), "example.com/cleanup") == "cleaner"
    assert owner_of_finalizer(document(TEXT, SET), "example.com/other") == ""


def test_the_writer_of_a_change_is_the_one_whose_entry_is_different() -> None:
    later = entry("kubectl-edit", {"f:data": {"f:text": {}}}, "2026-01-01T12:00:00Z")
    assert writer_of(document(TEXT, ITEM), document(TEXT, ITEM, later)) == FieldWriter(
        "kubectl-edit", "Update", "", datetime(2026, 1, 1, 12, tzinfo=UTC)
    )
    same_second = writer_of(document(TEXT), document(TEXT))
    assert same_second is not None
    assert same_second.name == "operator"
    assert writer_of(document(TEXT, ITEM), document(TEXT, ITEM)) is None
    assert writer_of(None, {}) is None


@pytest.mark.parametrize(
    "hostile",
    [
        {"metadata": None},
        {"metadata": {"managedFields": "none"}},
        document(None, 3, "x"),
        document(entry("a", "no fields"), entry("b", {"f:data": "x", "k:{": {}, "v:": {}, 'k:{"a":[]}': {}})),
        document(entry("a", {"f:metadata": []}, "yesterday")),
    ],
)
def test_malformed_managed_fields_own_nothing(hostile: dict[str, Any]) -> None:
    assert owners(hostile, "spec.size") == ()
    assert owner_of_finalizer(hostile, "x") == ""
    writer_of({}, hostile)  # does not fail
