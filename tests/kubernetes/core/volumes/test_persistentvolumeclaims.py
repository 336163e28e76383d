from __future__ import annotations

from typing import Any

import pytest

from pilotage.kubernetes.core.volumes.persistentvolumeclaims import BETA_CLASS

from ...writes import created, fields, status_written, strategy_of, updated
from .test_claims import spec

STRATEGY = strategy_of("persistentvolumeclaims")


def claim(*, bound: bool = False, **more: Any) -> dict[str, Any]:
    document, causes = created(STRATEGY, spec=spec(**more))
    assert not causes
    if bound:
        document["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    return document


def test_a_new_claim_is_pending() -> None:
    document = claim()
    assert document["status"] == {"phase": "Pending"}
    assert document["spec"]["volumeMode"] == "Filesystem"


def resources(size: str) -> dict[str, Any]:
    return {"resources": {"requests": {"storage": size}}}


@pytest.mark.parametrize(
    ("bound", "change", "expected"),
    [
        (False, {"volumeName": "v"}, []),
        (False, resources("2Gi"), ["spec"]),
        (True, resources("2Gi"), []),
        (True, resources("512Mi"), ["spec.resources.requests.storage"]),
        (True, {"accessModes": ["ReadOnlyMany"]}, ["spec"]),
        (False, {"storageClassName": "fast"}, []),
        (False, {"volumeMode": "Block"}, ["spec", "volumeMode"]),
        (True, {"volumeAttributesClassName": "gold"}, []),
    ],
)
def test_a_claim_is_immutable_but_for_its_growth(bound: bool, change: dict[str, Any], expected: list[str]) -> None:
    old = claim(bound=bound)
    assert fields(updated(STRATEGY, old, spec=old["spec"] | change)[1]) == expected


def test_the_class_in_an_annotation_can_become_that_of_the_spec() -> None:
    old = claim()
    old["metadata"]["annotations"] = {BETA_CLASS: "fast"}
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"storageClassName": "fast"})
    assert not causes
    _, causes = updated(STRATEGY, old, metadata=old["metadata"] | {"annotations": {BETA_CLASS: "slow"}})
    assert fields(causes) == [f"metadata.annotations[{BETA_CLASS}]"]
    assert STRATEGY.warnings(old, None)[0].startswith("metadata.annotations[volume.beta")


def test_attributes_in_use_cannot_be_removed() -> None:
    old = claim(bound=True, volumeAttributesClassName="gold")
    old["status"]["currentVolumeAttributesClassName"] = "gold"
    content = {key: value for key, value in old["spec"].items() if key != "volumeAttributesClassName"}
    assert fields(updated(STRATEGY, old, spec=content)[1]) == ["spec.volumeAttributesClassName"]


def test_resources_in_the_status_are_checked() -> None:
    old = claim(bound=True)
    status = {
        "capacity": {"storage": "-1"},
        "allocatedResources": {"storage": "-1", "cpu": "1"},
        "allocatedResourceStatuses": {"storage": "Some", "example.com/x": "NodeResizePending"},
    }
    assert fields(status_written(STRATEGY, old, status=status)[1]) == [
        "status.capacity[storage]",
        "status.allocatedResourceStatuses",
        "status.allocatedResources[storage]",
        "status.allocatedResources",
    ]
