"""Random creates, updates, patches, applies and deletes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pilotage.meta.documents import Document

from ..kubernetes.mutations import places
from ..server.differential import APPLY, JSON_PATCH, MERGE, STRATEGIC, Saved
from .reads import LABELS
from .requests import PARTIAL, TABLE, Requests


class Writes(Requests):
    """Requests that change something."""

    def _query(self, *more: str) -> str:
        parts = [*more, *([f"fieldManager={self._manager()}"] if self._likely(0.6) else [])]
        if self._likely(0.08):
            parts.append(f"dryRun={self._chance.choice(['All', 'All', 'All', 'Other', ''])}")
        if self._likely(0.2):
            parts.append(f"fieldValidation={self._chance.choice(['Strict', 'Warn', 'Ignore', 'Other'])}")
        return "&".join(parts)

    def _accept(self) -> str:
        return self._chance.choice([TABLE, PARTIAL, "application/yaml"]) if self._likely(0.06) else ""

    def _write(self, what: str, method: str, target: str, **more: Any) -> None:
        saved = f"written{len(self.made)}"
        accept = self._accept()
        self._step(what, method, target, accept=accept, save="" if accept else saved, **more)
        if not accept:
            self._objects.append(saved)

    def _create(self) -> None:
        document = self._document(self._short())
        if self._subject.namespaced and self._likely(0.05):
            document["metadata"] = {"generateName": self._chance.choice(["made-", "made-", "Made_"])}
        if self._likely(0.03):  # a dry run returns it: it is not that of an object
            document["metadata"]["resourceVersion"] = self._chance.choice(["0", "", "1", "abc"])
            return self._step("create", "POST", self._subject.collection, query=self._query(), body=document)
        return self._write("create", "POST", self._subject.collection, query=self._query(), body=document)

    def _replace(self) -> None:
        short = self._short()
        document = self._document(short if self._likely(0.95) else "other")
        if self._objects and self._likely(0.3):
            document["metadata"]["resourceVersion"] = self._version()
        self._write("replace", "PUT", self._object(short), query=self._query(), body=document)

    def _update(self, subresource: str = "") -> None:
        short, chance = self._short(), self._chance
        saved = f"read{len(self.made)}"
        self._step("read", "GET", self._object(short, subresource), save=saved)
        self._objects.append(saved)
        document = self._document(short)
        changes = {name: part for name, part in document.items() if name not in ("apiVersion", "kind", "metadata")}
        if subresource == "scale":
            changes = {"spec": {"replicas": chance.choice([0, 1, 3, -1])}}
        elif changes and chance.random() < 0.3:
            changes.pop(chance.choice(sorted(changes)))
        for name, part in document["metadata"].items():
            if name not in ("name", "uid", "namespace"):
                changes[f"metadata.{name}"] = part
        if self._likely(0.4):
            changes["metadata.resourceVersion"] = chance.choice(["", self._version()])
        target = self._object(short, subresource)
        self._write("update", "PUT", target, query=self._query(), body=Saved(saved, changes))

    def _patched(self, short: str) -> Document:
        """Some of a document's fields, some of them null."""
        chance = self._chance
        document = self._document(short)
        document["metadata"].pop("name")
        for _ in range(chance.randint(0, 3)):
            *parents, last = chance.choice([*places(document), ("metadata",)])
            holder: Any = document
            for step in parents:
                holder = holder[step]
            if isinstance(holder, dict) and chance.random() < 0.5:
                holder[last] = None
            elif isinstance(holder, dict):
                holder.pop(last, None)
        if self._objects and self._likely(0.1) and isinstance(document.get("metadata"), dict):
            document["metadata"]["resourceVersion"] = self._version()
        return {name: part for name, part in document.items() if name not in ("apiVersion", "kind")}

    def _patch(self, what: str, short: str, body: object, content_type: str, subresource: str = "") -> None:
        target = self._object(short, subresource)
        self._write(what, "PATCH", target, query=self._query(), body=body, content_type=content_type)

    def _merge(self, subresource: str = "") -> None:
        short = self._short()
        self._patch("merge", short, self._patched(short), MERGE, subresource)

    def _strategic(self, subresource: str = "") -> None:
        short = self._short()
        body = self._patched(short)
        if self._chance.random() < 0.3:
            parts = [part for part in body.values() if isinstance(part, dict)]
            for part in parts[:1]:
                part["$patch"] = self._chance.choice(["replace", "merge", "delete", "other"])
        self._patch("strategic", short, body, STRATEGIC, subresource)

    def _json(self) -> None:
        short, chance = self._short(), self._chance
        document = self._document(short)
        paths = [(*path,) for path in places(document)] + [("metadata", "labels"), ("metadata", "labels", "a")]
        operations = []
        for _ in range(chance.randint(1, 3)):
            pointer = _pointer(chance.choice(paths))
            op = chance.choice(["add", "add", "replace", "remove", "test", "copy", "move"])
            operation: Document = {"op": op, "path": pointer}
            if op in ("add", "replace", "test"):
                operation["value"] = chance.choice([{"a": "1"}, "x", 1, None, []])
            if op in ("copy", "move"):
                operation["from"] = _pointer(chance.choice(paths))
            operations.append(operation)
        self._patch("json patch", short, operations, JSON_PATCH)

    def _apply(self, subresource: str = "") -> None:
        short = self._short()
        more = [f"fieldManager={self._manager()}"] if self._likely(0.98) else []
        more += ["force=true"] if self._likely(0.4) else []
        more += ["dryRun=All"] if self._likely(0.05) else []
        more += [f"fieldValidation={self._chance.choice(['Strict', 'Warn', 'Ignore'])}"] if self._likely(0.1) else []
        document = self._document(short)
        if self._objects and self._likely(0.05):
            document["metadata"]["resourceVersion"] = self._version()
        target = self._object(short, subresource)
        self._write("apply", "PATCH", target, query="&".join(more), body=document, content_type=APPLY)

    def _status(self) -> None:
        writes = [self._update, self._merge, self._apply]
        # Known: kube-apiserver creates a Service that is missing.
        self._chance.choice(writes if self._subject.kind != "Service" else writes[:2])("status")

    def _scale(self) -> None:
        chance = self._chance
        if chance.random() < 0.4:
            return self._update("scale")
        body = {"spec": {"replicas": chance.choice([0, 2, -1, None])}}
        if chance.random() < 0.5:
            return self._patch("scale", self._short(), body, MERGE, "scale")
        return self._step("read scale", "GET", self._object(self._short(), "scale"))

    def _delete_options(self) -> Document | None:
        chance = self._chance
        options: Document = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if chance.random() < 0.4:
            options["propagationPolicy"] = chance.choice(["Background", "Foreground", "Orphan", "Other"])
        if chance.random() < 0.1:
            options["orphanDependents"] = chance.choice([True, False])
        if chance.random() < 0.3:
            options["gracePeriodSeconds"] = chance.choice([0, 1, 30, -1])
        if chance.random() < 0.3:
            options["preconditions"] = chance.choice([{"uid": "0" * 8}, {"resourceVersion": "1"}, {}, *self._seen()])
        if chance.random() < 0.1:
            options["dryRun"] = [chance.choice(["All", "All", "Other"])]
        return options if chance.random() < 0.7 else None

    def _seen(self) -> list[Document]:
        if not self._objects:
            return []
        name = self._chance.choice(self._objects)
        both = {"uid": f"<{name}.metadata.uid>", "resourceVersion": f"<{name}.metadata.resourceVersion>"}
        return [{"uid": both["uid"]}, {"resourceVersion": both["resourceVersion"]}, both]

    def _delete(self) -> None:
        queries = ["", "", "", "dryRun=All", "propagationPolicy=Orphan", "gracePeriodSeconds=0", "propagationPolicy=x"]
        body, accept = self._delete_options(), self._accept()
        target = self._object(self._short())
        self._step("delete", "DELETE", target, query=self._chance.choice(queries), body=body, accept=accept)

    def _delete_collection(self) -> None:
        query = f"labelSelector={quote(self._chance.choice(LABELS))}"
        query += self._chance.choice(["", "", "&limit=1", "&dryRun=All", "&fieldSelector=metadata.name%3Done"])
        target = self._subject.collection
        self._step("delete some", "DELETE", target, query=query, body=self._delete_options())


def _pointer(path: tuple[Any, ...]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
