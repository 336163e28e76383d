"""PersistentVolumeClaims, and the specs and metadata of claims in templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.kubernetes.checks.quantities import is_fractional, validate_positive_quantity
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.models import METADATA_FIELDS
from pilotage.meta.validation.names import dns_1123_label
from pilotage.meta.validation.objectmeta import annotations_causes, labels_causes
from pilotage.server.strategies.checks import fields, labelselectors, texts

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_SNAPSHOTS = "snapshot.storage.k8s.io"
_NOT_IN_TEMPLATE = tuple(name for name in METADATA_FIELDS if name not in ("labels", "annotations"))


def normalize_data_sources(spec: Document) -> None:
    """Make the two fields for the source of the data agree, in place, where one of them is absent."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def drop_unknown_data_source(spec: Document) -> None:
    """Drop a source of a kind that `dataSource` does not support, in place; `dataSourceRef` keeps it."""
    source = spec.get("dataSource")
    if source is None or spec.get("dataSourceRef") is not None:
        return
    if (source.get("apiGroup") or "", source.get("kind")) not in (
        ("", "PersistentVolumeClaim"),
        (_SNAPSHOTS, "VolumeSnapshot"),
    ):
        del spec["dataSource"]


def claim_spec_warnings(spec: Document, path: str) -> Iterator[str]:
    """Sizes that are not whole bytes."""
    for part in ("requests", "limits"):
        size = ((spec.get("resources") or {}).get(part) or {}).get("storage")
        if size is not None and is_fractional(size):
            where = f"{path}.resources.{part}[storage]"
            yield f'{where}: fractional byte value "{size}" is invalid, must be an integer'


def validate_access_modes(modes: Sequence[str], path: str) -> Iterator[Cause]:
    """Known access modes, one of which excludes the others."""
    for mode in modes:
        yield from fields.choice(mode, path, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode != "ReadWriteOncePod" and mode in _ACCESS_MODES for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def validate_claim_spec(spec: Document, path: str, *, any_group: bool = False) -> Iterator[Cause]:
    """What is wrong with the spec of a claim. With `any_group`, data sources may be of groups without a valid name."""
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from labelselectors.label_selector(spec.get("selector"), f"{path}.selector")
    yield from validate_access_modes(modes, f"{path}.accessModes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required(f"{path}.resources[storage]")
    else:
        yield from validate_positive_quantity(size, f"{path}.resources[storage]")
    yield from texts.optional_text(spec.get("storageClassName"), f"{path}.storageClassName")
    yield from fields.optional_choice(spec.get("volumeMode"), f"{path}.volumeMode", VOLUME_MODES)
    yield from _validate_data_sources(spec, path, any_group=any_group)
    yield from texts.optional_text(spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName")


def _validate_data_sources(spec: Document, path: str, *, any_group: bool) -> Iterator[Cause]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    yield from fields.given(source, f"{path}.dataSource", _validate_data_source, any_group=any_group)
    if reference is not None:
        yield from _validate_data_source(reference, f"{path}.dataSourceRef", any_group=any_group)
        yield from texts.optional_text(reference.get("namespace"), f"{path}.dataSourceRef.namespace", dns_1123_label)
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
        yield invalid(path, {}, detail, whole=True)
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        yield invalid(path, {}, "must match dataSourceRef", whole=True)


def _validate_data_source(source: Document, path: str, *, any_group: bool) -> Iterator[Cause]:
    yield from fields.needed(source, path, "name", "kind")
    group = source.get("apiGroup")
    if not group and source.get("kind") != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, source.get("kind") or "", detail)
    if not any_group:
        yield from texts.optional_text(group, f"{path}.apiGroup")


def validate_claim_template(template: Document, path: str) -> Iterator[Cause]:
    """The claim that is made for an ephemeral volume."""
    yield from validate_template_metadata(template.get("metadata") or {}, f"{path}.metadata")
    yield from validate_claim_spec(template.get("spec") or {}, f"{path}.spec")


def validate_template_metadata(metadata: Document, path: str) -> Iterator[Cause]:
    """The metadata of objects that are made from a template: labels and annotations."""
    yield from annotations_causes(metadata.get("annotations") or {}, f"{path}.annotations")
    yield from labels_causes(metadata.get("labels") or {}, f"{path}.labels")
    for name in _NOT_IN_TEMPLATE:
        if metadata.get(name) not in (None, "", 0) or (name == "deletionGracePeriodSeconds" and name in metadata):
            shown = "uID" if name == "uid" else name  # Go's name of the field, with a small first letter
            yield forbidden(f"{path}.{shown}", "cannot be set")
