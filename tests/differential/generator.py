"""Random sequences of requests, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote

from pilotage.meta.documents import Document

from ..server.differential import APPLY, JSON_PATCH, MERGE, STRATEGIC, Saved, Scenario, Step
from ..server.strategies.mutations import places
from . import subjects
from .subjects import Subject

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
LABELS = ("a=1", "a!=1", "a in (1,2)", "!a", "b", "a=1,b=2", "a=", "a==2", "a notin (1)", "a>1", "=", "a in ()", "-=1")
FIELDS = ("metadata.name=one", "metadata.name!=one", "metadata.namespace=<namespace>", "status.phase=Pending", "type=x")
MANAGERS = ("one", "two", "three")
CUSTOM_KINDS = 4
"""In each batch: a definition takes seconds on the real server."""


@dataclass(frozen=True)
class Batch:
    """Sequences that share their custom kinds."""

    seed: int
    number: int
    kinds: list[Subject] = field(init=False)
    builtin: list[Subject] = field(init=False)

    def __post_init__(self) -> None:
        chance = Random(f"kinds-{self.seed}-{self.number}")
        made = [subjects.custom(chance, f"{self.name}.example.com", index) for index in range(CUSTOM_KINDS)]
        object.__setattr__(self, "kinds", [*made, subjects.owned_part(f"parts.{self.name}.example.com")])
        object.__setattr__(self, "builtin", subjects.builtin())

    @property
    def name(self) -> str:
        return f"batch-{self.seed}-{self.number}"

    def sequence(self, number: int, length: int = 9) -> Scenario:
        """The sequence of a number."""
        chance = Random(f"{self.name}-{number}")
        custom = chance.random() < 0.4
        subject = chance.choice(self.kinds if custom else self.builtin)
        steps = Steps(subject, chance)
        while len(steps.made) < length:
            steps.add()
        definitions = [subject.definition] if subject.definition else []
        return Scenario(f"{self.name}-{number}", steps.made, definitions, managed_fields=True)


class Steps:
    """The requests about the objects of one kind."""

    def __init__(self, subject: Subject, chance: Random) -> None:
        self.made: list[Step] = []
        self._subject = subject
        self._chance = chance
        self._seen: list[str] = []
        """Answers that were saved."""

    def add(self) -> None:
        """One request more, or two that belong together."""
        if not self.made:
            return self._chance.choice([self._create, self._create, self._apply])()
        choices: list[tuple[int, Callable[[], None]]] = [
            (3, self._create),
            (5, self._update),
            (2, self._replace),
            (4, self._merge),
            (3, self._json),
            (5, self._apply),
            (2, self._delete),
            (2, self._get),
        ]
        if "." not in self._subject.api_version.partition("/")[0] or self._chance.random() < 0.05:
            choices.append((4, self._strategic))
        if self._subject.status or self._chance.random() < 0.05:
            choices.append((4, self._status))
        if self._subject.scale or self._chance.random() < 0.05:
            choices.append((3, self._scale))
        if self._subject.namespaced:
            choices += [(4, self._list), (1, self._delete_collection)]
        weights = [weight for weight, _ in choices]
        return self._chance.choices([make for _, make in choices], weights)[0]()

    def _step(self, what: str, method: str, target: str, *, query: str = "", **more: Any) -> None:
        number = len(self.made) + 1
        url = f"{target}?{query}" if query else target
        self.made.append(Step(f"{number} {what}", method, url, **more))

    def _short(self) -> str:
        return self._chance.choice(["one", "one", "one", "two"])

    def _object(self, short: str, subresource: str = "") -> str:
        path = f"{self._subject.collection}/{self._subject.name(short)}"
        return f"{path}/{subresource}" if subresource else path

    def _query(self, *more: str) -> str:
        parts = [*more, *([f"fieldManager={self._manager()}"] if self._chance.random() < 0.6 else [])]
        if self._chance.random() < 0.08:
            parts.append("dryRun=All")
        if self._chance.random() < 0.2:
            parts.append(f"fieldValidation={self._chance.choice(['Strict', 'Warn', 'Ignore'])}")
        return "&".join(parts)

    def _manager(self) -> str:
        return self._chance.choice(MANAGERS)

    def _document(self, short: str) -> Document:
        return self._subject.document(short, self._chance)

    def _create(self) -> None:
        document = self._document(self._short())
        if self._subject.namespaced and self._chance.random() < 0.05:
            document["metadata"] = {"generateName": "made-"}
        self._step("create", "POST", self._subject.collection, query=self._query(), body=document)

    def _replace(self) -> None:
        short = self._short()
        self._step("replace", "PUT", self._object(short), query=self._query(), body=self._document(short))

    def _update(self, subresource: str = "") -> None:
        short, chance = self._short(), self._chance
        saved = f"read{len(self.made)}"
        self._step("read", "GET", self._object(short, subresource), save=saved)
        document = self._document(short)
        changes = {name: part for name, part in document.items() if name not in ("apiVersion", "kind", "metadata")}
        if subresource == "scale":
            changes = {"spec": {"replicas": chance.choice([0, 1, 3, -1])}}
        elif changes and chance.random() < 0.3:
            changes.pop(chance.choice(sorted(changes)))
        for name in ("labels", "annotations", "finalizers"):
            if name in document["metadata"]:
                changes[f"metadata.{name}"] = document["metadata"][name]
        if chance.random() < 0.3:
            changes["metadata.resourceVersion"] = ""
        target = self._object(short, subresource)
        self._step("update", "PUT", target, query=self._query(), body=Saved(saved, changes))

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
        return {name: part for name, part in document.items() if name not in ("apiVersion", "kind")}

    def _patch(self, what: str, short: str, body: object, content_type: str, subresource: str = "") -> None:
        target = self._object(short, subresource)
        self._step(what, "PATCH", target, query=self._query(), body=body, content_type=content_type)

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
        more = [f"fieldManager={self._manager()}"] + (["force=true"] if self._chance.random() < 0.4 else [])
        target = self._object(short, subresource)
        query = "&".join(more)
        self._step("apply", "PATCH", target, query=query, body=self._document(short), content_type=APPLY)

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
        if chance.random() < 0.3:
            options["gracePeriodSeconds"] = chance.choice([0, 1, 30])
        if chance.random() < 0.2:
            options["preconditions"] = chance.choice([{"uid": "0" * 8}, {"resourceVersion": "1"}, {}])
        if chance.random() < 0.1:
            options["dryRun"] = ["All"]
        return options if chance.random() < 0.7 else None

    def _delete(self) -> None:
        query = self._chance.choice(["", "", "", "dryRun=All", "propagationPolicy=Orphan", "gracePeriodSeconds=0"])
        self._step("delete", "DELETE", self._object(self._short()), query=query, body=self._delete_options())

    def _delete_collection(self) -> None:
        query = f"labelSelector={quote(self._chance.choice(LABELS))}"
        target = self._subject.collection
        self._step("delete some", "DELETE", target, query=query, body=self._delete_options())

    def _get(self) -> None:
        accept = self._chance.choice(["", TABLE, PARTIAL])
        self._step("get", "GET", self._object(self._short()), accept=accept)

    def _list(self) -> None:
        chance = self._chance
        parts = []
        if chance.random() < 0.5:
            parts.append(f"labelSelector={quote(chance.choice(LABELS))}")
        if chance.random() < 0.3:
            parts.append(f"fieldSelector={quote(chance.choice(FIELDS), safe='<>')}")
        if self._seen and chance.random() < 0.3:
            parts.append(f"resourceVersion=<{chance.choice(self._seen)}.metadata.resourceVersion>")
            parts.append(f"resourceVersionMatch={chance.choice(['Exact', 'NotOlderThan'])}")
        if chance.random() < 0.3:
            parts.append("limit=1")
        saved = "" if any("Selector" in part for part in parts) else f"list{len(self.made)}"
        accept = chance.choice(["", "", TABLE, PARTIAL_LIST])
        target = self._subject.collection
        self._step("list", "GET", target, query="&".join(parts), accept=accept, save=saved)
        if saved:
            self._seen.append(saved)


def _pointer(path: tuple[Any, ...]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
