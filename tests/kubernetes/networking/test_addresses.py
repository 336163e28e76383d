from __future__ import annotations

from typing import Any

import pytest

from ..writes import NOW, created, fields, status_written, strategy_of, updated

ADDRESSES = strategy_of("ipaddresses.networking.k8s.io")
RANGES = strategy_of("servicecidrs.networking.k8s.io")
PARENT = {"resource": "services", "namespace": "default", "name": "a"}


@pytest.mark.parametrize(
    ("name", "valid"),
    [("10.0.0.9", True), ("fd00::1", True), ("FD00::1", False), ("10.0.0.09", False), ("::ffff:1.2.3.4", False)],
)
def test_the_name_of_an_address_is_the_address_in_its_one_spelling(name: str, valid: bool) -> None:
    _, causes = created(ADDRESSES, metadata={"name": name}, spec={"parentRef": PARENT})
    assert fields(causes) == ([] if valid else ["metadata.name"])


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        (None, ["spec.parentRef"]),
        ({}, ["spec.parentRef.resource", "spec.parentRef.name"]),
        (PARENT | {"group": "Bad"}, ["spec.parentRef.group"]),
        (PARENT | {"namespace": "a/b"}, ["spec.parentRef.namespace"]),
    ],
)
def test_an_address_belongs_to_an_object(parent: dict[str, Any] | None, expected: list[str]) -> None:
    _, causes = created(ADDRESSES, metadata={"name": "10.0.0.9"}, spec={"parentRef": parent})
    assert fields(causes) == expected


def test_an_address_keeps_its_owner() -> None:
    old, _ = created(ADDRESSES, metadata={"name": "10.0.0.9"}, spec={"parentRef": PARENT})
    assert fields(updated(ADDRESSES, old)[1]) == []
    assert fields(updated(ADDRESSES, old, spec={"parentRef": PARENT | {"name": "b"}})[1]) == ["spec.parentRef"]


@pytest.mark.parametrize(
    ("cidrs", "expected"),
    [
        (["10.1.0.0/16"], []),
        (["fd00::/112", "10.1.0.0/16"], []),
        ([], ["spec.cidrs"]),
        (["10.1.0.1/16"], ["spec.cidrs[0]"]),
        (["FD00::/112"], ["spec.cidrs[0]"]),
        (["10.1.0.0/16", "10.2.0.0/16"], ["spec.cidrs"]),
        (["a", "b", "c"], ["spec.cidrs"]),
    ],
)
def test_ranges_are_one_of_each_family(cidrs: list[str], expected: list[str]) -> None:
    assert fields(created(RANGES, spec={"cidrs": cidrs})[1]) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["10.1.0.0/16"], ["10.1.0.0/16", "fd00::/112"], []),
        (["10.1.0.0/16"], ["10.2.0.0/16", "fd00::/112"], ["spec.cidrs[0]"]),
        (["10.1.0.0/16"], ["10.2.0.0/16"], ["spec.cidrs[0]"]),
        (["10.1.0.0/16", "fd00::/112"], ["10.1.0.0/16"], ["spec.cidrs"]),
    ],
)
def test_a_second_family_can_be_added_and_nothing_else_changes(
    old: list[str], new: list[str], expected: list[str]
) -> None:
    before, _ = created(RANGES, spec={"cidrs": old})
    assert fields(updated(RANGES, before, spec={"cidrs": new})[1]) == expected


def test_the_metadata_of_a_range_is_not_written_through_its_status() -> None:
    old, _ = created(
        RANGES, metadata={"name": "a", "labels": {"a": "b"}, "creationTimestamp": NOW}, spec={"cidrs": ["10.1.0.0/16"]}
    )
    document, _ = status_written(RANGES, old, metadata=old["metadata"] | {"labels": {"a": "c"}})
    assert document["metadata"]["labels"] == {"a": "b"}
