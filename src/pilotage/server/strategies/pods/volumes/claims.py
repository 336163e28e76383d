"""Claims of persistent volumes in templates: those of ephemeral volumes."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden
from pilotage.meta.documents import Document
from pilotage.meta.models import METADATA_FIELDS
from pilotage.meta.validation.objectmeta import annotations_causes, labels_causes
from pilotage.server.strategies.volumes.claims import validate_claim_spec

_NOT_IN_TEMPLATE = tuple(name for name in METADATA_FIELDS if name not in ("labels", "annotations"))


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
