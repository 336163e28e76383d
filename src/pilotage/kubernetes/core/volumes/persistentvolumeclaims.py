"""PersistentVolumeClaims."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.quantities import quantity
from pilotage.kubernetes.core.volumes.claims import (
    claim_spec_warnings,
    drop_unknown_data_source,
    normalize_data_sources,
    validate_claim_spec,
)
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import Strategy, copy_field

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
BETA_CLASS_WARNING = (
    f'metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
)
_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


class PersistentVolumeClaimStrategy(Strategy):
    """Claims are immutable, except that one that is bound can grow and get other attributes."""

    def prepare_for_create(self, document: Document) -> None:
        document["status"] = {"phase": "Pending"}
        _drop_other_namespace(document["spec"], {})
        drop_unknown_data_source(document["spec"])
        normalize_data_sources(document["spec"])

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        _drop_other_namespace(document["spec"], old["spec"])
        if old["spec"].get("dataSource") is None:
            drop_unknown_data_source(document["spec"])
        normalize_data_sources(document["spec"])

    def stored_again(self, document: Document) -> bool:
        # kube-apiserver stores a new claim in a form that it does not read back byte by byte.
        return True

    def validate(self, document: Document) -> Iterator[Cause]:
        return validate_claim_spec(document["spec"], "spec")

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        # As in Kubernetes, where an old claim may be of an invalid group.
        sources = (old["spec"].get("dataSource") or {}, old["spec"].get("dataSourceRef") or {})
        any_group = any(source.get("apiGroup") is not None for source in sources)
        yield from validate_claim_spec(document["spec"], "spec", any_group=any_group)
        yield from _validate_changes(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        if not document["spec"].get("accessModes"):
            yield required("Spec.accessModes")
        yield from _validate_status(document.get("status") or {})

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        annotated = BETA_CLASS in (document["metadata"].get("annotations") or {})
        return [BETA_CLASS_WARNING] * annotated + list(claim_spec_warnings(document["spec"], "spec"))


def _drop_other_namespace(spec: Document, old: Document) -> None:
    """Drop a source in another namespace, whose feature is off in the release, unless the object has one already."""
    if (spec.get("dataSourceRef") or {}).get("namespace") and not old.get("dataSourceRef"):
        del spec["dataSourceRef"]


def _validate_changes(document: Document, old: Document) -> Iterator[Cause]:
    spec, was = document["spec"], old["spec"]
    annotations, old_annotations = (each["metadata"].get("annotations") or {} for each in (document, old))
    allowed = dict(spec)
    if not was.get("volumeName"):
        allowed.pop("volumeName", None)  # it is set once
    upgraded = was.get("storageClassName") is None and spec.get("storageClassName") is not None
    annotated = old_annotations.get(BETA_CLASS)
    named = annotations.get(BETA_CLASS)
    from_annotation = upgraded and annotated is not None and spec["storageClassName"] == annotated
    if not (from_annotation and named in (None, annotated)) and (named or "") != (annotated or ""):
        yield forbidden(f"metadata.annotations[{BETA_CLASS}]", "annotation is immutable")
    if from_annotation or (upgraded and annotated is None):
        del allowed["storageClassName"]
    if (document.get("status") or {}).get("phase") == "Bound":
        copy_field(allowed, was, "volumeAttributesClassName")
        _keep_size(allowed, was)
    if not same(allowed, was):
        yield forbidden("spec", _IMMUTABLE)
    yield from _validate_size(document, old)
    yield from fields.immutable(spec.get("volumeMode"), was.get("volumeMode"), "volumeMode")
    yield from _validate_attributes_class(spec, old)


def _keep_size(spec: Document, old: Document) -> None:
    resources = dict(spec.get("resources") or {})
    if resources.get("requests") is None:
        return
    resources["requests"] = dict(resources["requests"])
    copy_field(resources["requests"], (old.get("resources") or {}).get("requests") or {}, "storage")
    spec["resources"] = resources


def _validate_size(document: Document, old: Document) -> Iterator[Cause]:
    """A size can be reduced while the volume has not grown to it."""
    size, was = (
        quantity(((each["spec"].get("resources") or {}).get("requests") or {}).get("storage", 0))
        for each in (document, old)
    )
    capacity = quantity(((old.get("status") or {}).get("capacity") or {}).get("storage", 0))
    if size < was and size <= capacity:
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


def _validate_attributes_class(spec: Document, old: Document) -> Iterator[Cause]:
    name, was = spec.get("volumeAttributesClassName"), old["spec"].get("volumeAttributesClassName")
    current = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if name == was or name or current is None:
        return
    kind = "nil" if name is None else "empty string"
    detail = f"update to {kind} is forbidden when status.currentVolumeAttributesClassName is not nil"
    yield forbidden("spec.volumeAttributesClassName", detail)


def _validate_status(status: Document) -> Iterator[Cause]:
    for name, amount in (status.get("capacity") or {}).items():
        yield from _validate_amount(amount, f"status.capacity[{name}]")
    path = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _validate_resource_name(name, path)
        if state not in _RESIZES:
            yield not_supported(path, name, _RESIZES)
    for name, amount in (status.get("allocatedResources") or {}).items():
        problems = list(_validate_resource_name(name, "status.allocatedResources"))
        yield from problems
        if not problems:
            yield from _validate_amount(amount, f"status.allocatedResources[{name}]")


def _validate_amount(amount: object, path: str) -> Iterator[Cause]:
    value = quantity(amount).value()
    if value < 0:
        yield invalid(path, value, "must be a valid resource quantity")


def _validate_resource_name(name: str, path: str) -> Iterator[Cause]:
    problems = qualified_name(name)
    yield from (invalid(path, name, problem) for problem in problems)
    native = "/" not in name or "kubernetes.io/" in name
    if not problems and native and name != "storage":
        yield not_supported(path, name, ("storage",))
