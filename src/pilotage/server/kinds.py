"""The kinds that a server has beside custom resources: one frozen value, which is handed to it.

The server names no kind itself but those that it cannot work without (`strategies.needed`). All else about a built-in
kind is in the set that has it: rules, loops, allocation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import Verb
from pilotage.storage.interface import Entry, Operation, Put, Storage

if TYPE_CHECKING:
    from pilotage.server.context import RegistryContext
    from pilotage.server.loops.progress import LogLoop, Note
    from pilotage.server.resources import ResourceInfo
    from pilotage.server.strategies.strategy import KindStrategy


class Allocator(AbstractAsyncContextManager["Allocator"], Protocol):
    """Gives objects what they must have alone, such as addresses: those whose rules have `allocates`."""

    async def allocate(
        self, info: ResourceInfo, document: Document, own: Entry | None, *, dry_run: bool
    ) -> tuple[Document, list[Operation]]:
        """An object that is about to be stored, with what it lacked; `own` is the stored one that it replaces.

        The returned operations must be in the same commit.
        """

    async def release(self, entry: Entry) -> list[Operation]:
        """The operations that release all that a stored object has, which is removed in the same commit."""


class NamespaceContents(Protocol):
    """Creates the default objects of namespaces."""

    async def missing(
        self, storage: Storage, prefix: str, namespace: str, *, now: str, uid: Callable[[], str]
    ) -> list[Put]:
        """The writes that create the missing objects of a namespace."""


@dataclass(frozen=True, slots=True)
class Action:
    """A subresource that is an action or a connection rather than a part of an object."""

    verbs: frozenset[Verb]
    handler: str
    """The class that answers (`package.module:Class`), which is imported with the first request.

    It is made with the context of the registry, and has a coroutine `call(info, request)`.
    """
    has_paths: bool = False
    """Whether a path may follow its name."""


@dataclass(frozen=True, slots=True)
class PluginRow:
    """An admission plugin."""

    name: str
    default: bool = True
    module: str = ""
    """The module of the class of this name; empty if it is part of the registry, or has no effect."""
    configured_by: str = ""
    """The stored objects without which it does nothing: `configurations` or `quotas`."""
    resources: tuple[GroupResource, ...] = ()
    """The resources that it checks; empty: all."""
    phases: str = "mutate"
    """Which of its methods are part of the chain."""
    implemented: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a kind in Tables."""

    cells: Callable[[Document, datetime], list[str | int | float | bool | None]]
    """From an object and the time now to the cells of its row."""
    conditions: Callable[[Document], Sequence[Document]] = lambda _: ()
    """The conditions of a row."""
    order: Callable[[Document], int] | None = None
    """What rows are sorted by; None: they have the order of the objects."""


class Loops(NamedTuple):
    """The background loops of kinds."""

    logs: Sequence[LogLoop] = ()
    """Those that read the log, which have progress."""
    others: Mapping[str, Callable[[], Awaitable[None]]] = {}
    """By name."""


def _no_loops(_context: RegistryContext, _note: Note) -> Loops:
    return Loops()


def _no_rows(_resource: GroupResource) -> None:
    return None


async def _no_objects(_context: RegistryContext) -> None:
    """Create nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KindSet:
    """The kinds of a server, and what belongs to them. With the default, it serves custom resources."""

    resources: Callable[[], Iterable[RESTMapping]] = tuple
    """The built-in resources, beside those that each server needs."""
    strategies: Mapping[str, KindStrategy] = field(default_factory=dict)
    """The rules and the strategy of a resource: by name (`pods`, `jobs.batch`), or by name and version
    (`events.events.k8s.io/v1`)."""
    stored_as: Mapping[GroupVersionResource, GroupVersionResource] = field(default_factory=dict)
    """The resources whose objects are kept in the form of another one."""
    deprecated: Mapping[GroupVersionResource, str] = field(default_factory=dict)
    """The warnings for deprecated kinds."""
    custom: Mapping[GroupResource, KindStrategy] = field(default_factory=dict)
    """The custom resources with rules of their own."""
    rows: Callable[[GroupResource], Rows | None] = _no_rows
    """The rows of a resource in Tables; None: its names and times."""
    actions: Mapping[str, Mapping[str, Action]] = field(default_factory=dict)
    """The actions of a resource by their names; one without a name is the action of its collection."""
    plugins: Sequence[PluginRow] = ()
    """The admission plugins, in their order."""
    quotas: str = ""
    """The collection of the objects without which plugins that `quotas` configure do nothing."""
    allocator: Callable[[RegistryContext], Allocator] | None = None
    loops: Callable[[RegistryContext, Note], Loops] = _no_loops
    create_objects: Callable[[RegistryContext], Awaitable[None]] = _no_objects
    """Creates the objects that a new storage has, before the first request."""
