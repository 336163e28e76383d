"""Refusing documents that name fields as Python does: the server would drop those fields and report success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pilotage.client.patch import Patch
from pilotage.client.session import Subject, add_subject
from pilotage.errors import BadRequest, Cause, StatusDetails
from pilotage.meta.forms import Kind, Object, gvk_of
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import MetadataOnly, PartialObjectMetadata, Unstructured
from pilotage.rest import PatchType

if TYPE_CHECKING:
    from pilotage.meta.wirenames import Misnamed


def check_patch(patch: Patch, patched: Object | Kind, subject: Subject, scheme: Scheme) -> None:
    """Raise BadRequest where the patch's document has fields under their Python names."""
    if patch.document is None:
        return
    from pilotage.meta.wirenames import misnamed_fields, misnamed_operations

    model = _model(patched, scheme)
    if patch.type is not PatchType.JSON:
        _refuse("patch", misnamed_fields(patch.document, model), subject)
    elif isinstance(patch.document, Sequence):
        _refuse("patch", misnamed_operations(patch.document, model), subject)


def check_document(verb: str, obj: Object, subject: Subject, scheme: Scheme) -> None:
    """The same for an object without a class, which is written as it is."""
    if not isinstance(obj, Resource) and isinstance(obj, Unstructured):
        from pilotage.meta.wirenames import misnamed_fields

        _refuse(verb, misnamed_fields(obj.document, _model(obj, scheme)), subject)


def _model(kind: Object | Kind, scheme: Scheme) -> type[Resource]:
    """The class that knows the fields: the object's own, its kind's, else one that has metadata alone."""
    if isinstance(kind, Resource):
        return type(kind)
    if isinstance(kind, type):
        return kind
    if isinstance(kind, MetadataOnly | PartialObjectMetadata):
        return Resource
    from pilotage.types import builtin

    gvk = gvk_of(kind)
    return scheme.type_for(gvk) or builtin.type_for(gvk) or Resource


def _refuse(verb: str, found: list[Misnamed], subject: Subject) -> None:
    if not found:
        return
    fields = ", ".join(f'"{field.wire_path}" instead of "{field.path}"' for field in found)
    causes = tuple(
        Cause("FieldValueInvalid", f'Python name of the field "{field.wire_path}"', field.path) for field in found
    )
    gvk = subject.kind.gvk
    what = f"{gvk.kind} {subject}" if subject.name else gvk.kind
    raise add_subject(
        BadRequest(
            f"cannot {verb} {what}: documents use the API's field names: write {fields}; the server "
            "drops a field that it does not know, so nothing was sent",
            details=StatusDetails(name=subject.name, group=gvk.group, kind=gvk.kind, causes=causes),
        ),
        subject,
    )
