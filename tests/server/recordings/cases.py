"""The recorded cases: how a request is built, and what the recorded answer was."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pilotage.meta.documents import Document

FOLDER = Path(__file__).parent
PARTS = ("defaults", "validation", "updates")
_STEP = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\.?([^.\[]+)')
_VERSIONED = ("Event", "HorizontalPodAutoscaler")
"""Kinds that are recorded in two groups or versions."""


@dataclass(frozen=True, slots=True)
class Case:
    """One request and its answer."""

    record: Document
    base: Document

    @property
    def title(self) -> str:
        """The kind, with its group and version where there are several."""
        kind, group, version = (str(self.record[key]) for key in ("kind", "group", "version"))
        return f"{kind} ({group}/{version})".replace("(/", "(") if kind in _VERSIONED else kind

    @property
    def updates(self) -> bool:
        return bool(self.record["op"] != "create")

    def body(self, start: Document) -> Document:
        """What is sent: the base, or what a GET answered, with the changes."""
        if "request" in self.record:
            return duplicate(self.record["request"])
        document = duplicate(start)
        if "change" in self.record:
            alter(document, {"path": self.record["path"]} | self.record["change"])
        for change in self.record.get("changes", ()):
            alter(document, change)
        return document

    def expected(self, start: Document) -> Document:
        """The object of an accepted request; an update's recorded difference is one from the object before."""
        if "stored" in self.record:
            return duplicate(self.record["stored"])
        document = duplicate(start)
        changed = self.record["diff"]
        for path, sides in changed.items():
            if "is" in sides:
                alter(document, {"path": path, "set": sides["is"]})
        for path in reversed(changed):
            if "is" not in changed[path]:
                alter(document, {"path": path, "remove": True})
        return document


def load(part: str) -> list[Document]:
    """The recorded cases of one part."""
    with gzip.open(FOLDER / f"{part}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def load_bases() -> dict[str, Document]:
    """The objects that cases start from, by name."""
    bases: dict[str, Document] = json.loads((FOLDER / "bases.json").read_bytes())
    return bases


def cases(bases: dict[str, Document], parts: tuple[str, ...] = PARTS) -> Iterator[Case]:
    """The cases of these parts, in the recorded order."""
    for part in parts:
        for record in load(part):
            yield Case(record, bases[record["base"]])


def alter(document: Document, change: Document) -> None:
    """Set, remove or append at a path, in place; missing parents are made."""
    steps = _steps(change["path"])
    last, target = steps[-1], document
    for step, following in pairwise(steps):
        target = _child(target, step, [] if isinstance(following, int) else {})
    if "remove" in change:
        _remove(target, last)
    elif "append" in change:
        _child(target, last, []).append(change["append"])
    elif isinstance(target, list) and last >= len(target):
        target.append(copy(change["set"]))
    else:
        target[last] = copy(change["set"])


def duplicate(document: Document) -> Document:
    """A private copy of a document."""
    return {key: copy(value) for key, value in document.items()}


def copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    return [copy(item) for item in value] if isinstance(value, list) else value


def _steps(path: str) -> list[Any]:
    return [
        int(index) if index else key or (quoted and json.loads(f'"{quoted}"'))
        for index, quoted, key in _STEP.findall(path)
    ]


def _child(target: Any, step: Any, new: Any) -> Any:
    if isinstance(target, list):
        if step >= len(target):
            target.append(new)
    elif target.get(step) is None:
        target[step] = new
    return target[step]


def _remove(target: Any, step: Any) -> None:
    if isinstance(target, dict):
        target.pop(step, None)
    elif step < len(target):
        del target[step]
