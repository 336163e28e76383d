"""The defaults of volumes of pods, of PersistentVolumes, and of their claims."""

from __future__ import annotations

from typing import Any

from pilotage.codec.defaults.fields import default_empty, default_field_reference
from pilotage.codec.defaults.images import pull_policy
from pilotage.codec.defaults.resources import default_quantities
from pilotage.meta.documents import Document

_MODE = {"defaultMode": 0o644}
_IF_ABSENT: dict[str, dict[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "hostPath": {"type": ""},
    "projected": _MODE,
    "secret": _MODE,
}
_IF_EMPTY: dict[str, dict[str, Any]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_ONE_HOUR = 3600


def default_volume(volume: Document) -> None:
    """Fill in the defaults of a volume, in place. One without a source is an empty directory."""
    kinds = [key for key in volume if key != "name"]
    if not kinds:
        volume["emptyDir"] = {}
    for kind in kinds:
        default_source(kind, volume[kind])


def default_source(kind: str, source: Document) -> None:
    """Fill in the defaults of one source of a volume, in place."""
    for key, value in _IF_ABSENT.get(kind, {}).items():
        source.setdefault(key, value)
    for key, value in _IF_EMPTY.get(kind, {}).items():
        default_empty(source, key, value)
    if kind == "downwardAPI":
        _default_files(source)
    elif kind == "projected":
        for projection in source.get("sources") or ():
            _default_files(projection.get("downwardAPI") or {})
            if (token := projection.get("serviceAccountToken")) is not None:
                token.setdefault("expirationSeconds", _ONE_HOUR)
    elif kind == "image":
        default_empty(source, "pullPolicy", pull_policy(source.get("reference", "")))
    elif kind == "ephemeral" and (template := source.get("volumeClaimTemplate")) is not None:
        _default_claim_template(template)


def _default_files(source: Document) -> None:
    for file in source.get("items") or ():
        if "fieldRef" in file:
            default_field_reference(file["fieldRef"])
        if "resourceFieldRef" in file:
            file["resourceFieldRef"].setdefault("divisor", "0")


def _default_claim_template(template: Document) -> None:
    template.setdefault("metadata", {})
    spec = template.setdefault("spec", {})
    spec.setdefault("resources", {})
    default_claim_spec(spec)


def default_claim_spec(spec: Document) -> None:
    """Fill in the defaults of a claim's spec, in place."""
    spec.setdefault("volumeMode", "Filesystem")
    resources = spec.get("resources") or {}
    default_quantities(resources.get("limits"))
    default_quantities(resources.get("requests"))


def default_claim(claim: Document) -> None:
    """Fill in the defaults of a claim, in place."""
    default_claim_spec(claim.setdefault("spec", {}))
    status = claim.setdefault("status", {})
    default_empty(status, "phase", "Pending")
    default_quantities(status.get("capacity"))
    default_quantities(status.get("allocatedResources"))


def default_persistent_volume(document: Document) -> None:
    """Fill in the defaults of a PersistentVolume, in place."""
    spec, status = document.setdefault("spec", {}), document.setdefault("status", {})
    default_empty(status, "phase", "Pending")
    default_empty(spec, "persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_persistent_source(spec)


def default_volume_attachment(document: Document) -> None:
    """Fill in the defaults of the volume inside a VolumeAttachment, in place."""
    default_persistent_source((document["spec"].get("source") or {}).get("inlineVolumeSpec") or {})


def default_persistent_source(spec: Document) -> None:
    """Fill in the defaults of the capacity and the source of a persistent volume, in place."""
    default_quantities(spec.get("capacity"))
    for kind, source in spec.items():
        if isinstance(source, dict):
            default_source(kind, source)
