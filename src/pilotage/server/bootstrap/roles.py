"""The roles and bindings that a cluster has from its start, as kube-apiserver creates them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pilotage.meta.documents import Document
from pilotage.server.access.rbac import GROUP

_DATA = Path(__file__).parent / "data" / "roles.json"
_KINDS = {
    "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
    "roles": "Role",
    "rolebindings": "RoleBinding",
}


def roles() -> Iterator[tuple[str, Document]]:
    """Each object with the prefix of its key."""
    rows: dict[str, list[Document]] = msgspec.json.decode(_DATA.read_bytes())
    for resource, kind in _KINDS.items():
        for row in rows[resource]:
            metadata: Document = {"name": row.pop("name")}
            if "namespace" in row:
                metadata["namespace"] = row.pop("namespace")
            metadata["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
            metadata["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **row.pop("labels", {})}
            yield f"{GROUP}/{resource}/", {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **row}
