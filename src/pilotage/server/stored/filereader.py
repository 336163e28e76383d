"""Custom resources as they are stored: tables and documents without the registry, a codec or an event loop.

Objects are stored as they were after defaulting and pruning. As long as their definition has one version and has not
changed since they were written, a reader sees exactly these bytes, with their version. Where that is not certain,
`NeedsServer` is raised: the registry answers every request, and both give the same answers.

Light to import: a command that prints a table loads this, and neither msgspec nor typing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pilotage.server.definitions import DEFINITIONS, NeedsServer, collection_of, head_of, reads_as_stored
from pilotage.server.tables import custom
from pilotage.storage.keys import behind_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from pilotage.meta.documents import Document
    from pilotage.storage.sqlite.log import Log
    from pilotage.storage.sqlite.rows import StoredRow


_decode = json.JSONDecoder().decode  # `json.loads` looks for other encodings than UTF-8


class FileReader:
    """Reads the definitions and the objects of one tenant from a file. Needs a transaction of the log."""

    def __init__(self, log: Log, tenant: str) -> None:
        self._log = log
        self._prefix = f"/{tenant}/"
        self._revision = log.revision

    def resources(self) -> list[FileResource]:
        """All defined resources, including those that need a server."""
        return [FileResource(json.loads(value), revision) for value, revision, _ in self._rows(DEFINITIONS)]

    def documents(self, resource: FileResource, namespace: str = "", names: Sequence[str] = ()) -> Iterator[Document]:
        """The objects of a resource as a reader sees them, in a namespace or in all: those with the names, or all.

        Each is decoded on access. Raises NeedsServer, also for a name that no object has.
        """
        prefix = resource.collection + (f"{namespace}/" if namespace else "")
        found = [row for name in names for row in self._rows(f"{prefix}{name}", exactly=True)]
        if len(found) != len(names):
            raise NeedsServer
        return map(resource.document, found if names else self._rows(prefix))

    def _rows(self, key: str, *, exactly: bool = False) -> list[StoredRow]:
        """What is stored under a prefix, or of just one key, in the order of their keys."""
        low = self._prefix + key
        found = self._log.stored(low, f"{low}\0" if exactly else behind_prefix(low), self._revision)
        return [found[key] for key in sorted(found)]


class FileResource:
    """A resource by its definition."""

    def __init__(self, definition: Document, revision: int) -> None:
        self.definition = definition
        self._revision = revision
        self.group: str = definition["spec"]["group"]
        names: Document = definition.get("status", {}).get("acceptedNames") or {}
        self.kind: str = names.get("kind", "")
        self.plural: str = names.get("plural", "")
        self.other_names = {names.get("singular", "").lower(), self.kind.lower(), *names.get("shortNames", ())}
        self.namespaced: bool = definition["spec"]["scope"] == "Namespaced"
        version = definition["spec"]["versions"][0]
        self._columns: Sequence[Document] = version.get("additionalPrinterColumns") or ()
        self._head = head_of(f"{self.group}/{version['name']}", self.kind)
        self.collection = collection_of(self.group, self.plural)

    def check(self) -> None:
        """Raise NeedsServer if objects may be read in another form than they are stored in."""
        if not reads_as_stored(self.definition):
            raise NeedsServer

    def document(self, row: StoredRow) -> Document:
        """An object as a reader sees it. Raises NeedsServer if it was written under another definition."""
        value, revision, _ = row
        if revision < self._revision or not value.startswith(self._head):
            raise NeedsServer
        document: Document = _decode(value.decode())
        document["metadata"] = {"resourceVersion": str(revision), **document["metadata"]}
        return document

    def table(self, documents: Iterable[Document], now: datetime, *, wide: bool) -> Document:
        """The objects as a Table. Columns have no descriptions; columns that only a wide table shows are omitted
        otherwise. Of the objects, rows have the namespace and the labels."""
        cells = custom.printer(self._columns, wide=wide)
        rows: list[Document] = []
        for document in documents:
            metadata = document["metadata"]
            kept = {"namespace": metadata.get("namespace"), "labels": metadata.get("labels")}
            rows.append({"cells": cells(document, now), "object": {"metadata": kept}})
        return {"columnDefinitions": custom.columns(self._columns, lambda name: "", wide=wide), "rows": rows}
