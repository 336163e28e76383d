from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

CLASSES = strategy_of("storageclasses.storage.k8s.io")
DRIVERS = strategy_of("csidrivers.storage.k8s.io")
NODES = strategy_of("csinodes.storage.k8s.io")
ATTACHMENTS = strategy_of("volumeattachments.storage.k8s.io")


def test_volumes_of_a_class_are_bound_at_once_and_deleted() -> None:
    document, causes = created(CLASSES, provisioner="example.com/p")
    assert not causes
    assert (document["reclaimPolicy"], document["volumeBindingMode"]) == ("Delete", "Immediate")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"provisioner": ""}, ["provisioner"]),
        ({"parameters": {"": "a"}}, ["parameters"]),
        ({"parameters": {"a": "x" * 300_000}}, ["parameters"]),
        ({"parameters": {str(number): "" for number in range(513)}}, ["parameters"]),
        ({"reclaimPolicy": "Recycle"}, ["reclaimPolicy"]),
        ({"volumeBindingMode": "Never"}, ["volumeBindingMode"]),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["x"]}]}] * 2},
            ["allowedTopologies[1].matchLabelExpressions"],
        ),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a"}, {"key": "a", "values": ["x", "x"]}]}]},
            ["values", "values[1]", "key"],
        ),
    ],
)
def test_rules_of_storage_classes(content: dict[str, Any], expected: list[str]) -> None:
    _, causes = created(CLASSES, **({"provisioner": "p"} | content))
    assert len(causes) == len(expected), causes
    assert all(field.endswith(name) for field, name in zip(fields(causes), expected, strict=True))


def test_a_class_is_immutable() -> None:
    old, _ = created(CLASSES, provisioner="p")
    assert not updated(CLASSES, old, allowVolumeExpansion=True)[1]
    change = {"provisioner": "q", "parameters": {"a": "b"}, "reclaimPolicy": "Retain"}
    assert fields(updated(CLASSES, old, **change)[1]) == ["parameters", "provisioner", "reclaimPolicy"]


def test_an_old_label_in_a_topology_is_warned_of() -> None:
    terms = [{"matchLabelExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "values": ["a"]}]}]
    document, _ = created(CLASSES, provisioner="p", allowedTopologies=terms)
    [warning] = CLASSES.warnings(document, None)
    assert warning.startswith("allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use ")


def test_a_driver_has_a_generation_from_its_first_change_on() -> None:
    old, causes = created(DRIVERS, spec={"preventPodSchedulingIfMissing": True})
    assert not causes
    assert old["spec"]["attachRequired"] is True
    assert "preventPodSchedulingIfMissing" not in old["spec"]
    assert "generation" not in old["metadata"]
    document, _ = updated(DRIVERS, old, spec=old["spec"] | {"podInfoOnMount": True})
    assert document["metadata"]["generation"] == 1


def test_rules_of_drivers() -> None:
    requests = [{"audience": "a", "expirationSeconds": 1}, {"audience": "a"}]
    content = {"fsGroupPolicy": "Some", "tokenRequests": requests, "volumeLifecycleModes": ["Some"]}
    document, causes = created(DRIVERS, spec=content | {"nodeAllocatableUpdatePeriodSeconds": 9})
    assert fields(causes) == [
        "spec.fsGroupPolicy",
        "spec.tokenRequests[0].expirationSeconds",
        "spec.tokenRequests[1].audience",
        "spec.volumeLifecycleModes",
        "spec.nodeAllocatableUpdatePeriodSeconds",
    ]
    assert len(DRIVERS.warnings(document, None)) == 1
    old, _ = created(DRIVERS, spec={})
    change = old["spec"] | {"attachRequired": False, "serviceAccountTokenInSecrets": True}
    assert fields(updated(DRIVERS, old, spec=change)[1]) == [
        "spec.serviceAccountTokenInSecrets",
        "spec.attachedRequired",
    ]


def test_the_drivers_of_a_node_change_only_in_their_count() -> None:
    driver = {"name": "d", "nodeID": "n", "topologyKeys": ["zone"], "allocatable": {"count": 5}}
    old, causes = created(NODES, spec={"drivers": [driver]})
    assert not causes
    assert not updated(
        NODES, old, spec={"drivers": [driver | {"allocatable": {"count": 6}}, {"name": "e", "nodeID": "n"}]}
    )[1]
    assert fields(updated(NODES, old, spec={"drivers": [driver | {"nodeID": "m"}]})[1]) == ["spec.drivers"]
    _, causes = created(NODES, spec={"drivers": [{}, driver, driver | {"topologyKeys": ["", "zone", "zone"]}]})
    assert [cause.reason for cause in causes].count("FieldValueDuplicate") == 2
    assert fields(causes)[:2] == ["spec.drivers[0].name", "spec.drivers[0].nodeID"]


def attachment(**source: Any) -> dict[str, Any]:
    return {"attacher": "d", "nodeName": "n", "source": source}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"persistentVolumeName": "a"}, []),
        ({}, ["spec.source"]),
        ({"persistentVolumeName": "a", "inlineVolumeSpec": {}}, ["spec.source"]),
        ({"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}}, []),
        (
            {"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}}},
            ["capacity", "csi", "inlineVolumeSpec"],
        ),
    ],
)
def test_an_attachment_has_one_source(source: dict[str, Any], expected: list[str]) -> None:
    _, causes = created(ATTACHMENTS, spec=attachment(**source))
    assert len(causes) == len(expected), causes
    assert all(field.endswith(name) for field, name in zip(fields(causes), expected, strict=True))


def test_an_attachment_changes_only_in_its_status() -> None:
    old, _ = created(ATTACHMENTS, spec=attachment(persistentVolumeName="a"))
    assert fields(updated(ATTACHMENTS, old, spec=attachment(persistentVolumeName="b"))[1]) == ["spec"]
    metadata = old["metadata"] | {"labels": {"a": "b"}}
    status = {"attached": True, "attachError": {"errorCode": -1, "message": "x" * 2000}}
    document, causes = status_written(ATTACHMENTS, old, metadata=metadata, status=status)
    assert "labels" not in document["metadata"]
    assert fields(causes) == ["status.attachError.message", "status.attachError.errorCode"]
