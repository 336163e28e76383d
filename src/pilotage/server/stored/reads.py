"""Reads that stored bytes alone can answer: get and list of custom resources, without the registry and its schemas.

`server.stored.filereader` explains when the stored bytes are what a reader gets. All other requests raise
`NeedsServer`. The registry answers every request, with the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import msgspec

from pilotage.errors import StorageBroken
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.models import Resource
from pilotage.meta.paths import is_condition_true
from pilotage.meta.scalars import times
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Page, Response
from pilotage.server.definitions import DEFINITIONS, NeedsServer, ShownKind, mapping_of, reads_as_stored
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.rules import Rules
from pilotage.server.verbs.read import ObjectReader
from pilotage.storage.interface import Entry, Storage
from pilotage.types import builtin

if TYPE_CHECKING:
    from pilotage.server.conversion import Converter

_decode = msgspec.json.Decoder().decode


@contextmanager
def _undamaged() -> Iterator[None]:
    """A block that reads what is stored. Where that is damaged, the registry names it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, msgspec.MsgspecError, StorageBroken):
        raise NeedsServer from None


class StoredReader:
    """Answers get and list, also as Tables, from the storage of one tenant."""

    def __init__(self, storage: Storage, tenant: str, clock: times.Clock = times.system_clock) -> None:
        self._context = _Context(storage, f"/{tenant}/")
        self._reader = ObjectReader(self._context)
        self._clock = clock
        self._known: dict[GroupVersionResource, ResourceInfo] = {}

    async def call(self, request: APIRequest) -> Response:
        """A get, or a list as a Table. Raises NeedsServer, and the errors of the API."""
        with _undamaged():
            if request.form is Form.TABLE:
                return await self._table(request)
            if request.verb is not Verb.GET:
                raise NeedsServer
            return await self._reader.get(await self._info(request), request)

    async def list(self, request: APIRequest) -> Page:
        """A list. Raises NeedsServer, and the errors of the API."""
        if request.verb is not Verb.LIST:
            raise NeedsServer
        with _undamaged():
            return await self._reader.list(await self._info(request), request)

    async def resources(self, kinds: Sequence[type[Resource]]) -> Sequence[RESTMapping]:
        """Everything that is served, as the registry lists it. Raises NeedsServer where a kind is not installed, or
        with other columns or names than its class has."""
        with _undamaged():
            return await self._resources(kinds)

    async def _resources(self, kinds: Sequence[type[Resource]]) -> Sequence[RESTMapping]:
        entries = (await self._context.storage.list(self._context.prefix + DEFINITIONS)).entries
        definitions = [_decode(entry.value) for entry in entries]
        by_name = {definition["metadata"]["name"]: definition for definition in definitions}
        for kind in kinds:
            shown = ShownKind.of(kind)
            if not shown.shown_by(by_name.get(f"{shown.plural}.{shown.group}")):
                raise NeedsServer
        custom = [
            mapping_of(definition, version)
            for definition in sorted(definitions, key=lambda definition: str(definition["spec"]["group"]))
            if is_condition_true(definition, "Established")
            for version in definition["spec"]["versions"]
            if version.get("served")
        ]
        return [*builtin.resources(), *custom]

    async def _table(self, request: APIRequest) -> Response:
        from pilotage.server.tables.table import TableWriter

        if request.verb not in (Verb.GET, Verb.LIST):
            raise NeedsServer
        info = await self._info(request)
        get, list_ = partial(self._reader.get, info), partial(self._reader.list, info)
        return await TableWriter(info, request.options.include_object).answer(request, get, list_, self._clock)

    async def _info(self, request: APIRequest) -> ResourceInfo:
        gvr = request.resource
        if request.subresource or request.user.name or bool(request.name) != (request.verb is Verb.GET):
            raise NeedsServer
        if not self._has_reached(request.options.resource_version):
            raise NeedsServer  # which can wait for it
        entry = await self._context.storage.get(f"{self._context.prefix}{DEFINITIONS}{gvr.resource}.{gvr.group}")
        if entry is None:
            raise NeedsServer
        info = self._known.get(gvr)
        if info is None or info.definition_revision != entry.revision:
            info = self._known[gvr] = resource_as_stored(_decode(entry.value), entry.key, entry.revision)
        in_scope = info.namespaced if request.namespace else not info.namespaced or request.verb is Verb.LIST
        if info.gvr != gvr or not in_scope:
            raise NeedsServer
        return info

    def _has_reached(self, version: str) -> bool:
        if not version:
            return True
        return version.isdecimal() and len(version) < 20 and int(version) <= self._context.storage.revision


def resource_as_stored(definition: Document, key: str, revision: int) -> ResourceInfo:
    """The resource of a definition whose objects are read as they are stored. Raises NeedsServer for any other."""
    if not reads_as_stored(definition):
        raise NeedsServer
    version = definition["spec"]["versions"][0]
    return ResourceInfo(
        mapping=mapping_of(definition, version),
        rules=Rules(),  # no field selectors, and nothing that clients do not see
        make_strategy=_needs_server,
        compile_schema=_needs_server,  # asked for objects that were written under another definition
        custom=True,
        definition_key=key,
        definition_revision=revision,
        printer_columns=version.get("additionalPrinterColumns") or (),
        accepted_list_kind=definition["status"]["acceptedNames"].get("listKind", ""),
    )


def _needs_server(*_arguments: object) -> NoReturn:
    raise NeedsServer


class _Context:
    """What an `ObjectReader` needs (`ReadContext`), from the storage alone."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self.storage = storage
        self.prefix = prefix

    @property
    def converter(self) -> Converter:
        raise NeedsServer

    async def damaged(self, prefix: str) -> Sequence[str]:
        return ()

    async def entry(self, info: ResourceInfo, request: APIRequest) -> Entry:
        entry = await self.storage.get(self.prefix + info.key(request.namespace, request.name))
        if entry is None:
            raise info.not_found(request.name)
        return entry
