from __future__ import annotations

from typing import Any

import pytest

from ...writes import created, fields, strategy_of, updated

STRATEGY = strategy_of("persistentvolumes")
NOW = "2024-01-01T00:00:00Z"
METADATA = {"name": "one", "creationTimestamp": NOW}


def spec(**more: Any) -> dict[str, Any]:
    return {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]} | (more or {"hostPath": {"path": "/x"}})


def volume(**more: Any) -> Any:
    return created(STRATEGY, metadata=METADATA, spec=spec(**more))


def affinity(key: str) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": ["b"]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def test_a_new_volume_is_pending_since_its_creation() -> None:
    document, causes = volume()
    assert not causes
    assert document["status"] == {"phase": "Pending", "lastPhaseTransitionTime": NOW}
    assert document["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert document["spec"]["hostPath"] == {"path": "/x", "type": ""}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"volumeMode": "Block"}, ["spec"]),
        ({"hostPath": {"path": "/"}, "nfs": {"server": "s", "path": "/"}}, ["spec.nfs"]),
        (
            {"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            ["spec.persistentVolumeReclaimPolicy"],
        ),
        ({"local": {"path": "/a"}}, ["spec.nodeAffinity"]),
        ({"local": {"path": "/a/../b"}} | affinity("a"), ["spec.local.path"]),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}, ["volumeHandle", "namespace"]),
        ({"hostPath": {"path": "/"}, "volumeAttributesClassName": "a"}, ["spec.csi"]),
        (
            {"cinder": {"volumeID": "a", "secretRef": {}}},
            ["spec.cinder.secretRef.name", "spec.cinder.secretRef.namespace"],
        ),
        ({"hostPath": {"path": "/"}, "capacity": {"storage": "0"}}, ["spec.capacity[storage]"]),
        ({"hostPath": {"path": "/"}, "capacity": {"cpu": "1"}}, ["spec.capacity"]),
        ({"hostPath": {"path": "/"}, "accessModes": ["Some"]}, ["spec.accessModes"]),
    ],
)
def test_rules_over_the_spec(content: dict[str, Any], expected: list[str]) -> None:
    _, causes = volume(**content)
    assert len(causes) == len(expected), causes
    assert all(field.endswith(name) for field, name in zip(fields(causes), expected, strict=True))


def test_the_source_cannot_change_but_for_a_secret_to_expand_it() -> None:
    old, _ = volume(csi={"driver": "d", "volumeHandle": "h"})
    secret = {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"csi": old["spec"]["csi"] | secret})
    assert not causes
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"csi": old["spec"]["csi"] | {"volumeHandle": "i"}})
    assert fields(causes) == ["spec.persistentvolumesource"]


def test_the_affinity_changes_only_to_stable_labels() -> None:
    old, _ = volume(hostPath={"path": "/x"}, **affinity("failure-domain.beta.kubernetes.io/zone"))
    assert STRATEGY.warnings(old, None)
    _, causes = updated(STRATEGY, old, spec=old["spec"] | affinity("topology.kubernetes.io/zone"))
    assert not causes
    _, causes = updated(STRATEGY, old, spec=old["spec"] | affinity("other"))
    assert fields(causes) == ["nodeAffinity"]


def test_the_time_of_a_phase_is_set_with_the_phase() -> None:
    old, _ = volume()
    later = "2024-02-01T00:00:00Z"
    written: dict[str, Any] = {"metadata": {}, "status": {"phase": "Available"}}
    STRATEGY.stamp_status(written, old, later)
    assert written["status"] == {"phase": "Available", "lastPhaseTransitionTime": later}
    written = {"metadata": {}, "status": {"phase": "Pending"}}
    STRATEGY.stamp_status(written, old, later)
    assert written["status"]["lastPhaseTransitionTime"] == NOW
    written = {"metadata": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": "2020-01-01T00:00:00Z"}}
    STRATEGY.stamp_status(written, old, later)
    assert written["status"]["lastPhaseTransitionTime"] == "2020-01-01T00:00:00Z"
