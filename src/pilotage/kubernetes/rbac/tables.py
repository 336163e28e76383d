"""The rows of Tables of rbac.authorization.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items
from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, Column, pair, row


def _subjects(kind: str) -> Column:
    """The subjects of a binding that are of this kind."""

    def shown(document: Document) -> str:
        names = [
            f"{each.get('namespace', '')}/{each.get('name', '')}" if kind == "ServiceAccount" else each.get("name", "")
            for each in items(document, "subjects")
            if each.get("kind") == kind
        ]
        return ", ".join(names)

    return shown


_BINDING = row(NAME, pair("roleRef", "kind", "name"), AGE, *map(_subjects, ("User", "Group", "ServiceAccount")))

PRINTERS: dict[str, Printer] = {
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
}
