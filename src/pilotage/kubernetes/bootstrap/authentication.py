"""What a server over HTTPS publishes about authentication, in `kube-system`, as kube-apiserver does."""

from __future__ import annotations

from contextlib import suppress

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.ownership.owners import set_owner
from pilotage.storage.interface import Operation, Put

NAMESPACE = "kube-system"
CLIENT_CA = "extension-apiserver-authentication"
"""Has the authorities of client certificates: extension API servers trust the same ones."""
TOKEN_TRACKING = "kube-apiserver-legacy-service-account-token-tracking"  # noqa: S105 - a name
"""Has the day since when the use of tokens in Secrets is tracked."""


async def publish(context: RegistryContext, client_ca: str = "") -> None:
    """Create the ConfigMaps that do not exist, and replace the authorities of an earlier start.

    `client_ca` are the authorities of client certificates, in PEM; empty if the server accepts none.
    """
    operations: list[Operation] = []
    for name, data in ((TOKEN_TRACKING, {"since": context.now()[:10]}), (CLIENT_CA, {"client-ca-file": client_ca})):
        if name == CLIENT_CA and not client_ca:
            continue
        key = f"{context.prefix}core/configmaps/{NAMESPACE}/{name}"
        try:
            entry = await context.storage.get(key)
        except records.UnreadableObject:  # it is named in the log, and created again when it was deleted
            continue
        if entry is None:
            operations.append(Put(key, records.encode(_document(context, name, data)), expected=0))
        elif name == CLIENT_CA:
            found = records.decode(entry.value)
            if found.get("data") != data:
                operations.append(Put(key, records.encode(found | {"data": data}), expected=entry.revision))
    if operations:
        with suppress(RevisionConflict):  # another process writes them, too
            await context.commit(*operations)


def _document(context: RegistryContext, name: str, data: Document) -> Document:
    metadata = {"name": name, "namespace": NAMESPACE}
    document: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    now = context.now()
    set_owner(document, "kube-apiserver", now)
    document["metadata"] |= {"uid": context.uid(), "creationTimestamp": now}
    return document
