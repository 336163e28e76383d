"""Identity and storage of Pods: the behaviours of Kubernetes' stateful_set_utils_test.go, by the names of its tests."""

from __future__ import annotations

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import EmptyDirVolumeSource, PersistentVolumeClaim, Pod, Volume
from pilotage.workloads.statefulsets.identity import (
    claims_of,
    identity_matches,
    is_member,
    new_pod,
    parent_and_ordinal,
    storage_matches,
    update_identity,
    update_storage,
)
from tests.workloads.kit import template
from tests.workloads.statefulsets.simulation import LABELS, stateful_set


def owner() -> StatefulSet:
    made = stateful_set()
    made.spec.volume_claim_templates = [PersistentVolumeClaim(metadata=ObjectMeta(name="data", labels={"a": "b"}))]
    made.spec.service_name = "headless"
    return made


def pod(ordinal: int = 1) -> Pod:
    return new_pod(owner(), template(LABELS), "web-1", ordinal)


def matches(found: Pod) -> bool:
    meta = found.metadata
    return identity_matches(owner(), meta.namespace, meta.name, meta.labels)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-1", ("web", 1)),
        ("a-b-12", ("a-b", 12)),
        ("1-bar", ("", -1)),
        ("web", ("", -1)),
        ("web-2147483648", ("web", -1)),
    ],
)
def test_get_parent_name_and_ordinal(name: str, expected: tuple[str, int]) -> None:
    assert parent_and_ordinal(name) == expected


def test_is_member_of() -> None:
    assert is_member(owner(), "web-1")
    assert not is_member(owner(), "web2-1")


def test_identity_matches() -> None:
    assert matches(pod())
    wrong = pod()
    wrong.metadata.name = "foo"
    assert not matches(wrong)
    wrong = pod()
    wrong.metadata.namespace = ""
    assert not matches(wrong)
    wrong = pod()
    del wrong.metadata.labels["statefulset.kubernetes.io/pod-name"]
    assert not matches(wrong)


def test_update_identity() -> None:
    wrong = pod()
    wrong.metadata.namespace = ""
    del wrong.metadata.labels["statefulset.kubernetes.io/pod-name"]
    del wrong.metadata.labels["apps.kubernetes.io/pod-index"]
    update_identity(owner(), wrong)
    assert matches(wrong)
    assert wrong.metadata.labels["apps.kubernetes.io/pod-index"] == "1"


def spoiled(volumes: list[Volume]) -> Pod:
    made = pod()
    assert made.spec is not None
    made.spec.volumes = volumes
    return made


@pytest.mark.parametrize("volumes", [[], [Volume(name="data", empty_dir=EmptyDirVolumeSource())], [Volume(name="x")]])
def test_storage_matches_and_update_storage(volumes: list[Volume]) -> None:
    assert storage_matches(owner(), pod())
    wrong = spoiled(volumes)
    assert not storage_matches(owner(), wrong)
    update_storage(owner(), wrong)
    assert storage_matches(owner(), wrong)
    assert wrong.spec is not None
    assert [volume.name for volume in wrong.spec.volumes] == ["data", *[v.name for v in volumes if v.name == "x"]]


def test_the_storage_of_a_pod_without_an_ordinal_does_not_match() -> None:
    made = pod()
    made.metadata.name = "bar"
    assert not storage_matches(owner(), made)


def test_new_pod_controller_ref() -> None:
    (reference,) = pod().metadata.owner_references
    assert (reference.api_version, reference.kind, reference.uid) == ("apps/v1", "StatefulSet", "set")
    assert (reference.controller, reference.block_owner_deletion) == (True, True)


def test_a_new_pod_has_its_hostname_and_the_labels_of_its_revision() -> None:
    made = pod()
    assert made.spec is not None
    assert (made.spec.hostname, made.spec.subdomain) == ("web-1", "headless")
    assert made.metadata.labels["controller-revision-hash"] == "web-1"


@pytest.mark.parametrize("labels", [{}, {"a": "b"}, {"app": "other"}])
def test_get_persistent_volume_claims(labels: dict[str, str]) -> None:
    given = owner()
    given.spec.volume_claim_templates[0].metadata.labels = labels
    claim = claims_of(given, 7)["data"]
    assert (claim.metadata.name, claim.metadata.namespace) == ("data-web-7", "default")
    assert claim.metadata.labels == labels | LABELS
    assert given.spec.volume_claim_templates[0].metadata.labels == labels
