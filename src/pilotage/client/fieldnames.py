"""Refusing documents that name fields as Python does: the server would drop those fields and report success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pilotage.client.patch import Patch
from pilotage.client.session import CallTarget, add_target
from pilotage.errors import BadRequest, Cause, StatusDetails
from pilotage.meta.forms import Kind, Object, gvk_of
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import MetadataOnly, PartialObjectMetadata, Unstructured
from pilotage.rest import PatchType

if TYPE_CHECKING:
    from pilotage.meta.wirenames import Misnamed


def check_patch(patch: Patch, patched: Object | Kind, place: CallTarget, scheme: Scheme) -> None:
    """Raise BadRequest where the patch's document has fields under their Python names."""
    if patch.document is None:
        return
    from pilotage.meta.wirenames import misnamed_fields, misnamed_operations

    model = _model(patched, scheme)
    if patch.type is not PatchType.JSON:
        _refuse("patch", misnamed_fields(patch.document, model), place)
    elif isinstance(patch.document, Sequence):
        _refuse("patch", misnamed_operations(patch.document, model), place)


def check_document(verb: str, obj: Object, place: CallTarget, scheme: Scheme) -> None:
    """The same for an object without a class, which is written as it is."""
    if not isinstance(obj, Resource) and isinstance(obj, Unstructured):
        from pilotage.meta.wirenames import misnamed_fields

        _refuse(verb, misnamed_fields(obj.document, _model(obj, scheme)), place)


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


def _refuse(verb: str, found: list[Misnamed], place: CallTarget) -> None:
    if not found:
        return
    fields = ", ".join(f'"{field.wire_path}" instead of "{field.path}"' for field in found)
    causes = tuple(
        Cause("FieldValueInvalid", f'Python name of the field "{field.wire_path}"', field.path) for field in found
    )
    gvk = place.target.gvk
    subject = f"{gvk.kind} {place}" if place.name else gvk.kind
    raise add_target(
        BadRequest(
            f"cannot {verb} {subject}: documents use the API's field names: write {fields}; the server "
            "drops a field that it does not know, so nothing was sent",
            details=StatusDetails(name=place.name, group=gvk.group, kind=gvk.kind, causes=causes),
        ),
        place,
    )
