from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, strategy_of, updated

CAPACITIES = strategy_of("csistoragecapacities.storage.k8s.io")
CLASSES = strategy_of("volumeattributesclasses.storage.k8s.io")
CAPACITY: dict[str, Any] = {"storageClassName": "s", "nodeTopology": {"matchLabels": {"a": "b"}}, "capacity": "1Gi"}
CLASS: dict[str, Any] = {"driverName": "d.example.com", "parameters": {"a": "b"}}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, []),
        ({"capacity": "-1"}, ["capacity"]),
        ({"storageClassName": "S"}, ["storageClassName"]),
        ({"nodeTopology": {"matchLabels": {"a": "x y"}}}, ["nodeTopology.matchLabels"]),
    ],
)
def test_a_capacity_is_of_a_class_and_a_topology(content: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(CAPACITIES, **CAPACITY | content)[1]) == expected


def test_only_the_amounts_of_a_capacity_change() -> None:
    old, _ = created(CAPACITIES, **CAPACITY)
    assert fields(updated(CAPACITIES, old, capacity="2Gi")[1]) == []
    changed = {"storageClassName": "t", "nodeTopology": {"matchLabels": {"a": "c"}}}
    assert fields(updated(CAPACITIES, old, **changed)[1]) == ["nodeTopology", "storageClassName"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, []),
        ({"driverName": ""}, ["driverName"]),
        ({"driverName": "a b"}, ["driverName"]),
        ({"parameters": {}}, ["parameters"]),
        ({"parameters": {"": "a"}}, ["parameters"]),
    ],
)
def test_a_class_of_attributes_has_a_driver_and_parameters(content: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(CLASSES, **CLASS | content)[1]) == expected


def test_a_class_of_attributes_cannot_change() -> None:
    old, _ = created(CLASSES, **CLASS)
    changed = {"driverName": "e.example.com", "parameters": {"a": "c"}}
    assert fields(updated(CLASSES, old, **changed)[1]) == ["driverName", "parameters"]
