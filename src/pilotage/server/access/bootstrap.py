"""The roles and bindings that a cluster has from its start, as kube-apiserver creates them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.access.rbac import GROUP
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Put

_DATA = Path(__file__).parent / "data" / "roles.json"
_BATCH = 100
"""Objects in one commit."""
_KINDS = {
    "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
    "roles": "Role",
    "rolebindings": "RoleBinding",
}


def objects() -> Iterator[tuple[str, Document]]:
    """Each object with its resource."""
    rows: dict[str, list[Document]] = msgspec.json.decode(_DATA.read_bytes())
    for resource, kind in _KINDS.items():
        for row in rows[resource]:
            metadata: Document = {"name": row.pop("name")}
            if "namespace" in row:
                metadata["namespace"] = row.pop("namespace")
            metadata["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
            metadata["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **row.pop("labels", {})}
            yield resource, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **row}


async def create_roles(context: RegistryContext) -> None:
    """Create those that do not exist. Roles of an older version of the program stay as they are."""
    prefix = f"{context.prefix}{GROUP}/"
    known = {entry.key for entry in (await context.storage.list(prefix)).entries}
    now = context.now()
    puts = []
    for resource, document in objects():
        metadata = document["metadata"]
        place = f"{metadata['namespace']}/" if "namespace" in metadata else ""
        key = f"{prefix}{resource}/{place}{metadata['name']}"
        if key not in known:
            metadata |= {"uid": context.uid(), "creationTimestamp": now}
            puts.append(Put(key, records.encode(document), expected=0))
    with suppress(RevisionConflict):  # another process creates them, too
        for start in range(0, len(puts), _BATCH):
            await context.commit(*puts[start : start + _BATCH])
