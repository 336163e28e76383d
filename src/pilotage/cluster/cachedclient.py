"""The manager's client: reads from a cache, writes live, and reads its own writes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pilotage.cache.cache import AnyInformer, Cache
from pilotage.cache.informer import Informer
from pilotage.client.client import Client
from pilotage.client.session import Subject, add_subject
from pilotage.cluster.readbarrier import ReadBarrier
from pilotage.cluster.writes import WriteTracker
from pilotage.errors import ApiError, NotFound, PilotageError
from pilotage.history.records import ListNote, ReadNote
from pilotage.history.runs import CURRENT
from pilotage.history.tapes import Kept, failed_read
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.objectlist import ObjectList
from pilotage.meta.objects import origin_of
from pilotage.meta.values import Value
from pilotage.rest import ListOptions


@dataclass(frozen=True, slots=True)
class CachedClientOptions:
    """Options of a client that reads from a cache."""

    read_your_writes: bool = True
    """Whether a read waits until the cache shows what this program has written."""
    stale_after: SecondsField = seconds_field(3.0)
    """How long it waits, in seconds, before it raises StaleCache."""
    disable_for: Collection[Kind] = ()
    """Kinds that are read live."""

    def __post_init__(self) -> None:
        check_fields(self)


class CachedClient(Client):
    """Reads from a cache, writes live: `get`, `find` and `list` need no network; the caller may change what they
    return.

    A read waits until the cache shows the earlier writes of this program, for at most three seconds; then it raises
    StaleCache. A kind that the cache does not have yet is listed and watched from its first read on. Reads with a
    version or a page go to the server, and so does everything through `api_reader`.
    """

    def __init__(
        self, client: Client, cache: Cache, writes: WriteTracker, options: CachedClientOptions | None = None
    ) -> None:
        self.cache = cache
        self._session = client._session
        self._client = client
        self._writes = writes
        self._options = options or CachedClientOptions()
        self._live_kinds = frozenset(gvk_of(kind) for kind in self._options.disable_for)
        self._barriers: dict[AnyInformer, _Barriers] = {}

    @property
    def api_reader(self) -> Client:
        """A client with the same defaults that reads from the server."""
        return self._client._with(self._session)

    async def wait_for_writes(self, kind: Kind) -> None:
        """Wait until the cache shows what this program has written to a kind, for a reader of the informer itself."""
        if not self._is_current(kind):
            await self._wait_for_writes(kind, await self._session.collection(kind, ""))

    async def _get(self, kind: Kind, name: str, namespace: str, resource_version: str) -> Any:
        if resource_version or (self._live_kinds and gvk_of(kind) in self._live_kinds):
            return await super()._get(kind, name, namespace, resource_version)
        subject = await self._session.subject(kind, namespace, name)
        try:
            if not self._is_current(kind):
                await self._wait_for_writes(kind, subject)
            found = await self.cache.get(kind, name, namespace=subject.namespace)
        except PilotageError as error:
            raise _failed(error, subject, name) from error.__cause__
        if (run := CURRENT.get()) is not None:
            data = origin_of(found) or self._stored(kind, subject)
            run.read(subject.kind.gvk, subject.namespace, name, data)
        return found

    async def _list(self, kind: Kind, namespace: str, options: ListOptions) -> ObjectList[Any]:
        paged = options.limit or options.continue_token or options.resource_version or options.resource_version_match
        if paged or gvk_of(kind) in self._live_kinds:
            return await super()._list(kind, namespace, options)
        subject = await self._session.collection(kind, namespace)
        try:
            if not self._is_current(kind):
                await self._wait_for_writes(kind, subject)
            found = await self.cache.list(
                kind,
                namespace=subject.namespace,
                labels=options.label_selector or None,
                fields=options.field_selector or None,
            )
        except PilotageError as error:
            raise _failed(error, subject) from error.__cause__
        if (run := CURRENT.get()) is not None:
            selector = ",".join(filter(None, (options.label_selector, options.field_selector)))
            items = found.data if run.keeps_lists else None
            gvk, namespace = subject.kind.gvk, subject.namespace
            run.add(ListNote(gvk, namespace, selector, len(found), found.resource_version, items=items))
        return found

    def _stored(self, kind: Kind, subject: Subject) -> bytes:
        """The bytes of an object that was just read in a form that does not remember them."""
        informer = self.cache.informer(kind)
        stores = informer.stores.values() if informer is not None else ()
        return next((data for store in stores if (data := store.get(subject.namespace, subject.name))), b"")

    def _is_current(self, kind: Kind) -> bool:
        """The fast path of a read: whether it is certain that there is nothing to wait for."""
        if not self._options.read_your_writes:
            return True
        informer = self.cache.informer(kind)
        barriers = self._known_barriers(informer) if informer is not None else None
        return barriers is not None and all(barrier.is_current for barrier in barriers)

    async def _wait_for_writes(self, kind: Kind, subject: Subject) -> None:
        """Wait until the cache shows what this program has written to this kind."""
        informer = self.cache.informer(kind)
        if informer is None or not informer.has_synced:
            # Creates and starts the informer and waits for its sync, or raises.
            await self.cache.list(kind, namespace=subject.namespace, limit=1)
            informer = self.cache.informer(kind)
            if informer is None:
                return  # it was removed in the meantime
        barriers = self._known_barriers(informer)
        for barrier in self._new_barriers(informer, subject) if barriers is None else barriers:
            if not subject.namespace or barrier.informer.options.namespace in ("", subject.namespace):
                await barrier.wait(self._options.stale_after)

    def _known_barriers(self, informer: AnyInformer) -> Sequence[ReadBarrier] | None:
        """The barriers of an informer; None where there are none, or its namespaces have changed since then."""
        found = self._barriers.get(informer)
        return found.barriers if found is not None and informer.informers == found.informers else None

    def _new_barriers(self, informer: AnyInformer, subject: Subject) -> Sequence[ReadBarrier]:
        for removed in self._barriers.keys() - set(self.cache.informers()):
            for barrier in self._barriers.pop(removed).barriers:
                barrier.close()
        resource = subject.kind.resource.group_resource
        parts = informer.informers
        before = self._barriers.get(informer)
        known = {barrier.informer: barrier for barrier in before.barriers} if before is not None else {}
        barriers = [known.get(part) or ReadBarrier(part, resource, self._writes) for part in parts]
        for barrier in set(known.values()) - set(barriers):
            barrier.close()
        self._barriers[informer] = _Barriers(parts, barriers)
        return barriers


def _failed(error: PilotageError, subject: Subject, name: str = "") -> PilotageError:
    """The error of a read, with its object. The current reconcile records it."""
    run = CURRENT.get()
    if run is not None:
        if name and isinstance(error, NotFound):
            run.add(ReadNote(subject.kind.gvk, subject.namespace, name, None))
        elif run.tape is not None:
            run.tape.keep(failed_read(subject.kind.gvk, subject.namespace, name), Kept.of(error))
    return add_subject(error, subject) if isinstance(error, ApiError) else error


class _Barriers(Value, frozen=True):
    """The read barriers of an informer, or of the informers that a group had."""

    informers: tuple[Informer[Any], ...]
    barriers: Sequence[ReadBarrier]
