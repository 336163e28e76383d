"""The registry's information about one served resource, built in or defined by a CRD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pilotage.errors import AlreadyExists, Cause, Conflict, Forbidden, Invalid, NotFound, StatusDetails
from pilotage.meta.causes import invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind, GroupResource, GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.meta.values import Value
from pilotage.rest.request import Verb
from pilotage.server.definitions import collection_of, head_of

if TYPE_CHECKING:  # compiled on use: a program that touches three kinds pays for three
    from pilotage.codec.defaults.table import Default
    from pilotage.codec.structure import Structure
    from pilotage.schema.structural import StructuralSchema
    from pilotage.server.kinds import Action, Rows
    from pilotage.server.strategies.rules import Rules
    from pilotage.server.strategies.strategy import Strategy
    from pilotage.server.webhooks.endpoints import DefinitionConversion

_MAX_TEXT = 2000
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class ResourceInfo(Value, frozen=True, eq=False, dict=True):
    """One resource at one version: its names and scope, its rules and its schema."""

    __unshown__ = frozenset({"compile_schema", "load_rows", "openapi", "versions"})

    mapping: RESTMapping
    rules: Rules
    make_strategy: Callable[[Rules], Strategy]
    compile_schema: Callable[[], StructuralSchema | None] = lambda: None
    """Only custom resources have one: the schema of the CRD."""
    custom: bool = False
    """Defined by a CRD."""
    openapi: Mapping[str, Any] | None = None
    """The schema of the CRD, as it is written there."""
    storage: ResourceInfo | None = None
    """The resource in whose version and under whose key prefix objects are stored, if it is another one."""
    versions: Mapping[str, ResourceInfo] = {}
    """All versions of the kind by their apiVersion: of a custom resource always, else where there are several."""
    served: bool = True
    """False for a version of a CRD in which objects may be stored, but not requested."""
    conversion: DefinitionConversion | None = None
    """The webhook that converts between the versions of a CRD."""
    terminating: bool = False
    """The CRD is being deleted: nothing can be created."""
    definition_key: str = ""
    """The key of the CRD."""
    definition_revision: int = 0
    """Objects written before this revision may not match the current schema."""
    definition_bytes: int = 0
    """The size of the CRD: how long it takes to compile the schema."""
    printer_columns: Sequence[Document] = ()
    """The columns of a CRD's version, in a Table."""
    deprecation: str = ""
    """The warning that users of this version get."""
    actions: Mapping[str, Action] = {}
    """Its subresources that are actions."""
    load_rows: Callable[[], Rows | None] = lambda: None
    """Loads the rows of a built-in kind in Tables."""
    accepted_list_kind: str = ""
    """The kind of lists that a CRD declares."""

    @cached_property
    def strategy(self) -> Strategy:
        """What the kind does in a write; its class is imported now."""
        return self.make_strategy(self.rules)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of every response about this resource."""
        return (self.deprecation,) if self.deprecation else ()

    @cached_property
    def gvk(self) -> GroupVersionKind:
        return self.mapping.gvk

    @cached_property
    def api_version(self) -> str:
        return self.gvk.api_version

    @property
    def list_kind(self) -> str:
        """The kind of a list of its objects."""
        return self.accepted_list_kind or f"{self.gvk.kind}List"

    @cached_property
    def gvr(self) -> GroupVersionResource:
        return self.mapping.resource

    @cached_property
    def verbs(self) -> tuple[Verb, ...]:
        """The verbs that it supports."""
        return tuple(verb for verb in Verb if verb.value in self.mapping.verbs)

    @cached_property
    def namespaced(self) -> bool:
        return self.mapping.namespaced

    @property
    def group_kind(self) -> GroupKind:
        return self.gvk.group_kind

    @cached_property
    def group_resource(self) -> GroupResource:
        return self.gvr.group_resource

    @cached_property
    def stored(self) -> ResourceInfo:
        """The resource in whose version objects are stored."""
        return self.storage or self

    @cached_property
    def converts(self) -> bool:
        """Whether a webhook converts its objects to the stored version."""
        return self.conversion is not None and self.stored is not self

    @cached_property
    def schema(self) -> StructuralSchema | None:
        return self.compile_schema()

    @cached_property
    def codec(self) -> Structure | None:
        """Decodes and encodes objects of a built-in kind; custom resources are stored without a codec."""
        if self.custom:
            return None
        from pilotage.codec.structure import structure_of

        return structure_of(self.gvk)

    @cached_property
    def _default(self) -> Default | None:
        if self.custom:
            return None
        from pilotage.codec.defaults.table import default_of

        return default_of(self.gvk)

    def default(self, document: Document) -> None:
        """Set the defaults of a built-in kind, in place. Those of a custom one are in its schema."""
        if self._default is not None:
            self._default(document)
        self.strategy.default(document)

    @property
    def compiled(self) -> bool:
        """Whether the schema of a CRD has been compiled. (Those of built-in kinds are small.)"""
        return not self.custom or "schema" in self.__dict__

    def compile(self) -> None:
        """Compile the schemas that requests to this version need."""
        _ = self.stored.schema, self.schema

    @cached_property
    def head(self) -> bytes:
        """How the stored bytes of an object at this version begin."""
        return head_of(self.gvk.api_version, self.gvk.kind)

    @cached_property
    def one_pass(self) -> bool:
        """Whether a new object may need no work: all rules of the kind are in its schema, and one check is enough for
        them."""
        from pilotage.server.strategies.custom import CustomResourceStrategy  # loaded with the first definition

        schema = self.schema
        if schema is None or not schema.may_accept or len(self.versions) != 1 or self.terminating:
            return False
        return (
            type(self.strategy) is CustomResourceStrategy and self.rules.scale is None
        )  # others have rules of their own

    @cached_property
    def body_head(self) -> bytes:
        """How the body of such an object begins."""
        return self.head + b'"metadata":{'

    @cached_property
    def heads(self) -> tuple[bytes, ...]:
        """The same for all versions of a custom resource."""
        return tuple(info.head for info in self.versions.values())

    @cached_property
    def collection(self) -> str:
        """The key prefix of all objects, below the tenant's."""
        return collection_of(*self.stored.group_resource)

    def prefix(self, namespace: str) -> str:
        """The key prefix of the objects in a namespace, or of all."""
        return f"{self.collection}{namespace}/" if namespace else self.collection

    def key(self, namespace: str, name: str) -> str:
        """The key of one object."""
        return f"{self.prefix(namespace if self.namespaced else '')}{name}"

    def details(self, name: str = "", *, retry_after_seconds: int = 0) -> StatusDetails:
        """What an error about an object of this resource is about."""
        group, resource = self.group_resource
        return StatusDetails(name=name, group=group, kind=resource, retry_after_seconds=retry_after_seconds)

    def not_found(self, name: str) -> NotFound:
        return NotFound(f'{self.group_resource} "{name}" not found', details=self.details(name))

    def forbidden(self, name: str, reason: str, *causes: Cause) -> Forbidden:
        subject = f'{self.group_resource} "{name}"' if name else str(self.group_resource)
        return Forbidden(f"{subject} is forbidden: {reason}", details=self.details(name).replace(causes=causes))

    def invalid(self, name: str, causes: Iterable[Cause]) -> Invalid:
        """The 422 for an object, with a limited number of causes."""
        found = list(causes)
        shown = [cause.replace(message=_cut(cause.message), field=_cut(cause.field)) for cause in found[:MAX_CAUSES]]
        if len(found) > MAX_CAUSES:
            shown.append(
                Cause("FieldValueTooMany", f"there are more than {MAX_CAUSES} causes; the others are left out")
            )
        return invalid_error(self.stored.group_kind, _cut(name), shown)

    def already_exists(self, name: str, *, terminating: bool = False) -> AlreadyExists:
        message = f'{self.group_resource} "{name}" already exists'
        return AlreadyExists(
            f"object is being deleted: {message}" if terminating else message, details=self.details(name)
        )

    def conflict(self, name: str, reason: str = MODIFIED) -> Conflict:
        message = f'Operation cannot be fulfilled on {self.group_resource} "{name}": {reason}'
        return Conflict(message, details=self.details(name))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
