"""What a call is about: a kind, where it is served, and how its bytes are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import msgspec

from pilotage.meta import objects
from pilotage.meta.forms import Object
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.models import ObjectMeta
from pilotage.meta.typevars import T_co
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured
from pilotage.rest import Bytes, Form
from pilotage.rest.answers import Expected


@dataclass(frozen=True, slots=True)
class Target(Generic[T_co]):
    """A kind as the client sees it: where it is served, in which form it is asked for, how it is read."""

    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool
    form: Form
    read: Callable[[Bytes], T_co]

    @property
    def expected(self) -> Expected:
        """What its answers must be."""
        return Expected(self.gvk, self.form)


def replace_content(obj: Object, data: bytes) -> None:
    """Make `obj` what the server answered, in place: those who hold it, or its metadata, see the new version."""
    if isinstance(obj, Unstructured):
        fresh, document = objects.read(data), obj.document
        document.clear()
        document.update(fresh)
        _ = obj.metadata  # whoever holds the typed view sees it too
    elif isinstance(obj, PartialObjectMetadata):
        _assign(obj.metadata, PartialObjectMetadata.from_bytes(obj.gvk, data).metadata, ObjectMeta)
    else:
        fresh_object = objects.decode(type(obj), data)
        metadata = obj.metadata
        _assign(metadata, fresh_object.metadata, ObjectMeta)
        _assign(obj, fresh_object, type(obj))
        obj.metadata = metadata
        objects.with_origin(obj, data)


def _assign(obj: msgspec.Struct, fresh: msgspec.Struct, kind: type[msgspec.Struct]) -> None:
    for name in kind.__struct_fields__:
        setattr(obj, name, getattr(fresh, name))
