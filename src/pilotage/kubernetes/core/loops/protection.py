"""Removes the finalizers that protect volumes and ranges of addresses, once they are deleted and not in use any more.

The admission plugin StorageObjectInUseProtection adds those of volumes. A claim is in use while a Pod that has not
finished refers to it, a volume while a claim is bound to it, a ServiceCIDR while a Service has an address that no other
one contains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from pilotage.errors import ApiError, NotFound
from pilotage.kubernetes.core.services.addresses import ADDRESSES
from pilotage.kubernetes.core.services.cidrs import CIDRS
from pilotage.kubernetes.networking.addresses import CIDR_FINALIZER
from pilotage.kubernetes.networking.servicecidrs import blocked, has_orphans, is_blocked
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.server import records
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
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
    "storage.k8s.io/volumeattributesclasses/": "kubernetes.io/vac-protection",
    CIDRS: CIDR_FINALIZER,
}
_RESOURCES = {
    "PersistentVolumeClaim": GroupVersionResource("", "v1", "persistentvolumeclaims"),
    "PersistentVolume": GroupVersionResource("", "v1", "persistentvolumes"),
    "ServiceCIDR": GroupVersionResource("networking.k8s.io", "v1", "servicecidrs"),
    "VolumeAttributesClass": GroupVersionResource("storage.k8s.io", "v1", "volumeattributesclasses"),
}


class Protector(LogLoop):
    """Removes the protection of deleted claims, volumes and ServiceCIDRs that are not in use."""

    name = "protect"
    work = "the deletion of a volume, of a claim or of a ServiceCIDR is in progress"

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, note)
        self._updater = Updater(context)
        self._users = tuple(context.prefix + collection for collection in (_PODS, _CLAIMS, _VOLUMES, ADDRESSES, CIDRS))
        self._concerned = (*self._users, *(context.prefix + collection for collection in _FINALIZERS))
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
        if records.terminating(entry.value) and self._finalizer(entry.key):
            self._waiting[entry.key] = None
            return True
        return False

    def _finalizer(self, key: str) -> str:
        group, resource = key[len(self._context.prefix) :].split("/", 2)[:2]
        return _FINALIZERS.get(f"{group}/{resource}/", "")

    async def _release(self, keys: Iterable[str]) -> None:
        for key in keys:
            entry = await self._context.storage.get(key)
            document = records.decode(entry.value) if entry is not None else {}
            finalizer = self._finalizer(key)
            if not document or finalizer not in document["metadata"].get("finalizers", ()):
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
