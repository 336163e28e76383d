"""Models: Python classes for what is in an object, with snake_case names and the wire's camelCase.

A `Model` is a msgspec Struct with the rules of the API:

- an absent list or map reads as empty, and an empty one is not written unless it is required;
- an absent nested object or scalar that may be absent is `None`, and `None` is not written;
- a field to which the class gives any other default is always written.

`omit(default)` makes the exception: a field that is not written while it has its default.
"""

from __future__ import annotations

import copy
import sys
import typing
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import msgspec

from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.texts import texts
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.markers import Column, ListType, Marker, PatchMerge, PreserveUnknownFields, Rule, Scale
from pilotage.meta.redaction import hidden_fields, metadata_repr
from pilotage.meta.values import Value

T = TypeVar("T")
R = TypeVar("R", bound="type[Resource]")

_SCALARS = (str, int, float, bool, bytes)


def omit(default: T, *, name: str | None = None) -> T:
    """A field's default that is not written: `namespace: str = omit("")`. Objects share it, so it cannot be changed.
    `name` has the same meaning as for `json_name`."""
    is_model = isinstance(default, msgspec.Struct) and not default.__struct_config__.frozen
    if is_model or (isinstance(default, list | dict | set) and default):
        raise InvalidDefinition(
            f"omit({default!r:.200}): only a plain value such as text or a number can be left out by comparison; write "
            "`= None` for a field that may be absent, or the default without omit(…), which writes it"
        )
    made: T = msgspec.field(default=default, name=name)
    return made


def json_name(name: str, *, default: Any = msgspec.NODEFAULT) -> Any:
    """The name of a field in JSON and YAML, where it is not the attribute in camelCase.

        cluster_ip: str = json_name("clusterIP")
        external_ips: list[str] = json_name("externalIPs", default=[])

    Without a `default` the field is required; with one it is written as any other field with that default is.
    """
    if default is msgspec.NODEFAULT:
        return msgspec.field(name=name)
    found = _default(default)
    if _is_field(found):
        return msgspec.field(default_factory=found.default_factory, name=name)
    return msgspec.field(default=found, name=name)


def _constant(value: T) -> Callable[[], T]:
    # msgspec leaves out a field that has its default, but it does not compare what a factory makes: so this is written.
    if isinstance(value, _SCALARS):
        return lambda: value
    return lambda: copy.deepcopy(value)


def _is_field(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "msgspec"


def _annotated(namespace: dict[str, Any]) -> Collection[str]:
    """The names that the body of a class annotates."""
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        import annotationlib  # annotations are evaluated when they are asked for (PEP 649)

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    names: Collection[str] = namespace.get("__annotations__", ())
    return names


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field, json_name))
class ModelMeta(msgspec.StructMeta):
    """Makes the Struct behind a Model: keyword-only, camelCase, defaults by the rules above."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        given = {
            attribute: namespace[attribute]
            for attribute in _annotated(namespace)
            if attribute in namespace and not attribute.startswith("__")
        }
        namespace |= {attribute: _default(value) for attribute, value in given.items()}
        for option, value in (("kw_only", True), ("rename", "camel"), ("omit_defaults", True)):
            options.setdefault(option, value)
        if options.get("dict") or any(base.__dictoffset__ for base in bases):
            options.setdefault("gc", True)  # msgspec wants it of what has a `__dict__`
        markers = tuple(options.pop("markers", ()))
        made: Any = super().__new__(mcs, name, bases, namespace, **options)
        for attribute in given.keys() - set(made.__struct_fields__):  # a ClassVar
            setattr(made, attribute, given[attribute])
        if markers:
            made.__markers__ = made.__markers__ + markers
        return made

    if not typing.TYPE_CHECKING:

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            """Construct an object. msgspec's errors name neither the class nor the fields that it has."""
            try:
                return super().__call__(*args, **fields)
            except TypeError as error:
                if error.__traceback__.tb_next is None:  # raised by msgspec, not by code of the class
                    from pilotage.meta.arguments import refusal  # only for errors

                    raise TypeError(refusal(cls, fields, error)) from None
                raise


def _default(value: Any) -> Any:
    if value is None or _is_field(value) or (isinstance(value, list | dict | set | tuple) and not value):
        return value
    return msgspec.field(default_factory=_constant(value))


@dataclass_transform(
    kw_only_default=True, field_specifiers=(msgspec.field, json_name)
)  # else Struct's own wins in mypy
class Model(msgspec.Struct, metaclass=ModelMeta, gc=False):
    """A part of an object: a spec, a status, anything inside them.

    Objects are trees, so Python's cyclic garbage collector does not track their parts.

    Markers of the class as a whole are an option: `class Source(Model, markers=[ExactlyOneOf(…)])`.
    """

    __markers__: ClassVar[tuple[Marker, ...]] = ()


class FieldShape(Value, frozen=True):
    """What is known of one field: its wire name and how to walk into its value."""

    name: str
    """The wire's name."""
    attribute: str
    """Python's name."""
    required: bool
    model: type[Model] | None
    """The model of the value, of a list's items or of a map's values; None where it is plain data."""
    container: Literal["", "list", "map"]
    keys: tuple[str, ...]
    """The wire names of the map keys of a list; empty if there are none."""
    merge: PatchMerge | None
    """How strategic merge patches treat it, on built-in types."""
    nullable: bool = False
    """Whether `null` is a valid value, not just another form of absence."""
    keeps_unknown_fields: bool = False
    """Whether fields that its model does not have are kept: `x-kubernetes-preserve-unknown-fields`."""


_SHAPES: dict[type, dict[str, FieldShape]] = {}


def shapes(model: type[Model]) -> dict[str, FieldShape]:
    """The fields of `model` by wire name. Computed once for each class."""
    known = _SHAPES.get(model)
    if known is None:
        known = {shape.name: shape for shape in _shapes(model)}
        _SHAPES[model] = known
    return known


def _shapes(model: type[Model]) -> Iterator[FieldShape]:
    hints = typing.get_type_hints(model, include_extras=True)
    for info in msgspec.structs.fields(model):
        markers, container, inner = unwrap(hints[info.name])
        list_type = next((marker for marker in markers if isinstance(marker, ListType)), None)
        merge = next((marker for marker in markers if isinstance(marker, PatchMerge)), None)
        keys = list_type.keys if list_type is not None and list_type.value == "map" else ()
        if inner is Condition and container == "list" and list_type is None:
            keys = ("type",)
        if not keys and merge is not None and merge.key and "merge" in merge.strategy:
            keys = (merge.key,)
        yield FieldShape(
            name=info.encode_name,
            attribute=info.name,
            required=info.required,
            model=inner if isinstance(inner, type) and issubclass(inner, Model) else None,
            container=container,
            keys=keys,
            merge=merge,
            nullable=_nullable(hints[info.name]),
            keeps_unknown_fields=_keeps_unknown_fields(hints[info.name]),
        )


def _nullable(hint: Any) -> bool:
    while typing.get_origin(hint) is typing.Annotated:
        hint = hint.__origin__
    return hint is Any or type(None) in typing.get_args(hint)


def _keeps_unknown_fields(hint: Any) -> bool:
    if any(isinstance(marker, PreserveUnknownFields) for marker in getattr(hint, "__metadata__", ())):
        return True
    return any(map(_keeps_unknown_fields, typing.get_args(hint)))


def unwrap(hint: Any) -> tuple[tuple[Marker, ...], Literal["", "list", "map"], Any]:
    """Take a hint apart: its markers, whether it is a list or a map, and the type inside."""
    markers: list[Marker] = []
    container: Literal["", "list", "map"] = ""
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            if not container:
                markers += [marker for marker in hint.__metadata__ if isinstance(marker, Marker)]
            hint = hint.__origin__
        elif origin in (list, tuple, set, frozenset) and not container:
            container, hint = "list", typing.get_args(hint)[0]
        elif origin is dict and not container:
            container, hint = "map", typing.get_args(hint)[1]
        elif (alone := _without_none(hint)) is not None:
            hint = alone
        else:
            return tuple(markers), container, hint


def _without_none(hint: Any) -> Any:
    arguments = typing.get_args(hint)
    if type(None) not in arguments:
        return None
    rest = [argument for argument in arguments if argument is not type(None)]
    return rest[0] if len(rest) == 1 else None


class OwnerReference(Model):
    """An owner of this object; the object is deleted when all its owners are deleted."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Model):
    """The fields that a field manager owns.

    They may be half of an object, and few programs read them: they stay JSON until `fields_v1` is read.
    """

    manager: str = omit("")
    operation: str = omit("")
    api_version: str = omit("")
    time: datetime | None = None
    fields_type: str = omit("")
    raw_fields: msgspec.Raw | msgspec.UnsetType = msgspec.field(name="fieldsV1", default=msgspec.UNSET)
    subresource: str = omit("")

    @property
    def fields_v1(self) -> dict[str, Any] | None:
        """The set of fields, decoded each time it is read."""
        fields: dict[str, Any] | None = msgspec.json.decode(self.raw_fields) if self.raw_fields else None
        return fields

    @fields_v1.setter
    def fields_v1(self, fields: dict[str, Any] | None) -> None:
        self.raw_fields = msgspec.UNSET if fields is None else msgspec.Raw(msgspec.json.encode(fields))

    def __repr__(self) -> str:
        return f"ManagedFieldsEntry({msgspec.to_builtins(self, enc_hook=msgspec.json.decode)!r})"


METADATA_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""The fields of metadata, in the order in which Kubernetes writes them."""


class ObjectMeta(Model):
    """The metadata of every object: its identity, its version, its labels, annotations and owners."""

    name: str = omit("")
    generate_name: str = omit("")
    namespace: str = omit("")
    uid: str = omit("")
    resource_version: str = omit("")
    generation: int = omit(0)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: typing.Annotated[list[OwnerReference], ListType("map", "uid"), PatchMerge(key="uid")] = []
    finalizers: typing.Annotated[list[str], ListType("set"), PatchMerge()] = []
    managed_fields: typing.Annotated[list[ManagedFieldsEntry], ListType("atomic")] = []
    self_link: str = omit("")

    def __repr__(self) -> str:
        return metadata_repr(self, self.annotations)


class ListMeta(Model):
    """The metadata of a list: the version of the snapshot, and where the next page starts."""

    resource_version: str = omit("")
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None
    self_link: str = omit("")


class Condition(Model):
    """One aspect of an object's state, as observed by a controller."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class ResourceDefinition(Value, frozen=True):
    """The definition of a kind in the API: its names, scope and everything of a CRD but the schema."""

    gvk: GroupVersionKind
    plural: str
    singular: str
    namespaced: bool = True
    builtin: bool = False
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    rules: tuple[Rule, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    served: bool = True
    storage: bool = True
    skip: bool = False
    deprecated: bool = False
    deprecation_warning: str = ""
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class Origin:
    """Has a slot for the bytes that an object was decoded from, which `meta.objects` reads and writes.

    A slot, because an object with a `__dict__` would be tracked by Python's cyclic garbage collector.
    """

    __slots__ = ("_origin",)


class Resource(Origin, Model):
    """A kind of object. Subclass it, add `spec` and `status`, and name it with `@resource`."""

    __resource__: ClassVar[ResourceDefinition]

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def api_version(self) -> str:
        return self.__resource__.gvk.api_version

    @property
    def kind(self) -> str:
        return self.__resource__.gvk.kind

    def __repr__(self) -> str:
        info: ResourceDefinition | None = getattr(self, "__resource__", None)
        fields = hidden_fields(info.gvk.group, info.gvk.kind, self) if info is not None else None
        return msgspec.Struct.__repr__(msgspec.structs.replace(self, **fields) if fields else self)


def plural_of(kind: str) -> str:
    """The English plural of a kind in lower case, by the rules Kubernetes' tools use."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in ("", "a", "e", "i", "o", "u"):
        return word[:-1] + "ies"
    return word + "s"


def resource(
    *,
    group: str,
    version: str,
    kind: str = "",
    plural: str = "",
    singular: str = "",
    scope: Literal["Namespaced", "Cluster"] = "Namespaced",
    short_names: typing.Sequence[str] = (),
    categories: typing.Sequence[str] = (),
    status: bool = False,
    scale: Scale | None = None,
    columns: typing.Sequence[Column] = (),
    rules: typing.Sequence[Rule] = (),
    selectable_fields: typing.Sequence[str] = (),
    served: bool = True,
    storage: bool = True,
    skip: bool = False,
    deprecated: bool | str = False,
    annotations: typing.Mapping[str, str] | None = None,
    labels: typing.Mapping[str, str] | None = None,
) -> Callable[[R], R]:
    """Declare what a `Resource` class is in the API. The defaults derive from the class's name.

    `group`, `version` and `kind` are its API; `plural` and `singular` its resource names, with `short_names` and
    `categories` for kubectl. `scope` is Namespaced or Cluster. `status` and `scale` add the subresources, `columns` the
    columns of `kubectl get`, `rules` CEL rules for the whole object, and `selectable_fields` the paths by which field
    selectors select. `annotations` and `labels` go on the CustomResourceDefinition. `served` and `storage` are the
    fields of the version in it: whether it is served, and whether objects are stored in it.

    `deprecated` may be the warning that users of this version see. A kind with several versions is several classes
    with the same group and kind; just one of them has `storage=True`. A version with `skip=True` is for programs only:
    it is left out of the CRD.
    """

    if scope not in ("Namespaced", "Cluster"):
        raise InvalidDefinition(f'scope={scope!r} is not a scope; give "Namespaced" or "Cluster"')
    _refuse_text(short_names=short_names, categories=categories, selectable_fields=selectable_fields)

    def name(cls: R) -> R:
        if not issubclass(cls, Resource):
            raise InvalidDefinition(f"{cls.__qualname__} is not a Resource: write class {cls.__name__}(Resource)")
        named = kind or cls.__name__
        cls.__resource__ = ResourceDefinition(
            gvk=GroupVersionKind(group, version, named),
            plural=plural or plural_of(named),
            singular=singular or named.lower(),
            namespaced=scope == "Namespaced",
            list_kind=f"{named}List",
            short_names=tuple(short_names),
            categories=tuple(categories),
            status=status,
            scale=scale,
            columns=tuple(columns),
            rules=tuple(rules),
            selectable_fields=tuple(selectable_fields),
            served=served,
            storage=storage,
            skip=skip,
            deprecated=bool(deprecated),
            deprecation_warning=deprecated if isinstance(deprecated, str) else "",
            annotations=dict(annotations or {}),
            labels=dict(labels or {}),
        )
        return cls

    return name


def _refuse_text(**options: typing.Sequence[str]) -> None:
    """Reject a string where a list of strings is expected: a string is a sequence of strings too."""
    for option, value in options.items():
        texts(value, option)
