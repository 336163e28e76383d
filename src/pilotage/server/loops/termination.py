"""Empties namespaces and definitions that are being deleted, then removes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pilotage.errors import NotFound, PilotageError, RevisionConflict
from pilotage.meta.documents import Document
from pilotage.meta.kinds import CUSTOM_RESOURCE_DEFINITIONS, GroupVersionResource
from pilotage.rest.request import APIRequest, DeleteOptions, Verb
from pilotage.server import controllers, records
from pilotage.server.catalogue.catalogue import DEFINITIONS, NAMESPACES
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.server.naming import DefinitionNames
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import apiextensions
from pilotage.server.verbs.delete import Deleter
from pilotage.server.writes import store
from pilotage.server.writes.deletion import finished
from pilotage.storage.interface import Delete, Entry, Event

_NAMESPACES = GroupVersionResource("", "v1", "namespaces")
Remaining = Mapping[str, Sequence[Sequence[str]]]
"""The finalizers of each remaining object, by resource (`configmaps.`, `widgets.example.com`)."""
_PASSED = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


class Terminator(LogLoop):
    """Deletes the objects of namespaces and definitions that are being deleted; then removes their finalizers."""

    name = "terminate"
    work = "the deletion of a namespace or of a CustomResourceDefinition is in progress"

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, note)
        self._deleter = Deleter(context)
        self._namespaces = context.prefix + NAMESPACES
        self._definitions = context.prefix + DEFINITIONS
        namespaces = (self._namespaces,) if controllers.NAMESPACE in context.controllers else ()
        self._owners = (self._definitions, *namespaces)

    async def _run(self) -> None:
        """Raises the first failure."""
        storage = self._context.storage
        terminating = {
            entry.key
            for prefix in self._owners
            for entry in (await storage.list(prefix)).entries
            if records.terminating(entry.value)
        }
        await self._advance(terminating, terminating)
        while True:
            batch = await self._reader.next()
            owners = [event for event in batch if event.key.startswith(self._owners)]
            terminating.update(_marked(owners))
            await DefinitionNames(self._context).accept_waiting(self._freed(owners))
            if terminating:
                await self._advance(terminating, self._touched(batch))

    def _freed(self, owners: Iterable[Event]) -> set[str]:
        """The groups in which a definition was removed, and with it its names."""
        gone = [event.key for event in owners if event.entry is None and event.key.startswith(self._definitions)]
        return {key.removeprefix(self._definitions).partition(".")[2] for key in gone}

    def _touched(self, batch: Iterable[Event]) -> set[str]:
        """The namespaces and definitions that the changes are about, or that the changed objects belong to."""
        touched = set()
        for event in batch:
            group, _, rest = event.key[len(self._context.prefix) :].partition("/")
            resource, _, name = rest.partition("/")
            touched |= {event.key, f"{self._definitions}{resource}.{group}"}
            touched.add(self._namespaces + name.partition("/")[0])
        return touched

    async def _advance(self, terminating: set[str], touched: set[str]) -> None:
        """Process each of them once. A failure of one does not affect the others."""
        failure: PilotageError | None = None
        for key in sorted(terminating & touched):
            entry = await self._context.storage.find(key)
            if entry is None or not records.terminating(entry.value):
                terminating.discard(key)
                continue
            try:
                if key.startswith(self._namespaces):
                    await self._empty_namespace(entry)
                else:
                    await self._empty_definition(entry)
            except RevisionConflict:
                continue  # it has changed: its event in the log starts another attempt
            except PilotageError as error:
                failure = error
        if failure is not None:
            raise failure

    async def _empty_namespace(self, entry: Entry) -> None:
        document = records.decode(entry.value)
        name = document["metadata"]["name"]
        left: dict[str, list[list[str]]] = {}
        for info in await self._context.catalogue.all():
            if info.namespaced and (remaining := await self._delete_all(info, info.prefix(name))):
                left[f"{info.gvr.resource}.{info.gvr.group}"] = remaining
        if left:
            status = dict(document.get("status") or {})
            status["conditions"] = with_remaining(status.get("conditions") or [], left, self._context.now())
            await self._write(_NAMESPACES, entry, document | {"status": status})
            return
        if "kubernetes" not in document.get("spec", {}).get("finalizers", ()):
            return
        spec = {"finalizers": [one for one in document["spec"]["finalizers"] if one != "kubernetes"]}
        await self._write(_NAMESPACES, entry, document | {"spec": spec})

    async def _empty_definition(self, entry: Entry) -> None:
        document = records.decode(entry.value)
        finalizers = document["metadata"].get("finalizers", ())
        if apiextensions.CLEANUP not in finalizers:
            return
        left: list[list[str]] = []
        for info in self._context.catalogue.resources(entry).values():
            left = await self._delete_all(info, info.prefix(""))
            break  # all versions have the same objects
        if left:
            apiextensions.set_terminating(document, self._context.now())
        else:
            document["metadata"]["finalizers"] = [one for one in finalizers if one != apiextensions.CLEANUP]
        await self._write(CUSTOM_RESOURCE_DEFINITIONS, entry, document)

    async def _write(self, gvr: GroupVersionResource, entry: Entry, document: Document) -> None:
        info = await self._context.catalogue.find(gvr)
        if finished(info.strategy, document) or records.encode(document) != entry.value:
            data = await store.update(self._context, info, document, entry, dry_run=False)
            self._note(APIRequest(Verb.UPDATE, gvr, name=document["metadata"]["name"]), data)

    async def _delete_all(self, info: ResourceInfo, prefix: str) -> list[list[str]]:
        """Delete each object under the prefix. Returns the finalizers of each that is left."""
        snapshot = await self._context.stored.list(self._context.prefix + prefix)
        left: list[list[str]] = []
        for stored in snapshot.entries:
            try:
                entry = await self._context.storage.get(stored.key)
                if entry is None:
                    continue
                records.check_versions((entry,), info)
            except (records.UnreadableObject, records.DroppedVersion):
                # No client can read it, or remove its finalizers.
                await self._context.storage.commit(Delete(stored.key, expected=stored.revision))
                continue
            metadata = records.decode(entry.value)["metadata"]
            if records.terminating(entry.value):
                left.append(metadata.get("finalizers", []))
                continue
            request = APIRequest(
                Verb.DELETE,
                info.gvr,
                namespace=metadata.get("namespace", ""),
                name=metadata["name"],
                delete=DeleteOptions(uid=metadata["uid"], propagation_policy="Background"),
            )
            try:
                response = await self._deleter.delete(info, request)
            except NotFound:
                continue
            self._note(request, response.body)
            now = await self._context.storage.find(entry.key)
            if now is not None:
                left.append(records.decode(now.value)["metadata"].get("finalizers", []))
        return left


def _marked(owners: Iterable[Event]) -> Iterator[str]:
    """The keys of namespaces and definitions that are being deleted."""
    for event in owners:
        if event.entry is not None and records.terminating(event.entry.value):
            yield event.key


def with_remaining(conditions: Sequence[Document], remaining: Remaining, now: str) -> list[Document]:
    """The conditions of a namespace in which these objects wait for their finalizers."""
    found = [_condition(kind, "False", reason, message) for kind, reason, message in _PASSED]
    resources = [f"{name} has {len(objects)} resource instances" for name, objects in sorted(remaining.items())]
    message = f"Some resources are remaining: {', '.join(resources)}"
    found.append(_condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", message))
    counts = Counter(name for objects in remaining.values() for finalizers in objects for name in finalizers)
    if counts:
        held = [f"{name} in {count} resource instances" for name, count in sorted(counts.items())]
        message = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
        found.append(_condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", message))
    else:
        message = "All content-preserving finalizers finished"
        found.append(_condition("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", message))
    before = {one["type"]: one for one in conditions}
    return [_timed(one, before.get(one["type"]), now) for one in found]


def _condition(kind: str, status: str, reason: str, message: str) -> Document:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _timed(condition: Document, before: Document | None, now: str) -> Document:
    """The condition with its transition time."""
    same = before is not None and all(before.get(key) == value for key, value in condition.items())
    since = (before or {}).get("lastTransitionTime") if same else now
    kind, status = condition.pop("type"), condition.pop("status")
    return {"type": kind, "status": status, "lastTransitionTime": since} | condition
