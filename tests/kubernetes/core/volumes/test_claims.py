from __future__ import annotations

from typing import Any

import pytest

from pilotage.kubernetes.core.volumes.claims import (
    claim_spec_warnings,
    drop_unknown_data_source,
    normalize_data_sources,
    validate_claim_spec,
)


def spec(**more: Any) -> dict[str, Any]:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}} | more


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"accessModes": []}, ["accessModes"]),
        ({"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]}, ["accessModes"]),
        ({"resources": {}}, ["resources[storage]"]),
        ({"resources": {"requests": {"storage": "0"}}}, ["resources[storage]"]),
        ({"volumeMode": "Tape"}, ["volumeMode"]),
        ({"storageClassName": "Not Valid"}, ["storageClassName"]),
        ({"dataSource": {"kind": "Snap", "name": "a"}}, ["dataSource"]),
        ({"dataSource": {"apiGroup": "g", "kind": "Snap"}}, ["dataSource.name"]),
    ],
)
def test_the_spec_of_a_claim_is_checked(change: dict[str, Any], expected: list[str]) -> None:
    assert [cause.field for cause in validate_claim_spec(spec(**change), "spec")] == [
        f"spec.{name}" for name in expected
    ]


def test_the_two_sources_of_data_agree() -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "a"}
    content = spec(dataSource=source)
    normalize_data_sources(content)
    assert content["dataSourceRef"] == source
    content = spec(dataSourceRef=source)
    normalize_data_sources(content)
    assert content["dataSource"] == source
    content["dataSource"] = source | {"name": "b"}
    assert [cause.message for cause in validate_claim_spec(content, "spec")] == [
        "Invalid value: {}: must match dataSourceRef"
    ]


def test_a_source_of_another_kind_is_dropped_unless_it_is_a_reference() -> None:
    source = {"apiGroup": "example.com", "kind": "Backup", "name": "a"}
    content = spec(dataSource=source)
    drop_unknown_data_source(content)
    assert "dataSource" not in content
    content = spec(dataSource=source, dataSourceRef=source)
    drop_unknown_data_source(content)
    assert content["dataSource"] == source


def test_sizes_that_are_not_whole_bytes_are_warned_of() -> None:
    content = spec(resources={"requests": {"storage": "1500m"}, "limits": {"storage": "1Gi"}})
    assert list(claim_spec_warnings(content, "spec")) == [
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'
    ]
