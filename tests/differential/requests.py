"""The requests of a sequence, and how they are written down."""

from __future__ import annotations

from random import Random
from typing import Any

from pilotage.meta.documents import Document

from ..kubernetes.mutations import places
from ..server.differential import Step
from .subjects import Subject

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
MANAGERS = ("one", "two", "three")
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "11111111-1111-1111-1111-111111111111"}
ODD_METADATA: tuple[Document, ...] = (
    {"ownerReferences": [OWNER]},
    {"ownerReferences": [OWNER | {"controller": True, "blockOwnerDeletion": True}]},
    {"ownerReferences": [OWNER | {"kind": ""}]},
    {
        "ownerReferences": [
            OWNER | {"controller": True},
            OWNER | {"controller": True, "uid": OWNER["uid"].replace("1", "2")},
        ]
    },
    {"managedFields": []},
    {"managedFields": [{}]},
    {"managedFields": [{"manager": "m", "operation": "Other"}]},
    {"managedFields": None},
    {"generation": 7},
    {"creationTimestamp": None},
    {"deletionTimestamp": "2024-01-01T00:00:00Z"},
    {"deletionGracePeriodSeconds": 5},
    {"namespace": "elsewhere"},
    {"selfLink": "/a"},
    {"uid": "33333333-3333-3333-3333-333333333333"},
    {"labels": {"a": "-"}},
    {"labels": {"/": ""}},
    {"annotations": {"A": "", "": "x"}},
    {"finalizers": ["none"]},
    {"finalizers": ["orphan"]},
    {"finalizers": ["foregroundDeletion"]},
    {"unknown": 1},
)


class Requests:
    """The requests so far, and what later ones can use of their answers."""

    def __init__(self, subject: Subject, chance: Random) -> None:
        self.made: list[Step] = []
        self._subjects = (subject, *subject.others)
        self._subject = subject
        self._chance = chance
        self._lists: list[str] = []
        """Answers to lists that were saved."""
        self._objects: list[str] = []
        """Answers with an object that were saved."""

    def _step(self, what: str, method: str, target: str, *, query: str = "", **more: Any) -> None:
        number = len(self.made) + 1
        if self._subject.dry_run and method != "GET" and "dryRun" not in query:
            query = f"{query}&dryRun=All".removeprefix("&")
        url = f"{target}?{query}" if query else target
        self.made.append(Step(f"{number} {what}", method, url, **more))

    def _likely(self, chance: float) -> bool:
        return self._chance.random() < chance

    def _short(self) -> str:
        return self._chance.choice(["one", "one", "one", "two"])

    def _object(self, short: str, subresource: str = "") -> str:
        path = f"{self._subject.collection}/{self._subject.name(short)}"
        return f"{path}/{subresource}" if subresource else path

    def _manager(self) -> str:
        return self._chance.choice(MANAGERS)

    def _version(self) -> str:
        """A version of an object that was seen; where its answer has none, nothing."""
        return f"<{self._chance.choice(self._objects)}.metadata.resourceVersion>"

    def _any_version(self) -> str:
        """A version of an object or of a list, which is that of the whole storage."""
        return f"<{self._chance.choice([*self._lists, *self._objects])}.metadata.resourceVersion>"

    def _document(self, short: str) -> Document:
        """A document; some have odd metadata or a field that the kind does not know."""
        document = self._subject.document(short, self._chance)
        if self._likely(0.06):
            document["metadata"] |= self._chance.choice(ODD_METADATA)
        if self._likely(0.06):
            self._holder(document)["unknown"] = self._chance.choice([1, "x", None, {"a": 1}, []])
        return document

    def _holder(self, document: Document) -> Document:
        """One of the objects in a document."""
        found = [document]
        for path in places(document):
            value: Any = document
            for key in path:
                value = value[key]
            if isinstance(value, dict):
                found.append(value)
        return self._chance.choice(found)
