"""Plugins about volumes: their default class, protection and size."""

from __future__ import annotations

from pilotage.kubernetes.checks.quantities import quantity
from pilotage.kubernetes.defaultclasses import default_class
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, annotations_of, forbidden, section

_STORAGE_CLASSES = "storage.k8s.io/storageclasses/"
_DEFAULT_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_STORAGE_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_PROTECTION = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


class DefaultStorageClass(Plugin):
    """A claim without a storage class has the default one."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec = section(attributes.new, "spec")
        if "storageClassName" in spec or _STORAGE_ANNOTATION in annotations_of(attributes.new):
            return
        if name := await default_class(self.context, _STORAGE_CLASSES, *_DEFAULT_STORAGE):
            spec["storageClassName"] = name


class StorageObjectInUseProtection(Plugin):
    """Volumes and claims have a finalizer, which is removed when they are not in use."""

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        metadata = section(attributes.new, "metadata")
        finalizers = list(metadata.get("finalizers") or ())
        finalizer = _PROTECTION[attributes.resource.resource]
        if finalizer not in finalizers:
            metadata["finalizers"] = [*finalizers, finalizer]


class PersistentVolumeClaimResize(Plugin):
    """A claim may grow if it is bound and its storage class allows that."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.UPDATE:
            return
        if _storage(attributes.new) <= _storage(attributes.old):
            return
        if ((attributes.old or {}).get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        if not await self._may_grow(attributes):
            raise forbidden(
                attributes,
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize",
            )

    async def _may_grow(self, attributes: Attributes) -> bool:
        name = _class_of(attributes.new)
        if not name or name != _class_of(attributes.old):
            return False
        found = await self.context.get(_STORAGE_CLASSES, "", name)
        return found is not None and found.get("allowVolumeExpansion") is True


def _class_of(claim: Document | None) -> str:
    annotated = annotations_of(claim).get(_STORAGE_ANNOTATION)
    return str(annotated if annotated is not None else section(claim, "spec").get("storageClassName") or "")


def _storage(claim: Document | None) -> Quantity:
    requests = ((section(claim, "spec").get("resources") or {}).get("requests")) or {}
    return quantity(requests.get("storage"))  # validation refuses what is not one
