"""Which volume fits a claim: the tables of Kubernetes' `index_test.go` in 1.36."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from pilotage.types.core.v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from pilotage.workloads.volumes.matching import allows_access, best_match, mismatch, modes_differ
from tests.workloads.volumes import test_binder as rows

RWO, ROX, RWX = "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"
TWO, ALL = (RWO, ROX), (RWO, ROX, RWX)


@dataclass(frozen=True)
class Disk:
    """A row of the volumes."""

    name: str
    size: str
    modes: tuple[str, ...] = TWO
    storage_class: str | None = None
    attributes: str | None = None
    is_labelled: bool = False
    is_taken: bool = False
    phase: str | None = "Available"

    def volume(self) -> PersistentVolume:
        row = {"name": self.name, "size": self.size, "phase": self.phase, "class": self.storage_class}
        made = rows.volume({**row, "attributes": self.attributes})
        assert made.spec is not None
        made.spec.access_modes = list(self.modes)
        made.metadata.labels = {"should-exist": "true"} if self.is_labelled else {}
        made.spec.claim_ref = ObjectReference(uid="another") if self.is_taken else None
        return made


DISKS = (
    Disk("gce-pd-10", "10G"),
    Disk("gce-pd-20", "20G", is_taken=True, phase="Bound"),
    Disk("nfs-5", "5G", ALL),
    Disk("gce-pd-1", "1G", is_taken=True, phase="Bound"),
    Disk("nfs-10", "10G", ALL),
    Disk("gce-pd-5", "5G"),
    Disk("nfs-1", "1G", ALL),
    Disk("gce-pd-2", "20000G", (RWO,), is_labelled=True),
    Disk("gce-pd-silver1", "10000G", (RWO,), "silver", is_labelled=True),
    Disk("gce-pd-silver2", "100G", (RWO,), "silver"),
    Disk("gce-pd-gold", "50G", (RWO,), "gold"),
    Disk("local-pd-very-large", "200E", ALL, "large"),
    Disk("local-pd-extremely-large", "800E", ALL, "large"),
    Disk("affinity-pv", "100G", TWO, "wait"),
    Disk("affinity-pv4-pending", "200G", TWO, "wait", phase="Pending"),
    Disk("affinity-pv4-failed", "200G", TWO, "wait", phase="Failed"),
    Disk("affinity-pv4-released", "200G", TWO, "wait", phase="Released"),
    Disk("affinity-pv4-empty", "200G", TWO, "wait", phase=None),
    Disk("gce-pd-vac-silver1", "100G", TWO, attributes="silver"),
)


def claim(size: str, modes: tuple[str, ...] = (ROX, RWO), label: str = "", **row: str) -> PersistentVolumeClaim:
    selector = {"selector": {label: "true"}} if label else {}
    names = {"name": "claim01", "uid": "claim01", "access": list(modes)}
    return rows.claim({**names, "size": size, **selector, **row})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(claim("8G"), "gce-pd-10", id="successful-match-gce-10"),
        pytest.param(claim("5G", (ROX, RWO, RWX)), "nfs-5", id="successful-match-nfs-5"),
        pytest.param(claim("1G"), "gce-pd-5", id="successful-skip-1g-bound-volume"),
        pytest.param(claim("999G"), "", id="successful-no-match"),
        pytest.param(claim("999G", label="should-not-exist"), "", id="successful-no-match-due-to-label"),
        pytest.param(
            claim("20000G", label="should-exist"),
            "",
            id="successful-no-match-due-to-size-constraint-with-label-selector",
        ),
        pytest.param(
            claim("20000G", (RWO,), "should-exist"),
            "gce-pd-2",
            id="successful-match-due-with-constraint-and-label-selector",
        ),
        pytest.param(claim("8G", attributes=""), "gce-pd-10", id="successful-match-with-empty-vac"),
        pytest.param(claim("1G", attributes="silver"), "gce-pd-vac-silver1", id="successful-match-with-vac"),
        pytest.param(claim("1G", attributes="none"), "", id="successful-no-match-vac-nonexisting"),
        pytest.param(
            claim("1G", (RWO,), "should-exist", **{"class": "silver"}),
            "gce-pd-silver1",
            id="successful-match-with-class",
        ),
        pytest.param(
            claim("1G", (RWO,), **{"class": "silver"}), "gce-pd-silver2", id="successful-match-with-class-and-labels"
        ),
        pytest.param(
            claim("1E", (RWO,), **{"class": "large"}), "local-pd-very-large", id="successful-match-very-large"
        ),
        pytest.param(
            claim("800E", (RWO,), **{"class": "large"}),
            "local-pd-extremely-large",
            id="successful-match-exact-extremely-large",
        ),
        pytest.param(claim("950E", (RWO,), **{"class": "large"}), "", id="successful-no-match-way-too-large"),
    ],
)
def test_match_volume(wanted: PersistentVolumeClaim, found: str) -> None:
    match = best_match(wanted, [disk.volume() for disk in DISKS])
    assert (match.metadata.name if match is not None else "") == found


def test_matching_with_bound_volumes() -> None:
    disks = Disk("gce001", "1G", is_taken=True, phase="Bound"), Disk("gce002", "1G")
    match = best_match(claim("1G"), [disk.volume() for disk in disks])
    assert match is not None
    assert match.metadata.name == "gce002"


@pytest.mark.parametrize(
    ("modes", "taken", "found"),
    [
        ((RWO,), (), "ebs"),
        ((RWO, ROX), (), "gce"),
        ((RWX, RWO, ROX), (), "nfs"),
        ((RWX,), (), "nfs"),
        ((RWO,), ("ebs",), "gce"),
        ((RWO,), ("ebs", "gce"), "nfs"),
        ((ROX,), ("ebs",), "gce"),
    ],
)
def test_finding_volume_with_different_access_modes(modes: tuple[str, ...], taken: tuple[str, ...], found: str) -> None:
    kinds = {"gce": TWO, "ebs": (RWO,), "nfs": ALL}
    volumes = [Disk(name, "10G", each, is_taken=name in taken).volume() for name, each in kinds.items()]
    match = best_match(claim("1G", modes), volumes)
    assert match is not None
    assert match.metadata.name == found


@pytest.mark.parametrize("volume_mode", ["Block", "Filesystem", None])
@pytest.mark.parametrize("claim_mode", ["Block", "Filesystem", None])
def test_volume_mode_check(volume_mode: str | None, claim_mode: str | None) -> None:
    volume, wanted = Disk("a", "10G").volume(), claim("8G")
    assert volume.spec is not None
    assert wanted.spec is not None
    volume.spec.volume_mode, wanted.spec.volume_mode = volume_mode, claim_mode
    differ = (volume_mode == "Block") is not (claim_mode == "Block")
    assert modes_differ(volume, wanted) is differ
    assert (best_match(wanted, [volume]) is None) is differ  # TestFilteringVolumeModes


def test_storage_object_in_use_protection_filtering() -> None:
    volume, wanted = Disk("pv1", "1G").volume(), claim("1G", (RWO,), **{"class": ""})
    assert (mismatch(volume, wanted), best_match(wanted, [volume])) == ("", volume)
    volume.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    assert mismatch(volume, wanted) == 'the volume is marked for deletion "pv1"'
    assert best_match(wanted, [volume]) is None


@pytest.mark.parametrize(
    ("reserved", "reference", "found"),
    [
        pytest.param("", None, "pv1", id="the exact size"),
        pytest.param("pv1", ObjectReference(name="foo", namespace="bar"), "pv5", id="it is reserved: the next size"),
        pytest.param("pv8", None, "pv8", id="the largest one is reserved for the claim"),
        pytest.param("bad-size", None, "pv1", id="one that is too small is reserved for the claim"),
        pytest.param("bad-mode", None, "pv1", id="one with another access mode is reserved for the claim"),
    ],
)
def test_finding_prebound_volumes(reserved: str, reference: ObjectReference | None, found: str) -> None:
    sizes = {"pv1": "1Gi", "pv5": "5Gi", "pv8": "8Gi", "bad-size": "1Mi", "bad-mode": "1Gi"}
    volumes = [Disk(name, size, (ROX,) if name == "bad-mode" else (RWO,)).volume() for name, size in sizes.items()]
    for volume in volumes:
        if volume.metadata.name == reserved and volume.spec is not None:
            volume.spec.claim_ref = reference or ObjectReference(name="claim01", namespace=rows.NAMESPACE)
    match = best_match(claim("1Gi", (RWO,)), volumes)
    assert match is not None
    assert match.metadata.name == found


def test_best_match_delayed() -> None:
    assert best_match(claim("8G"), [disk.volume() for disk in DISKS], delayed=True) is None


@pytest.mark.parametrize(
    ("modes", "allowed"), [((RWX,), True), ((RWX, RWO), True), ((ROX,), False), ((RWX, ROX), False)]
)
def test_check_access_modes(modes: tuple[str, ...], allowed: bool) -> None:
    assert allows_access(Disk("a", "1G", (RWO, RWX)).volume(), claim("100G", modes)) is allowed
