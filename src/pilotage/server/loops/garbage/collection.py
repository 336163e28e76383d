"""Garbage collection: deletes dependents whose owners do not exist, and completes foreground and orphan deletions.

It reads the log of the storage into an index by owner. Every write goes through the steps of any other write, and is
conditional, so several processes on one storage may collect at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from pilotage.errors import Conflict, NotFound, PilotageError
from pilotage.meta.documents import Document, set_or_drop
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest.request import APIRequest, DeleteOptions, User, Verb
from pilotage.server import records
from pilotage.server.catalogue.catalogue import DEFINITIONS, EVENTS, Redefined
from pilotage.server.context import RegistryContext
from pilotage.server.definitions import collection_of
from pilotage.server.loops.garbage.ownerevents import record_invalid_owner
from pilotage.server.loops.garbage.ownergraph import OwnerGraph
from pilotage.server.loops.garbage.references import (
    FOREGROUND,
    ORPHAN,
    Collect,
    Metadata,
    OwnerReference,
    OwnerState,
    decide,
    is_relevant,
    metadata_of,
)
from pilotage.server.loops.garbage.retries import FailedKeys
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.delete import Deleter
from pilotage.server.verbs.update import Updater
from pilotage.storage.interface import Event
from pilotage.telemetry.logs import logger

USER = User(
    "system:serviceaccount:kube-system:generic-garbage-collector",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
)
_AT_ONCE = 64
"""How many objects are processed at the same time: a storage on a disk commits their writes together."""
_log = logger("pilotage.server")


class Collector(LogLoop):
    """Deletes dependents, and completes the deletion of owners."""

    name = "collect"
    work = "garbage collection is in progress"

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, note)
        self._deleter = Deleter(context)
        self._updater = Updater(context)
        self._definitions = context.prefix + DEFINITIONS
        self._clear()

    def _clear(self) -> None:
        self._graph = OwnerGraph()
        self._retries = FailedKeys()
        self._conflicts: set[str] = set()  # objects that had changed at the last attempt
        self._unknown_owners: set[str] = set()  # objects whose owner has a kind that is not served
        self._served: tuple[dict[str, ResourceInfo], dict[GroupVersionKind, ResourceInfo]] | None = None

    @property
    def idle(self) -> bool:
        return self._reader.idle and not self._retries

    def busy(self) -> str:
        return f"garbage collection: {self._retries}" if self._retries else self.work

    async def prepare(self) -> None:
        """Read the log from here on: the first request may delete an owner."""
        self._reader.start()

    async def _run(self) -> None:
        self._clear()
        now = asyncio.get_running_loop().time
        await self._read_all()
        while True:
            await self._work()
            self._read(await self._reader.next(self._retries.seconds_left(now())))
            self._graph.queue(self._retries.due(now()))

    async def _read_all(self) -> None:
        for number, entry in enumerate(await self._reader.existing()):
            if is_relevant(entry.value):
                self._graph.read_object(entry.key, entry.value)
            if number % 1000 == 999:
                await asyncio.sleep(0)

    def _read(self, events: Iterable[Event]) -> None:
        for event in events:
            self._graph.read(event)
            if event.entry is None:
                self._unknown_owners.discard(event.key)
                self._retries.forget(event.key)
            if event.key.startswith(self._definitions):
                self._served = None
                self._graph.queue(self._unknown_owners)

    async def _work(self) -> None:
        while keys := self._graph.take(_AT_ONCE):
            async with asyncio.TaskGroup() as tasks:
                for key in keys:
                    tasks.create_task(self._attempt(key))

    async def _attempt(self, key: str) -> None:
        """Process one object. A failure is logged once, and retried."""
        try:
            await self._collect(key)
        except (Conflict, Redefined) as error:
            if key in self._conflicts:
                self._note_failure(key, error)  # not a conflict: an admission plugin rejects it
            else:
                self._conflicts.add(key)
                self._graph.queue((key,))  # it has changed meanwhile: decide again
            return
        except (NotFound, records.UnreadableObject):
            pass  # deleted by another client; or the object or its owner is damaged, which is in the log: it is kept
        except PilotageError as error:
            self._note_failure(key, error)
            return
        self._conflicts.discard(key)
        self._retries.forget(key)

    def _note_failure(self, key: str, error: Exception) -> None:
        self._conflicts.discard(key)
        if self._retries.fail(key, str(error), asyncio.get_running_loop().time()):
            _log.warning("Garbage collection failed, will be retried", key=key, error=error)

    async def _collect(self, key: str) -> None:
        entry = await self._context.storage.get(key)
        info = await self._resource(key)
        if entry is None or info is None:
            return
        metadata = metadata_of(entry.value)
        if metadata.orphans_dependents:
            await self._orphan_dependents(info, metadata)
        elif metadata.waits_for_dependents:
            await self._complete_foreground(info, metadata)
        elif metadata.owner_references and not metadata.terminating:
            await self._collect_dependent(key, info, metadata, entry.revision)

    async def _orphan_dependents(self, info: ResourceInfo, metadata: Metadata) -> None:
        """Remove the references to this owner from its dependents, then its finalizer."""
        await self._check_secrets(metadata.namespace)
        uid, dependents = metadata.uid, self._graph.dependents(metadata.uid)
        for start in range(0, len(dependents), _AT_ONCE):
            several = (self._orphan(key, uid) for key in dependents[start : start + _AT_ONCE])
            for failure in await asyncio.gather(*several, return_exceptions=True):
                if failure is not None:
                    raise failure
        await self._remove_finalizer(info, metadata, ORPHAN)

    async def _check_secrets(self, namespace: str) -> None:
        """Raise StorageBroken if a Secret that may be a dependent cannot be read: without its owner it would be deleted
        by a program that can read it."""
        secrets = self._context.prefix + collection_of("", "secrets") + (f"{namespace}/" if namespace else "")
        for entry in (await self._context.storage.list(secrets)).entries:
            records.check_decrypted(entry.value)

    async def _orphan(self, key: str, uid: str) -> None:
        entry, info = await self._context.storage.get(key), await self._resource(key)
        if entry is not None and info is not None:
            with suppress(NotFound):
                await self._release(info, metadata_of(entry.value), frozenset((uid,)))

    async def _complete_foreground(self, info: ResourceInfo, metadata: Metadata) -> None:
        """Remove the finalizer of an owner that no dependent blocks any more."""
        if not self._graph.is_blocked(metadata.uid):
            await self._remove_finalizer(info, metadata, FOREGROUND)

    async def _collect_dependent(self, key: str, info: ResourceInfo, metadata: Metadata, revision: int) -> None:
        states = await self._owner_states(key, info, metadata)
        if states is None:
            return
        outcome = decide(metadata, states, has_dependents=bool(self._graph.dependents(metadata.uid)))
        if isinstance(outcome, Collect):
            if outcome.policy == "Foreground" and self._graph.in_circle(metadata.uid):
                revision = await self._unblock(info, metadata)
            await self._delete(info, metadata, outcome.policy, revision)
        elif outcome is not None:
            await self._release(info, metadata, outcome.uids)

    async def _owner_states(
        self, key: str, info: ResourceInfo, metadata: Metadata
    ) -> Sequence[tuple[OwnerReference, OwnerState]] | None:
        """The state of each owner; None if that cannot be determined, so that the object must be kept."""
        states: list[tuple[OwnerReference, OwnerState]] = []
        for reference in metadata.owner_references or ():
            if self._graph.is_absent(reference.uid):
                states.append((reference, OwnerState.ABSENT))
                continue
            owner = await self._owner_resource(reference)
            if owner is None:
                self._unknown_owners.add(key)
                return None
            if owner.namespaced and not info.namespaced:  # the namespace of its owner is unknown
                await record_invalid_owner(self._context, info, metadata, reference)
                return None
            state = await self._owner_state(owner, reference, metadata.namespace)
            if state is None:
                return None
            states.append((reference, state))
        self._unknown_owners.discard(key)
        return states

    async def _owner_state(self, owner: ResourceInfo, reference: OwnerReference, namespace: str) -> OwnerState | None:
        entry = await self._context.storage.get(self._context.key(owner, namespace, reference.name))
        if entry is None:
            return OwnerState.ABSENT
        metadata = metadata_of(entry.value)
        if not metadata.uid:
            return None  # it is encrypted, and this program does not have the keys
        if metadata.uid != reference.uid:
            return OwnerState.ABSENT
        return OwnerState.WAITING if metadata.waits_for_dependents else OwnerState.SOLID

    async def _delete(self, info: ResourceInfo, metadata: Metadata, policy: str, revision: int) -> None:
        options = DeleteOptions(uid=metadata.uid, resource_version=str(revision), propagation_policy=policy)
        request = _request(Verb.DELETE, info, metadata, options)
        response = await self._deleter.delete(info, request)
        self._note(request, response.body)

    async def _release(self, info: ResourceInfo, metadata: Metadata, uids: frozenset[str]) -> None:
        def without_owners(document: Document) -> None:
            owners = document["metadata"].get("ownerReferences", ())
            set_or_drop(document["metadata"], "ownerReferences", [one for one in owners if one.get("uid") not in uids])

        await self._change(info, metadata, without_owners)

    async def _unblock(self, info: ResourceInfo, metadata: Metadata) -> int:
        def unblocked(document: Document) -> None:
            owners = document["metadata"].get("ownerReferences", ())
            changed = [one | {"blockOwnerDeletion": False} if one.get("blockOwnerDeletion") else one for one in owners]
            set_or_drop(document["metadata"], "ownerReferences", changed)

        await self._change(info, metadata, unblocked)
        entry = await self._context.storage.get(self._context.key(info, metadata.namespace, metadata.name))
        return entry.revision if entry is not None else 0

    async def _remove_finalizer(self, info: ResourceInfo, metadata: Metadata, finalizer: str) -> None:
        def without_finalizer(document: Document) -> None:
            finalizers = document["metadata"].get("finalizers", ())
            set_or_drop(document["metadata"], "finalizers", [one for one in finalizers if one != finalizer])

        await self._change(info, metadata, without_finalizer)

    async def _change(self, info: ResourceInfo, metadata: Metadata, change: Callable[[Document], None]) -> None:
        """Change the metadata of an object, if it is still the same object."""

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            if old["metadata"]["uid"] != metadata.uid:
                raise info.not_found(metadata.name)
            document = old | {"metadata": dict(old["metadata"])}
            change(document)
            return document, []

        request = _request(Verb.PATCH, info, metadata)
        response = await self._updater.change(info, request, next_state)
        self._note(request, response.body)

    async def _resource(self, key: str) -> ResourceInfo | None:
        """The resource of a stored object; None if it is not collected."""
        group, resource = key[len(self._context.prefix) :].split("/", 2)[:2]
        found = (await self._resources())[0].get(f"{group}/{resource}/")
        return found if found is not None and found.gvr != EVENTS else None

    async def _owner_resource(self, reference: OwnerReference) -> ResourceInfo | None:
        try:
            kind = GroupVersionKind.of(reference.api_version, reference.kind)
        except ValueError:  # such as a/b/c: validation refuses it now, but it may have been stored before
            return None
        return (await self._resources())[1].get(kind)

    async def _resources(self) -> tuple[dict[str, ResourceInfo], dict[GroupVersionKind, ResourceInfo]]:
        """All served resources, by the prefix of their keys and by their kind."""
        if self._served is None:
            every = await self._context.catalogue.all()
            collections = {info.collection: info for info in reversed(every) if info.stored is info}
            collections = {info.collection: info for info in reversed(every)} | collections
            self._served = collections, {info.gvk: info for info in every}
        return self._served


def _request(verb: Verb, info: ResourceInfo, metadata: Metadata, options: DeleteOptions | None = None) -> APIRequest:
    return APIRequest(
        verb,
        info.gvr,
        namespace=metadata.namespace if info.namespaced else "",
        name=metadata.name,
        delete=options or DeleteOptions(),
        user_agent="kube-controller-manager",
        user=USER,
    )
