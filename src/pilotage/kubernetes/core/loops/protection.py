"""Removes the finalizers that protect volumes and ranges of addresses, once they are deleted and not in use any more.

The admission plugin StorageObjectInUseProtection adds the finalizers of volumes, and this loop the finalizers of
ServiceCIDRs, as kube-controller-manager does. A claim is in use while a Pod that has not finished refers to it, a
volume while a claim is bound to it, a ServiceCIDR while a Service has an address that no other one contains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from pilotage.errors import ApiError, NotFound
from pilotage.kubernetes.core.services.addresses import ADDRESSES
from pilotage.kubernetes.core.services.cidrs import CIDRS
from pilotage.kubernetes.networking.addresses import CIDR_FINALIZER
from pilotage.kubernetes.networking.servicecidrs import blocked, has_orphans, is_blocked, lacks_condition, ready
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.server import controllers, records
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.server.verbs.update import Updater
from pilotage.storage.interface import Entry, Event
from pilotage.telemetry.logs import logger

_log = logger("pilotage.server")
_PODS = "core/pods/"
_CLAIMS = "core/persistentvolumeclaims/"
_VOLUMES = "core/persistentvolumes/"
_FINALIZERS = {
    controllers.CLAIM_PROTECTION: (_CLAIMS, "kubernetes.io/pvc-protection"),
    controllers.VOLUME_PROTECTION: (_VOLUMES, "kubernetes.io/pv-protection"),
    controllers.ATTRIBUTES_PROTECTION: ("storage.k8s.io/volumeattributesclasses/", "kubernetes.io/vac-protection"),
    controllers.SERVICE_CIDR: (CIDRS, CIDR_FINALIZER),
}
"""What each controller protects, and the finalizer that it removes."""
_SEEN = (f'"{CIDR_FINALIZER}"'.encode(), b'"type":"Ready"')
"""What the bytes of a ServiceCIDR contain that the controller has seen."""
_RESOURCES = {
    "PersistentVolumeClaim": GroupVersionResource("", "v1", "persistentvolumeclaims"),
    "PersistentVolume": GroupVersionResource("", "v1", "persistentvolumes"),
    "ServiceCIDR": GroupVersionResource("networking.k8s.io", "v1", "servicecidrs"),
    "VolumeAttributesClass": GroupVersionResource("storage.k8s.io", "v1", "volumeattributesclasses"),
}


class Protector(LogLoop):
    """Protects ServiceCIDRs, and removes the protection of what is deleted and not in use."""

    name = "protect"
    work = "the deletion of a volume, of a claim or of a ServiceCIDR is in progress"

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, note)
        self._updater = Updater(context)
        self._users = tuple(context.prefix + collection for collection in (_PODS, _CLAIMS, _VOLUMES, ADDRESSES, CIDRS))
        self._finalizers = dict(each for name, each in _FINALIZERS.items() if name in context.controllers)
        self._concerned = (*self._users, *(context.prefix + collection for collection in self._finalizers))
        self._waiting: dict[str, None] = {}

    async def _run(self) -> None:
        self._waiting = {}
        for entry in await self._reader.existing():
            self._read(entry)
        while True:
            await self._release(list(self._waiting))
            await self._read_events()

    async def _read_events(self) -> None:
        """Wait until something has changed that concerns what is deleted."""
        while True:
            if self._concerns(await self._reader.next()):
                return

    def _concerns(self, events: Iterable[Event]) -> bool:
        found = False
        for event in [event for event in events if event.key.startswith(self._concerned)]:
            if event.entry is not None:
                found = self._read(event.entry) or found
            else:
                self._waiting.pop(event.key, None)
            found = found or (bool(self._waiting) and event.key.startswith(self._users))
        return found

    def _read(self, entry: Entry) -> bool:
        finalizer = self._finalizer(entry.key)
        if finalizer and (records.terminating(entry.value) or self._is_new_range(entry)):
            self._waiting[entry.key] = None
            return True
        return False

    def _is_new_range(self, entry: Entry) -> bool:
        """Whether a ServiceCIDR lacks its finalizer or its condition."""
        return entry.key.startswith(self._context.prefix + CIDRS) and not all(map(entry.value.__contains__, _SEEN))

    def _finalizer(self, key: str) -> str:
        group, resource = key[len(self._context.prefix) :].split("/", 2)[:2]
        return self._finalizers.get(f"{group}/{resource}/", "")

    async def _release(self, keys: Iterable[str]) -> None:
        for key in keys:
            entry = await self._context.storage.find(key)
            document = records.decode(entry.value) if entry is not None else {}
            finalizer = self._finalizer(key)
            protected = bool(document) and finalizer in document["metadata"].get("finalizers", ())
            if document and "deletionTimestamp" not in document["metadata"]:
                self._waiting.pop(key, None)
                if not protected:
                    await self._change(document, partial(_with, finalizer))
                if lacks_condition(document):
                    await self._change(document, lambda old: ready(old, self._context.now()), "status")
            elif not protected:
                self._waiting.pop(key, None)
            elif not await self._in_use(document):
                await self._change(document, partial(_without, finalizer))
            elif document["kind"] == "ServiceCIDR" and not is_blocked(document):
                await self._change(document, lambda old: blocked(old, self._context.now()), "status")

    async def _in_use(self, document: Document) -> bool:
        metadata = document["metadata"]
        match document["kind"]:
            case "ServiceCIDR":
                return has_orphans(document, await self._list(CIDRS), await self._list(ADDRESSES))
            case "PersistentVolume":
                return (document.get("status") or {}).get("phase") == "Bound"
            case "VolumeAttributesClass":
                volumes = [*await self._list(_CLAIMS), *await self._list(_VOLUMES)]
                return any(_has_class(volume, metadata["name"]) for volume in volumes)
        pods = await self._list(f"{_PODS}{metadata['namespace']}/")
        return any(_uses(pod, metadata["name"]) for pod in pods)

    async def _change(self, document: Document, change: Callable[[Document], Document], subresource: str = "") -> None:
        metadata = document["metadata"]
        gvr = _RESOURCES[document["kind"]]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        request = APIRequest(Verb.PATCH, gvr, namespace=namespace, name=name, subresource=subresource)
        try:
            info = await self._context.catalogue.find(gvr)
            response = await self._updater.change(info, request, lambda old, _: (change(old), []))
        except NotFound:
            return  # another process was faster
        except ApiError as error:  # a plugin refuses it, or the stored object is invalid: the next change is the retry
            _log.warning("Cannot remove the protection of an object", name=name, error=error)
            return
        self._note(request, response.body)


def _with(finalizer: str, document: Document) -> Document:
    """A document with one more finalizer."""
    finalizers = [*document["metadata"].get("finalizers", ()), finalizer]
    return document | {"metadata": document["metadata"] | {"finalizers": finalizers}}


def _without(finalizer: str, document: Document) -> Document:
    """A document without a finalizer."""
    left = [one for one in document["metadata"].get("finalizers", ()) if one != finalizer]
    changed = {key: value for key, value in document["metadata"].items() if key != "finalizers"}
    return document | {"metadata": changed | ({"finalizers": left} if left else {})}


def _uses(pod: Document, claim: str) -> bool:
    """Whether a Pod that has not finished refers to a claim, by its name or by an ephemeral volume."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == claim:
            return True
        if volume.get("ephemeral") is not None and f"{pod['metadata']['name']}-{volume.get('name')}" == claim:
            return True
    return False


def _has_class(volume: Document, name: str) -> bool:
    """Whether a volume or a claim has these attributes, or had them and changes them."""
    spec, status = volume.get("spec") or {}, volume.get("status") or {}
    return name in (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"))
