"""The Event about an owner reference that cannot be valid, as kube-controller-manager records it."""

from __future__ import annotations

from contextlib import suppress

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.catalogue.catalogue import EVENTS
from pilotage.server.context import RegistryContext
from pilotage.server.loops.garbage.references import Metadata, OwnerReference
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Put

_COMPONENT = "garbage-collector-controller"


async def record_invalid_owner(
    context: RegistryContext, info: ResourceInfo, metadata: Metadata, owner: OwnerReference
) -> None:
    """Record that an object refers to an owner that cannot exist for it: the object stays."""
    events = context.catalogue.builtin(EVENTS)
    if events is None:
        return  # the server has no Events
    now, namespace = context.now(), metadata.namespace or "default"
    name = f"{metadata.name}.{context.uid().replace('-', '')[:16]}"
    identity = (
        f"[{owner.api_version}/{owner.kind}, namespace: {metadata.namespace}, name: {owner.name}, uid: {owner.uid}]"
    )
    event: Document = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace, "uid": context.uid(), "creationTimestamp": now},
        "involvedObject": {
            "kind": info.gvk.kind,
            "name": metadata.name,
            "uid": metadata.uid,
            "apiVersion": info.gvk.api_version,
        }
        | ({"namespace": metadata.namespace} if metadata.namespace else {}),
        "reason": "OwnerRefInvalidNamespace",
        "message": f'ownerRef {identity} does not exist in namespace "{metadata.namespace}"',
        "source": {"component": _COMPONENT},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": "Warning",
        "eventTime": None,
        "reportingComponent": _COMPONENT,
        "reportingInstance": "",
    }
    with suppress(RevisionConflict):
        key = f"{context.prefix}core/events/{namespace}/{name}"
        await context.commit(Put(key, records.encode(event), 0, events.rules.lifetime))
