"""PersistentVolumes."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.warnings import OLD_SOURCES, term_warnings
from pilotage.kubernetes.core.volumes.persistentvolumeclaims import BETA_CLASS, BETA_CLASS_WARNING
from pilotage.kubernetes.core.volumes.sources import SOURCES
from pilotage.kubernetes.core.volumes.volumespecs import validate_volume_spec
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document, copied
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import Strategy, copy_field

_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_WITH_MOUNT_OPTIONS = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
)
_ADDED = "controllerExpandSecretRef"
"""Fields that an update can add to the source of a volume."""
_STABLE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
_WARNED_SOURCES = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
"""Those of `OLD_SOURCES` that are in the warnings of a persistent volume, in their order there."""


class PersistentVolumeStrategy(Strategy):
    """Volumes have one source, which cannot change, and the time of the last change of their phase."""

    def prepare_for_create(self, document: Document) -> None:
        now = document["metadata"].get("creationTimestamp")
        document["status"] = {"phase": "Pending", "lastPhaseTransitionTime": now}

    def stamp_status(self, document: Document, old: Document, now: str) -> None:
        status, was = document.setdefault("status", {}), old.get("status") or {}
        changed = status.get("phase") != was.get("phase")
        time, before = status.get("lastPhaseTransitionTime"), was.get("lastPhaseTransitionTime")
        if changed and time in (None, before):
            status["lastPhaseTransitionTime"] = now
        elif not changed and time is None and before is not None:
            status["lastPhaseTransitionTime"] = before

    def validate(self, document: Document) -> list[Cause]:
        return [*_validate_spec(document), *_validate_mount_options(document)]

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        again = _validate_spec(document)  # the real server reports the spec a second time
        return [*self.validate(document), *again, *_validate_changes(document["spec"], old["spec"])]

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return list(_warnings(document))


def _validate_spec(document: Document) -> Iterator[Cause]:
    return validate_volume_spec(document["spec"], document["metadata"].get("name") or "")


def _validate_mount_options(document: Document) -> Iterator[Cause]:
    annotated = _MOUNT_OPTIONS in (document["metadata"].get("annotations") or {})
    if annotated and all(document["spec"].get(kind) is None for kind in _WITH_MOUNT_OPTIONS):
        path = f"metadata.annotations.{_MOUNT_OPTIONS}"
        yield forbidden(path, "may not specify mount options for this volume type")


def _validate_changes(spec: Document, old: Document) -> Iterator[Cause]:
    source, was = ({kind: each[kind] for kind in SOURCES if kind in each} for each in (spec, old))
    if _ADDED in source.get("csi", {}) and _ADDED not in was.get("csi", {_ADDED: None}):
        source["csi"] = {key: value for key, value in source["csi"].items() if key != _ADDED}
    if source != was:
        detail = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", detail)
    yield from fields.immutable(spec.get("volumeMode"), old.get("volumeMode"), "volumeMode")
    affinity, before = spec.get("nodeAffinity"), old.get("nodeAffinity")
    if before is not None and affinity != _with_stable_labels(before, affinity):
        yield invalid(
            "nodeAffinity", affinity, f"{fields.IMMUTABLE}, except for updating from beta label to GA", whole=True
        )
    if old.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        yield forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _with_stable_labels(old: Document, new: Document | None) -> Document:
    """The old affinity with labels in their stable form, where the new one has that."""
    result: Document = copied(old)
    for ours, theirs in zip(_terms(result), _terms(new or {}), strict=False):
        for name in ("matchExpressions", "matchFields"):
            for expression, other in zip(ours.get(name) or (), theirs.get(name) or (), strict=False):
                if _STABLE_LABELS.get(expression.get("key", ""), "") == other.get("key", ""):
                    copy_field(expression, other, "key")  # also where it is removed, which is refused elsewhere
    return result


def _terms(affinity: Document) -> list[Document]:
    terms: list[Document] = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return terms


def _warnings(document: Document) -> Iterator[str]:
    annotations, spec = document["metadata"].get("annotations") or {}, document["spec"]
    if BETA_CLASS in annotations:
        yield BETA_CLASS_WARNING
    if _MOUNT_OPTIONS in annotations:
        detail = 'deprecated since v1.31; use "mountOptions" attribute instead'
        yield f"metadata.annotations[{_MOUNT_OPTIONS}]: {detail}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    for index, term in enumerate(_terms(spec.get("nodeAffinity") or {})):
        yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", values=False)
    for kind in _WARNED_SOURCES:
        if spec.get(kind) is not None:
            shown, detail = OLD_SOURCES[kind]
            yield f"spec.{shown}: {detail}"
