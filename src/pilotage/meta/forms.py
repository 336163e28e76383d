"""The forms of an object: of a class, as a document, as metadata alone; how each is requested, and how it is
decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

import msgspec

from pilotage.errors import BadRequest, InvalidDefinition
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.meta.objects import Bytes
from pilotage.meta.typevars import T_co, TypeVar
from pilotage.meta.unstructured import MetadataOnly, PartialObjectMetadata, Unstructured
from pilotage.meta.validation.names import check_segment

Object = Resource | Unstructured | PartialObjectMetadata
"""An object in one of its three forms."""


class ObjectKey(Protocol):
    """What names an object: a reconciler's `Request`, or the metadata of another object."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


O = TypeVar("O", bound=Object, default=Any)  # noqa: E741


class ObjectForm(Protocol[T_co]):
    """A kind without its class: `GroupVersionKind` for `Unstructured`, `MetadataOnly` for `PartialObjectMetadata`."""

    @property
    def object_type(self) -> type[T_co]: ...


KindOf: TypeAlias = type[O] | ObjectForm[O]
"""Selects a form of an object: a class, a GroupVersionKind for the document, `metadata_only` of either for the
metadata. O is the type of the objects, for type checkers."""

Kind: TypeAlias = KindOf[Any]
"""The same, where the type of the objects does not matter."""


def gvk_of(kind: Kind | Object) -> GroupVersionKind:
    """The group, version and kind of a class, of a kind's name or of an object."""
    if isinstance(kind, GroupVersionKind):
        return kind
    if isinstance(kind, MetadataOnly | PartialObjectMetadata | Unstructured):
        return kind.gvk
    info = getattr(kind, "__resource__", None)
    if info is None:
        raise no_kind(kind)
    gvk: GroupVersionKind = info.gvk
    return gvk


def key_of(name: str | ObjectKey, namespace: str) -> tuple[str, str]:
    """The namespace and the name of a call, from a name, or from an object that has both.

    Raises BadRequest for what cannot be one part of a path: `web/status` is no name, but on an API server the path of a
    subresource.
    """
    if isinstance(name, str):
        check_segment("name", name)
        check_segment("namespace", namespace)
        return namespace, name
    key, own = getattr(name, "name", None), getattr(name, "namespace", None)
    if not isinstance(key, str) or not isinstance(own, str):
        raise BadRequest(
            f"the name of an object must be a str or a request with name and namespace, not {type(name).__name__}"
            + ("; pass its metadata" if hasattr(name, "metadata") else "")
        )
    if namespace:
        raise BadRequest(
            f"the namespace is given twice: {namespace!r} beside {type(name).__name__} {own}/{key}; leave namespace=… "
            "out, or pass the name alone"
        )
    check_segment("name", key)
    check_segment("namespace", own)
    return own, key


def kind_of(obj: Object) -> Kind:
    """The kind whose reads return such an object."""
    if isinstance(obj, Resource):  # first: most objects are, and it takes the least time
        return type(obj)
    if isinstance(obj, Unstructured):
        return obj.gvk
    if isinstance(obj, PartialObjectMetadata):
        return MetadataOnly(obj.gvk)
    raise InvalidDefinition(f"{_described(obj)} is not an object: {_instead_of(obj)}")


def no_kind(given: object) -> InvalidDefinition:
    """The error for an object in place of its kind, and for anything else that is not one."""
    if isinstance(given, Resource):
        name = type(given).__name__
        return InvalidDefinition(f"a {name} object is not a kind: give the class {name}")
    return InvalidDefinition(
        f"{_described(given)} is not a kind: give a Resource class named with @resource(group=…, version=…), a "
        "GroupVersionKind, or metadata_only(…) of either"
    )


def _described(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"


def _instead_of(given: object) -> str:
    if isinstance(given, Mapping):
        return "wrap the document, Unstructured(document)"
    if isinstance(given, type):
        return f"make one, {given.__name__}(…)"
    return "give an object of a Resource class, or Unstructured(document)"


def reader_of(kind: Kind, *, stored: bool = False) -> Callable[[Bytes], Any]:
    """The function that decodes bytes into an object of the requested form.

    Bytes that are `stored`, in a cache, always have apiVersion and kind, so they are not checked, which would take
    time.
    """
    if isinstance(kind, MetadataOnly):
        return partial(PartialObjectMetadata.from_bytes, kind.gvk)
    if isinstance(kind, GroupVersionKind):
        return Unstructured.from_bytes if stored else lambda data: Unstructured.from_bytes(typed(kind, data))
    return partial(objects.decode, cast("type[Resource]", kind))


def typed(gvk: GroupVersionKind, data: Bytes) -> Bytes:
    """`data` with apiVersion and kind: the items of a list of built-in objects come without them."""
    if objects.envelope(data).kind:
        return data
    head = msgspec.json.encode({"apiVersion": gvk.api_version, "kind": gvk.kind})
    rest = bytes(data).lstrip()[1:].lstrip()
    return head[:-1] + (b"" if rest.startswith(b"}") else b",") + rest
