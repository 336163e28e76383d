from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.documents import Document, copied

from ..writes import created, fields, strategy_of, updated

STRATEGY = strategy_of("resourceslices.resource.k8s.io")
SPEC: dict[str, Any] = {
    "driver": "d.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "nodeName": "n",
}
DEVICE: dict[str, Any] = {
    "name": "d",
    "attributes": {"model": {"string": "a"}, "example.com/driver": {"version": "1.2.3-rc.1+b"}},
    "capacity": {"memory": {"value": "1Gi"}},
}
COUNTERS = {"memory": {"value": "1Gi"}}


def causes_of(**change: Any) -> list[str]:
    spec = {key: value for key, value in (SPEC | change).items() if value is not None}
    return [field.removeprefix("spec.") for field in fields(created(STRATEGY, spec=spec)[1])]


def causes_of_device(**change: Any) -> list[str]:
    return [field.removeprefix("devices[0].") for field in causes_of(devices=[DEVICE | change])]


def shared(value: str, **policy: Any) -> list[str]:
    capacity = {"memory": {"value": value, "requestPolicy": policy}}
    found = causes_of_device(allowMultipleAllocations=True, capacity=capacity)
    return [field.removeprefix("capacity[memory].requestPolicy.") for field in found]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"driver": ""}, ["driver"]),
        ({"pool": {"name": "a//b", "generation": -1}}, ["pool.name", "pool.resourceSliceCount", "pool.generation"]),
        ({"nodeName": None}, ["spec"]),
        ({"nodeName": ""}, ["nodeName", "spec"]),
        ({"allNodes": True}, ["spec"]),
        ({"allNodes": False}, ["allNodes"]),
        ({"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [{}, {}]}}, ["nodeSelector.nodeSelectorTerms"]),
        ({"devices": [DEVICE, DEVICE]}, ["devices[1]"]),
        ({"devices": [DEVICE | {"name": f"d{i}"} for i in range(129)]}, ["devices"]),
        ({"devices": [DEVICE], "sharedCounters": [{"name": "c", "counters": COUNTERS}]}, ["spec"]),
        ({"sharedCounters": [{}]}, ["sharedCounters[0].name", "sharedCounters[0].counters"]),
        ({"sharedCounters": [{"name": "c", "counters": {"M": {}}}]}, ["sharedCounters[0].counters"]),
    ],
)
def test_rules_over_a_slice(change: dict[str, Any], expected: list[str]) -> None:
    assert causes_of(**change) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"name": "a.b"}, ["name"]),
        ({"attributes": {"a b": {"int": 0}}}, ["attributes"]),
        ({"attributes": {"/a": {"bool": False}}}, ["attributes"]),
        ({"attributes": {"a": {}}}, ["attributes[a]"]),
        ({"attributes": {"a": {"int": 1, "bool": True}}}, ["attributes[a]"]),
        ({"attributes": {"a": {"version": "1.2"}}}, ["attributes[a].version"]),
        ({"attributes": {"a": {"string": "a" * 65}}}, ["attributes[a].string"]),
        ({"capacity": {"memory": {"value": "1", "requestPolicy": {}}}}, ["capacity[memory].requestPolicy"]),
        ({"taints": [{"key": "a b"}]}, ["taints[0].key", "taints[0].effect"]),
        ({"taints": [{"key": "a", "value": "b c", "effect": "Evict"}]}, ["taints[0].value", "taints[0].effect"]),
        ({"taints": [{"key": "a", "effect": "None"}] * 17}, ["taints"]),
        ({"consumesCounters": [{}]}, ["consumesCounters[0].counterSet", "consumesCounters[0].counters"]),
        ({"consumesCounters": [{"counterSet": "c", "counters": COUNTERS}] * 2}, ["consumesCounters[1]"]),
        ({"bindingConditions": ["a"]}, ["bindingFailureConditions"]),
    ],
)
def test_rules_over_a_device(change: dict[str, Any], expected: list[str]) -> None:
    assert causes_of_device(**change) == expected


def test_devices_have_limits() -> None:
    attributes = {f"a{index}": {"int": index} for index in range(33)}
    assert causes_of(devices=[{"name": "d", "attributes": attributes}]) == ["devices[0]"]
    tainted = [{"name": f"d{index}", "taints": [{"key": "a", "effect": "None"}]} for index in range(65)]
    assert causes_of(devices=tainted) == ["devices"]
    long = "a" * 120
    (cause, _) = created(
        STRATEGY, spec=SPEC | {"devices": [{"name": "d", "attributes": {long: {"string": "b" * 65}}}]}
    )[1]
    assert cause.field == "spec.devices[0].attributes"


def test_a_device_names_its_node_if_the_slice_has_per_device_selection() -> None:
    by_device = {"nodeName": None, "perDeviceNodeSelection": True}
    assert causes_of(**by_device, devices=[DEVICE | {"nodeName": "n"}]) == []
    assert causes_of(**by_device, devices=[DEVICE]) == ["devices[0]"]
    assert causes_of(**by_device, devices=[DEVICE | {"nodeName": "n", "allNodes": True}]) == ["devices[0]"]
    assert causes_of(**by_device, devices=[DEVICE | {"allNodes": False}]) == ["devices[0].allNodes", "devices[0]"]
    assert causes_of(devices=[DEVICE | {"allNodes": True}]) == ["devices[0]"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, []),
        ({"validValues": ["1Gi"]}, ["default"]),
        ({"default": "3Gi", "validValues": ["1Gi"]}, ["validValues"]),
        ({"default": "1Gi", "validValues": ["2Gi", "1Gi"]}, ["validValues[1]"]),
        ({"default": "1Gi", "validValues": ["1Gi", "1Gi", "20Gi"]}, ["validValues[2]", "validValues[1]"]),
        ({"default": "1", "validValues": [str(i) for i in range(11)]}, ["validValues", "validValues"]),
        ({"default": "1Gi", "validRange": {}}, ["validRange.min"]),
        ({"default": "5Gi", "validRange": {"min": "3Gi", "max": "2Gi"}}, ["validRange.max", "validRange.max"]),
        ({"default": "2Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}}, []),
        ({"default": "2Gi", "validRange": {"min": "1Gi", "step": "2Gi"}}, ["validRange.step"]),
        ({"default": "2Gi", "validRange": {"min": "1Gi", "step": "0"}}, ["validRange.step"]),
    ],
)
def test_a_policy_for_requests_fits_the_capacity(policy: dict[str, Any], expected: list[str]) -> None:
    assert shared("10Gi", **policy) == expected


def slice_with(device: Document) -> Document:
    document, causes = created(STRATEGY, spec=SPEC | {"devices": [device]})
    assert not causes
    return document


def test_driver_pool_and_node_cannot_change() -> None:
    old = slice_with(DEVICE)
    changed = {"driver": "e.example.com", "pool": SPEC["pool"] | {"name": "q"}, "nodeName": "m"}
    assert fields(updated(STRATEGY, old, spec=old["spec"] | changed)[1]) == [
        "spec.pool.name",
        "spec.driver",
        "spec.nodeName",
    ]


def test_taints_have_the_time_when_they_were_added() -> None:
    document: Document = {
        "metadata": {"name": "s", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": copied(SPEC | {"devices": [DEVICE | {"taints": [{"key": "a", "effect": "None"}]}]}),
    }
    STRATEGY.prepare_for_create(document)
    taints = document["spec"]["devices"][0]["taints"]
    assert taints[0]["timeAdded"] == "2024-01-01T00:00:00Z"
    wanted = copied(document)
    wanted["spec"]["devices"][0]["taints"].append({"key": "b", "effect": "None"})
    STRATEGY.stamp_update(wanted, document, "2024-01-02T00:00:00Z")
    assert [taint["timeAdded"] for taint in wanted["spec"]["devices"][0]["taints"]] == [
        "2024-01-01T00:00:00Z",
        "2024-01-02T00:00:00Z",
    ]


def test_fields_that_the_release_has_switched_off_are_dropped_unless_they_are_in_use() -> None:
    mappings = {"cpu": {"capacityKey": "memory"}}
    old = slice_with(DEVICE | {"nodeAllocatableResourceMappings": mappings})
    (device,) = old["spec"]["devices"]
    assert "nodeAllocatableResourceMappings" not in device
    device["attributes"]["a"] = {"ints": [1]}
    device["nodeAllocatableResourceMappings"] = {
        "cpu": {"capacityKey": "other"},
        "x.com/y": {"allocationMultiplier": "0"},
    }
    _, causes = updated(STRATEGY, old, spec=copied(old["spec"]))
    path = "spec.devices[0].nodeAllocatableResourceMappings"
    assert fields(causes) == [f"{path}[cpu].capacityKey", f"{path}[x.com/y]", f"{path}[x.com/y].allocationMultiplier"]


def test_devices_and_counters_are_in_different_slices_be_they_empty() -> None:
    assert causes_of(devices=[], sharedCounters=[]) == ["spec"]
    document, _ = created(STRATEGY, spec=SPEC | {"devices": []})
    assert "devices" not in document["spec"]


def test_the_name_of_a_driver_should_be_lowercase() -> None:
    document, causes = created(STRATEGY, spec=SPEC | {"driver": "GPU.example"})
    assert not causes
    (warning,) = STRATEGY.warnings(document, None)
    assert warning.startswith("spec.driver: driver names should be lowercase")
