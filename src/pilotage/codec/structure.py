"""An OpenAPI definition, compiled once into functions that decode and encode its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from pilotage.codec import scalars
from pilotage.codec.scalars import Mismatch, wrong_type
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin

Decode = Callable[[Any, list[None]], Any]
"""Converts JSON to the internal form. Each unknown field is added to the list."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CORE = "io.k8s.api.core.v1."
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_QUANTITIES = {"$ref": f"{builtin.REFERENCE}{_QUANTITY}"}
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_SCALARS: dict[str, tuple[Decode, Any]] = {
    f"{_META}Time": (scalars.time, None),
    f"{_META}MicroTime": (scalars.micro_time, None),
    f"{_META}FieldsV1": (scalars.anything, None),
    _QUANTITY: (scalars.quantity, "0"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (scalars.int_or_string, 0),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": (scalars.anything, None),
    f"{_EXTENSIONS}JSON": (scalars.anything, None),
}
"""Definitions that are single values: their decoder, and what null means in a list or a map of them."""
_UNIONS = {
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": "boolean or JSON schema expected",
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": "",
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": "",
}
"""Definitions whose values are a schema or another type, and the error for values that are neither."""
_TYPES: dict[tuple[str, str], tuple[type | None, Decode, Any]] = {
    ("string", ""): (str, scalars.string, ""),
    ("string", "byte"): (None, scalars.base64_bytes, ""),
    ("boolean", ""): (bool, scalars.boolean, False),
    ("integer", "int32"): (None, scalars.int32, 0),
    ("integer", "int64"): (None, scalars.int64, 0),
    ("number", "double"): (None, scalars.number, 0),
}
_DISABLED = {
    "io.k8s.api.core.v1.PodSpec": ("schedulingGroup",),
    "io.k8s.api.core.v1.PodStatus": ("nodeAllocatableResourceClaimStatuses",),
    "io.k8s.api.core.v1.VolumeMountStatus": ("volumeStatus",),
    "io.k8s.api.core.v1.VolumeProjection": ("clusterTrustBundle", "podCertificate"),
}
"""Fields behind feature gates that are off in a release: a writer owns them, but they are not stored."""


_KEPT = {
    f"{_META}ObjectMeta": frozenset(("managedFields",)),
    "io.k8s.api.certificates.v1.CertificateSigningRequestSpec": frozenset(("request",)),
    "io.k8s.api.core.v1.EphemeralContainer": frozenset(("ports", "resizePolicy", "restartPolicyRules")),
    "io.k8s.api.core.v1.ResourceRequirements": frozenset(("claims",)),
    "io.k8s.api.core.v1.VolumeResourceRequirements": frozenset(("requests",)),
    "io.k8s.api.autoscaling.v2.HPAScalingRules": frozenset(("policies",)),
    "io.k8s.api.resource.v1.ResourceSliceSpec": frozenset(("devices", "sharedCounters")),
    "io.k8s.api.core.v1.LimitRangeSpec": frozenset(("limits",)),
    "io.k8s.api.discovery.v1.EndpointSlice": frozenset(("endpoints",)),
    "io.k8s.api.rbac.v1.ClusterRole": frozenset(("rules",)),
    "io.k8s.api.rbac.v1.Role": frozenset(("rules",)),
    "io.k8s.api.storage.v1.CSINodeSpec": frozenset(("drivers",)),
}
"""Fields that are kept when they are empty: empty managed fields are a reset; empty lists may be rejected, or have an
owner."""


@dataclass(frozen=True, slots=True)
class ValueShape:
    """The type of a field, an item or a value."""

    exact: type | None
    """A value of just this type needs no decoding."""
    decode: Decode
    zero: Any = None
    """What null means for an item of a list or a value of a map; unless it is a structure."""
    structure: Structure | None = None
    """The structure that it is, or that its items or values are."""
    step: str = ""
    """`[]` for a list, `{}` for a map."""

    @property
    def kept(self) -> bool:
        """Whether an empty value differs from an absent one: structures, and free-form JSON."""
        return self.decode is scalars.anything or (self.structure is not None and not self.step)


class Structure:
    """One definition with fields."""

    def __init__(self, name: str) -> None:
        self.name = name

    def decode(self, value: Any, unknown: list[None]) -> Document:
        """The internal form, as a new document. Raises Mismatch."""
        if type(value) is not dict:
            raise wrong_type(value, "object")
        fields, document = self._fields, {}
        key = ""
        try:
            for key, item in value.items():
                field = fields.get(key)
                if field is None:
                    unknown.append(None)
                    continue
                exact, decode, keeps = field
                if item.__class__ is not exact:
                    if item is None:
                        continue
                    item = decode(item, unknown)
                if item or (keeps and item is not None):
                    document[key] = item
        except Mismatch as mismatch:
            mismatch.path.append(key)
            raise
        for key, inner in self._values:
            if key not in document:
                document[key] = inner.decode({}, unknown)
        return document

    def decode_stored(self, document: Document) -> Document:
        """The internal form of a stored document; unchanged, if it was stored under older rules and cannot be
        decoded."""
        try:
            return self.decode(document, [])
        except Mismatch:
            return document

    def encode(self, document: Document) -> None:
        """Fill in fields that are written even if they are empty, in place."""
        for key, zero in self._always:
            if key not in document or (document[key] == [] and zero is None):  # an empty list is written as null
                document[key] = zero
        for key, _ in self._values:
            if key not in document:
                document[key] = {}
        for key, shape, inner in self._encoded:
            item = document.get(key)
            if not shape.step:
                if item is not None:
                    inner.encode(item)
            elif item and shape.step == "[]":
                for each in item:
                    if each is not None:
                        inner.encode(each)
            elif item:
                _each_structure(shape, item, Structure.encode)

    def drop_disabled(self, document: Document) -> None:
        """Remove the fields behind feature gates that are off, in place."""
        for key in _DISABLED.get(self.name, ()):
            document.pop(key, None)
        for key, shape in self._with_disabled:
            if item := document.get(key):
                _each_structure(shape, item, Structure.drop_disabled)

    def unknown_fields(self, value: Document, path: str = "") -> Iterator[str]:
        """The paths of fields that are not known, of a document that can be decoded."""
        for key, item in value.items():
            shape = self._shapes.get(key)
            if shape is None:
                yield f"{path}{key}"
            elif shape.structure is not None and item:
                yield from _unknown_items(shape, item, f"{path}{key}")

    @cached_property
    def _schema(self) -> Document:
        return builtin.definition(self.name)

    @cached_property
    def _shapes(self) -> dict[str, ValueShape]:
        properties: dict[str, Document] = self._schema.get("properties", {})
        core = self.name.startswith(_CORE)
        return {
            key: _AMOUNTS if core and schema.get("additionalProperties") == _QUANTITIES else _shape(schema)
            for key, schema in properties.items()
        }

    @cached_property
    def _fields(self) -> dict[str, tuple[type | None, Decode, bool]]:
        pointers = builtin.encoding(self.name).pointers | _KEPT.get(self.name, frozenset())
        fields = {
            key: (shape.exact, shape.decode, key in pointers or shape.kept) for key, shape in self._shapes.items()
        }
        for key, (_, decode, _) in fields.items():
            if decode is scalars.int_or_string and key not in pointers:
                fields[key] = (None, scalars.int_or_string_or_none, True)
        return fields

    @cached_property
    def _always(self) -> tuple[tuple[str, Any], ...]:
        always = builtin.encoding(self.name).always
        return tuple((key, zero) for key, zero in always.items() if zero != {} and key in self._shapes)

    @cached_property
    def _values(self) -> tuple[tuple[str, Structure], ...]:
        """The structures that always exist."""
        return tuple(
            (key, structure)
            for key, zero in builtin.encoding(self.name).always.items()
            if zero == {} and key in self._shapes and (structure := self._shapes[key].structure) is not None
        )

    @cached_property
    def _encoded(self) -> tuple[tuple[str, ValueShape, Structure], ...]:
        """The fields with something to fill in below them."""
        return tuple(
            (key, shape, shape.structure)
            for key, shape in self._shapes.items()
            if shape.structure is not None and any(each._always or each._values for each in _reachable(shape.structure))
        )

    @cached_property
    def _with_disabled(self) -> tuple[tuple[str, ValueShape], ...]:
        """The fields with disabled ones below them."""
        return tuple(
            (key, shape)
            for key, shape in self._shapes.items()
            if shape.structure is not None and any(each.name in _DISABLED for each in _reachable(shape.structure))
        )


@cache
def structure(name: str) -> Structure:
    """The structure of a definition with fields."""
    return Structure(name)


def structure_of(gvk: GroupVersionKind) -> Structure:
    """The structure of a built-in kind. KeyError where it is not one."""
    name = builtin.definition_name(gvk)
    if name is None:
        raise KeyError(f"{gvk} is not a built-in kind")
    return structure(name)


def _reachable(start: Structure) -> list[Structure]:
    """A structure, and all below it."""
    found = {start.name: start}
    waiting = [start]
    while waiting:
        for shape in waiting.pop()._shapes.values():
            inner = shape.structure
            if inner is not None and inner.name not in found:
                found[inner.name] = inner
                waiting.append(inner)
    return list(found.values())


def _shape(schema: Document) -> ValueShape:
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), "")
    if reference:
        return _named(reference.removeprefix(builtin.REFERENCE))
    kind = schema["type"]
    if kind == "array":
        return _list(_shape(schema["items"]))
    if kind == "object":
        return _map(_shape(schema["additionalProperties"]))
    return ValueShape(*_TYPES[kind, schema.get("format", "")])


def _named(name: str) -> ValueShape:
    if name in _SCALARS:
        decode, zero = _SCALARS[name]
        return ValueShape(None, decode, zero)
    if name in _UNIONS:
        return ValueShape(None, _union(name), None)
    inner = structure(name)
    return ValueShape(None, inner.decode, None, inner)


def _list(item: ValueShape) -> ValueShape:
    exact, decode, zero = item.exact, item.decode, item.zero
    inner = item.structure if not item.step else None

    def decode_list(value: Any, unknown: list[None]) -> list[Any]:
        if type(value) is not list:
            raise wrong_type(value, "array")
        found: list[Any] = []
        try:
            for each in value:
                if type(each) is not exact:
                    if each is not None:
                        each = decode(each, unknown)
                    else:
                        each = zero if inner is None else inner.decode({}, unknown)
                found.append(each)
        except Mismatch as mismatch:
            mismatch.path.append(len(found))
            raise
        return found

    return ValueShape(None, decode_list, None, item.structure, f"[]{item.step}")


def _map(item: ValueShape) -> ValueShape:
    exact, decode, zero = item.exact, item.decode, item.zero
    inner = item.structure if not item.step else None
    all_exact = frozenset((exact,))

    def decode_map(value: Any, unknown: list[None]) -> Document:
        if type(value) is not dict:
            raise wrong_type(value, "object")
        if all_exact.issuperset(map(type, value.values())):
            return dict(value)  # most maps have texts alone
        found: Document = {}
        key = ""
        try:
            for key, each in value.items():
                if type(each) is not exact:
                    if each is not None:
                        each = decode(each, unknown)
                    else:
                        each = zero if inner is None else inner.decode({}, unknown)
                found[key] = each
        except Mismatch as mismatch:
            mismatch.path.append(key)
            raise
        return found

    return ValueShape(None, decode_map, None, item.structure, f"{{}}{item.step}")


def _union(name: str) -> Decode:
    """A schema or a boolean, a list of schemas, a list of strings."""
    schema = structure(f"{_EXTENSIONS}JSONSchemaProps")

    def decode(value: Any, unknown: list[None]) -> Any:
        if type(value) is dict:
            return schema.decode(value, unknown)
        if name.endswith("OrBool") and type(value) is not bool:
            raise Mismatch(_UNIONS[name])
        if name.endswith("OrArray") and type(value) is list:
            return _list(ValueShape(None, schema.decode, None, schema)).decode(value, unknown)
        if name.endswith("OrStringArray") and type(value) is list:
            return _list(ValueShape(str, scalars.string, "")).decode(value, unknown)
        return value if type(value) is bool else None

    return decode


def _unknown_items(shape: ValueShape, value: Any, path: str) -> Iterator[str]:
    if shape.structure is None:
        return
    if not shape.step:
        yield from shape.structure.unknown_fields(value, f"{path}.")
        return
    inner = ValueShape(None, shape.decode, None, shape.structure, shape.step[2:])
    items = enumerate(value) if shape.step.startswith("[]") else value.items()
    for key, item in items:
        if item:
            yield from _unknown_items(inner, item, f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}")


def _each_structure(shape: ValueShape, value: Any, call: Callable[[Structure, Document], None], depth: int = 0) -> None:
    """Call it with each document of the structure that a value is, or that its items are."""
    assert shape.structure is not None
    if depth * 2 == len(shape.step):
        call(shape.structure, value)
        return
    for item in value if shape.step[depth * 2] == "[" else value.values():
        if item is not None:
            _each_structure(shape, item, call, depth + 1)


_AMOUNTS = _map(ValueShape(None, scalars.resource_amount, "0"))
"""The resource lists of containers, nodes and quotas."""
