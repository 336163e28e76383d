"""Admission: functions that see each write before it is stored. Mutating ones come first, then validating ones.

A function raises an ApiError to reject the write. It is a coroutine because it may call another system. The chain is
empty by default; it is part of the registry's context. `pilotage.server.plugins` has the functions of kube-apiserver.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource, GroupVersionKind, GroupVersionResource
from pilotage.meta.values import Value
from pilotage.rest.request import APIRequest, User

if TYPE_CHECKING:
    from pilotage.server.resources import ResourceInfo

T = TypeVar("T")
_NAMESPACES = GroupResource("", "namespaces")


class Operation(enum.Enum):
    """What a write does."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    """Of an update or a patch."""
    DELETE = "DELETE"
    CONNECT = "CONNECT"
    """A connection to a subresource such as `exec`. The new object has its options."""


class Reinvocation:
    """Whether the mutating functions run a second time, and what functions keep for the rest of the request.

    A function that calls webhooks or policies requests it when one of them has changed the object.
    """

    # Attributes of the class: most writes make one of these and never look at it.
    wanted = False
    """Whether a function has changed the object, so that other functions may have to check it again."""
    running = False
    """This is the second run."""

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """What functions keep under this name until the request ends."""
        if name not in self.__dict__:
            self.__dict__[name] = make()
        state: T = self.__dict__[name]
        return state


class Attributes(Value, frozen=True):
    """A write, for admission functions."""

    __unshown__ = frozenset({"request", "new", "old", "info", "body", "reinvocation"})

    operation: Operation
    request: APIRequest
    new: Document | None
    """The object to be stored, which a mutating function changes in place; None for a delete."""
    old: Document | None
    """The stored object, which is not changed; None for a create."""
    warnings: list[str] = []
    """The warnings to the writer; a function may add to them."""
    info: ResourceInfo | None = None
    """The resource at the version of the request; None in tests of single functions."""
    body: ResourceInfo | None = None
    """The kind of the objects, if they are not objects of the resource: a Scale, an Eviction."""
    collection: bool = False
    """Part of a delete collection, which names no object."""
    accepted: bool = False
    """The new object is known to be valid, as long as no function changes it."""
    reinvocation: Reinvocation = msgspec.field(default_factory=Reinvocation)

    def annotate(self, key: str, value: str, *, detailed: bool = False) -> None:
        """Add an annotation for the audit log, where there is one. The first value of a key stays.

        One that is `detailed` is for a log that has the objects of requests.
        """
        annotations = self.request.annotations
        if annotations is not None and (annotations.detailed or not detailed):
            annotations.setdefault(key, value)

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of the objects."""
        info = self.body or self.info
        assert info is not None, "verbs set the resource info before admission"
        return info.gvk

    @property
    def name(self) -> str:
        """The name of the object; empty for one that has no name yet, and in a delete collection."""
        if self.request.name or self.operation is not Operation.CREATE or self.new is None:
            return "" if self.collection else self.request.name
        return str(self.new["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        """The namespace of the object. A namespace is in itself."""
        if self.resource.group_resource == _NAMESPACES and not self.collection:
            return self.name
        return self.request.namespace

    @property
    def user(self) -> User:
        """The user that writes."""
        return self.request.user

    @property
    def resource(self) -> GroupVersionResource:
        """The resource that is written."""
        return self.request.resource

    @property
    def subresource(self) -> str:
        """Which part is written; empty for the whole object."""
        return self.request.subresource.partition("/")[0]  # what follows `proxy` is the path of the service

    @property
    def dry_run(self) -> bool:
        """Whether nothing is stored: then a function must have no effect on anything but the object."""
        return self.request.write.dry_run or self.request.delete.dry_run


AdmissionFunction = Callable[[Attributes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limited:
    """An admission function for some resources only, at no cost for writes of other resources."""

    load: Callable[[], AdmissionFunction]
    """Returns the function, when the first of these resources is written."""
    resources: frozenset[GroupResource] | None = None
    """None: all resources."""
    configured_by: str = ""
    """The stored objects that configure it, `configurations` or `quotas`: without any, the function is skipped."""
    keeps_managed_fields: bool = False
    """Whether it never changes managed fields in place."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The chain of functions, in their order."""

    mutating: tuple[AdmissionFunction | Limited, ...] = ()
    validating: tuple[AdmissionFunction | Limited, ...] = ()
    _of: dict[tuple[GroupResource, bool, bool], ResourceAdmission] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of(self, resource: GroupResource, *, configurations: bool = True, quotas: bool = True) -> ResourceAdmission:
        """The part of the chain that sees the writes of one resource, if there are configurations and quotas."""
        key = resource, configurations, quotas
        found = self._of.get(key)
        if found is None:
            there = {"configurations": configurations, "quotas": quotas}
            absent = frozenset(name for name in there if not there[name])
            mutating = _selected(self.mutating, resource, absent)
            found = ResourceAdmission(
                _loaded(mutating),
                _loaded(_selected(self.validating, resource, absent)),
                all(isinstance(each, Limited) and each.keeps_managed_fields for each in mutating),
            )
            if len(self._of) < _MAX_RESOURCES:
                self._of[key] = found
        return found


_MAX_RESOURCES = 4096


def _selected(
    functions: tuple[AdmissionFunction | Limited, ...], resource: GroupResource, absent: frozenset[str]
) -> list[AdmissionFunction | Limited]:
    return [
        each
        for each in functions
        if not isinstance(each, Limited)
        or (each.configured_by not in absent and (each.resources is None or resource in each.resources))
    ]


def _loaded(functions: list[AdmissionFunction | Limited]) -> tuple[AdmissionFunction, ...]:
    return tuple(each.load() if isinstance(each, Limited) else each for each in functions)


_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder()
"""They copy field sets, which are names alone, in a fifth of the time of a copy in Python."""


@dataclass(frozen=True, slots=True)
class ResourceAdmission:
    """The functions that see the writes of one resource."""

    mutating: tuple[AdmissionFunction, ...] = ()
    validating: tuple[AdmissionFunction, ...] = ()
    keeps_managed_fields: bool = False
    """Whether no mutating function changes managed fields in place."""

    def __bool__(self) -> bool:
        return bool(self.mutating or self.validating)

    async def mutate(self, attributes: Attributes) -> None:
        """Call the mutating functions, which may change the object; twice, if one of them requests it. Raises
        ApiError."""
        metadata = attributes.new.get("metadata") if attributes.new is not None else None
        if metadata and "managedFields" in metadata and not self.keeps_managed_fields:
            # Objects share field sets, which may be changed in place now.
            metadata["managedFields"] = _DECODER.decode(_ENCODER.encode(metadata["managedFields"]))
        for function in self.mutating:
            await function(attributes)
        if attributes.reinvocation.wanted:
            attributes.reinvocation.running = True
            for function in self.mutating:
                await function(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Call the validating functions, which may reject the write. Raises ApiError."""
        for function in self.validating:
            await function(attributes)
