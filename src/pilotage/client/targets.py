"""The target of a call: a kind, where it is served, and how its objects are decoded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import repeat
from typing import Generic

import msgspec

from pilotage.meta import objects
from pilotage.meta.forms import Object
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.models import Resource
from pilotage.meta.typevars import T_co
from pilotage.meta.unstructured import PartialObjectMetadata
from pilotage.meta.values import Value
from pilotage.rest import Bytes, Form
from pilotage.rest.answers import Expected


class KindTarget(Value, Generic[T_co], frozen=True, dict=True):
    """A kind for the client: where it is served, in which form it is requested, how it is decoded."""

    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool
    form: Form
    read: Callable[[Bytes], T_co]

    @cached_property
    def expected(self) -> Expected:
        """What its answers must be."""
        return Expected(self.gvk, self.form)


def replace_content(obj: Object, data: bytes) -> None:
    """Replace the content of `obj` by the server's answer, in place: references to it and its metadata stay valid."""
    if isinstance(obj, Resource):
        fresh_object = objects.decode(type(obj), data)
        metadata = obj.metadata
        _assign(metadata, fresh_object.metadata)
        _assign(obj, fresh_object)
        obj.metadata = metadata
        objects.with_origin(obj, data)
    elif isinstance(obj, PartialObjectMetadata):
        _assign(obj.metadata, PartialObjectMetadata.from_bytes(obj.gvk, data).metadata)
    else:
        fresh, document = objects.read(data), obj.document
        document.clear()
        document.update(fresh)
        _ = obj.metadata  # updates the typed view, which the caller may have


def _assign(obj: msgspec.Struct, fresh: msgspec.Struct) -> None:
    # `any` runs the loop in C: `setattr` returns None.
    any(map(setattr, repeat(obj), fresh.__struct_fields__, msgspec.structs.astuple(fresh)))
