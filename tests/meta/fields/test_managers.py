"""Managed fields: entries, their order, their number."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.fields import managers
from pilotage.meta.fields.managers import APPLY, UPDATE, FieldManager, Owned


def entry(manager: str, fields: Any, operation: str = UPDATE, **more: Any) -> dict[str, Any]:
    made = {"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-01-01T00:00:00Z"}
    return made | {"fieldsType": "FieldsV1", "fieldsV1": fields} | more


def test_entries_are_read_and_written_in_order() -> None:
    entries = [
        entry("b", {"f:a": {}}, APPLY),
        entry("c", {"f:b": {}}, subresource="status"),
        entry("a", {"f:c": {}}, time="2026-01-01T00:00:01Z"),
    ]
    found = managers.read(list(reversed(entries)))
    assert list(found) == [
        FieldManager("a", UPDATE, "v1", ""),
        FieldManager("c", UPDATE, "v1", "status"),
        FieldManager("b", APPLY, "", ""),
    ]
    assert managers.write(found) == entries


def test_an_apply_is_the_same_manager_at_every_version() -> None:
    assert FieldManager.of("a", APPLY, "v1") == FieldManager.of("a", APPLY, "v2")
    assert FieldManager.of("a", UPDATE, "v1") != FieldManager.of("a", UPDATE, "v2")


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "Merge"},
        {"apiVersion": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsType": ""},
        {"fieldsV1": {"x": {}}},
    ],
    ids=str,
)
def test_one_malformed_entry_spoils_all(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        managers.read([entry("a", {"f:a": {}}), entry("b", {"f:b": {}}) | change])


def test_an_empty_list_and_an_empty_entry_are_a_reset() -> None:
    assert managers.is_reset([])
    assert managers.is_reset([{}])
    assert not managers.is_reset(None)
    assert not managers.is_reset([{}, {}])
    assert not managers.is_reset([entry("a", {})])


def test_of_more_than_ten_updates_the_oldest_are_merged_for_each_version() -> None:
    found = {
        FieldManager(f"m{number:02}", UPDATE, version, ""): Owned(
            {f"f:{version}-{number}": {}}, version, f"2026-01-01T00:00:{number:02}Z"
        )
        for number in range(7)
        for version in ("v1", "v2")
    }
    found[FieldManager("applier", APPLY, "", "")] = Owned({"f:x": {}}, "v1", "")
    kept = managers.capped(found)
    assert sum(manager.operation == UPDATE for manager in kept) == 10
    ancient = kept[FieldManager("ancient-changes", UPDATE, "v1", "")]
    assert ancient == Owned({"f:v1-0": {}, "f:v1-1": {}, "f:v1-2": {}}, "v1", "2026-01-01T00:00:02Z")
    assert managers.union_of(kept.values()).keys() == managers.union_of(found.values()).keys()
    again = managers.capped(
        kept | {FieldManager("z", UPDATE, "v1", ""): Owned({"f:z": {}}, "v1", "2026-01-01T00:01:00Z")}
    )
    assert sum(manager.operation == UPDATE for manager in again) == 10


def test_a_program_is_named_by_the_first_part_of_its_user_agent() -> None:
    assert managers.name_of_user_agent("kubectl/v1.36 (linux)") == "kubectl"
    assert managers.name_of_user_agent("a\tb/1") == "ab"
    assert managers.name_of_user_agent("é" * 100) == "é" * 64
    assert managers.name_of_user_agent("") == ""
