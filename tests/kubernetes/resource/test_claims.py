from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.documents import Document

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("resourceclaims.resource.k8s.io")
ALLOCATED = {"request": "r", "driver": "d.example", "pool": "p", "device": "d0"}


def request(**exactly: Any) -> Document:
    return {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"} | exactly}


def claim(*requests: Document, **devices: Any) -> Document:
    return {"devices": {"requests": list(requests) or [request()]} | devices}


def test_a_request_is_for_one_device_by_default() -> None:
    document, causes = created(STRATEGY, spec=claim(request(tolerations=[{"key": "a"}])))
    assert not causes
    exactly = document["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)
    assert exactly["tolerations"] == [{"key": "a", "operator": "Equal"}]


@pytest.mark.parametrize(
    ("devices", "where"),
    [
        ({"requests": [request(), request()]}, "requests[1]"),
        ({"requests": [{"name": "r"}]}, "requests[0]"),
        ({"requests": [request(deviceClassName="")]}, "requests[0].exactly.deviceClassName"),
        ({"requests": [request(count=-1)]}, "requests[0].exactly.count"),
        ({"requests": [request(allocationMode="All", count=1)]}, "requests[0].exactly.count"),
        ({"requests": [request(selectors=[{}])]}, "requests[0].exactly.selectors[0].cel"),
        ({"requests": [request()] * 33}, "requests"),
        ({"constraints": [{"requests": ["r"]}]}, "constraints[0]"),
        ({"constraints": [{"matchAttribute": "numa"}]}, "constraints[0].matchAttribute"),
        ({"constraints": [{"requests": ["other"], "matchAttribute": "a.b/c"}]}, "constraints[0].requests[0]"),
        ({"config": [{}]}, "config[0].opaque"),
        ({"config": [{"opaque": {"driver": "a", "parameters": []}}]}, "config[0].opaque.parameters"),
    ],
)
def test_what_a_claim_asks_for_is_checked(devices: Document, where: str) -> None:
    _, causes = created(STRATEGY, spec=claim(**devices))
    assert fields(causes) == [f"spec.devices.{where}"]


@pytest.mark.parametrize("expression", ["1 +", "nothing.here", "1", ""])
def test_a_selector_is_an_expression_about_a_device(expression: str) -> None:
    pytest.importorskip("cel_expr_python")
    _, causes = created(STRATEGY, spec=claim(request(selectors=[{"cel": {"expression": expression}}])))
    assert fields(causes) == ["spec.devices.requests[0].exactly.selectors[0].cel.expression"]
    _, causes = created(STRATEGY, spec=claim(request(selectors=[{"cel": {"expression": "device.driver == 'd'"}}])))
    assert not causes


def test_what_a_claim_asks_for_cannot_change() -> None:
    old, _ = created(STRATEGY, spec=claim())
    _, causes = updated(STRATEGY, old, spec=claim(request(count=2)))
    assert fields(causes) == ["spec"]


def test_an_allocation_is_checked_once_and_then_cannot_change() -> None:
    old, _ = created(STRATEGY, spec=claim())
    other = {"allocation": {"devices": {"results": [ALLOCATED | {"request": "other"}]}}}
    _, causes = status_written(STRATEGY, old, status=other)
    assert fields(causes) == ["status.allocation.devices.results[0].request"]
    consumer = {"resource": "pods", "name": "p", "uid": "u"}
    status = {"allocation": {"devices": {"results": [ALLOCATED]}}, "reservedFor": [consumer]}
    allocated, causes = status_written(STRATEGY, old, status=status)
    assert not causes
    _, causes = status_written(STRATEGY, allocated, status=other)
    assert fields(causes) == ["status.allocation"]
    _, causes = status_written(STRATEGY, old, status={"reservedFor": [consumer]})
    assert fields(causes) == ["status.reservedFor"]


def test_only_allocated_devices_have_a_status() -> None:
    old, _ = created(STRATEGY, spec=claim())
    device = {key: ALLOCATED[key] for key in ("driver", "pool", "device")}
    status = {"allocation": {"devices": {"results": [ALLOCATED]}}, "devices": [device, device | {"device": "d1"}]}
    _, causes = status_written(STRATEGY, old, status=status)
    assert fields(causes) == ["status.devices[1]"]


def test_the_status_of_a_claim_is_written_without_its_labels() -> None:
    old, _ = created(STRATEGY, spec=claim())
    document, _ = status_written(STRATEGY, old, metadata=old["metadata"] | {"labels": {"a": "b"}}, status={})
    assert "labels" not in document["metadata"]


def test_a_template_has_a_claim_and_only_labels_and_annotations() -> None:
    strategy = strategy_of("resourceclaimtemplates.resource.k8s.io")
    _, causes = created(strategy, spec={"metadata": {"labels": {"a": "b"}}, "spec": claim()})
    assert not causes
    _, causes = created(strategy, spec={"metadata": {"name": "a"}, "spec": claim({"name": "r"})})
    assert fields(causes) == ["spec.metadata.name", "spec.spec.devices.requests[0]"]


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"extendedResourceName": "cpu"}, "spec.extendedResourceName"),
        ({"config": [{"opaque": {"parameters": {}}}]}, "spec.config[0].opaque.driver"),
        ({"selectors": [{}]}, "spec.selectors[0].cel"),
    ],
)
def test_a_device_class_is_checked(spec: Document, where: str) -> None:
    _, causes = created(strategy_of("deviceclasses.resource.k8s.io"), spec=spec)
    assert fields(causes) == [where]


def test_the_status_of_a_device_goes_with_its_allocation() -> None:
    old, _ = created(STRATEGY, spec=claim())
    device = {key: ALLOCATED[key] for key in ("driver", "pool", "device")}
    status = {"allocation": {"devices": {"results": [ALLOCATED]}}, "devices": [device]}
    allocated, causes = status_written(STRATEGY, old, status=status)
    assert not causes
    document, causes = status_written(STRATEGY, allocated, status={"devices": [device]})
    assert not causes
    assert not document["status"].get("devices")


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("device.driver == 'd' && device.attributes['d'].cores > 4", True),
        ("device.attributes['d'].healthy", True),
        ("cel.bind(own, device.capacity['d'], own.memory.compareTo(quantity('1Gi')) >= 0)", True),
        ("device.drivers == 'd'", False),
        ("device.driver", False),
        ("object.spec == 1", False),
    ],
)
def test_selectors_are_expressions_over_a_device(expression: str, accepted: bool) -> None:
    _, causes = created(STRATEGY, spec=claim(request(selectors=[{"cel": {"expression": expression}}])))
    assert (not causes) == accepted


def test_a_device_is_allocated_with_admin_access_only_where_the_namespace_allows_it() -> None:
    old, _ = created(STRATEGY, spec=claim())
    results = [ALLOCATED, ALLOCATED | {"device": "d1", "adminAccess": True}]
    granted = old | {"status": {"allocation": {"devices": {"results": results}}}}
    _, causes = STRATEGY.privileges(granted, old)
    assert fields(causes) == ["status.allocation.devices.results[1].adminAccess"]
    assert STRATEGY.privileges(granted, granted)[1] == []
