"""Whether an answer is the recorded one: its code, its causes, its object, its message."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pilotage.meta.documents import Document

_UNCOMPARED = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered: an object, or what was wrong."""

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[tuple[str, str], ...] = ()
    """Pairs of reason and field."""
    document: Document = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> tuple[int, str]:
        return self.code, self.reason


def recorded(record: Document) -> Answer:
    """The recorded answer, without the object."""
    causes = tuple((cause.get("reason", ""), cause.get("field", "")) for cause in record.get("causes", ()))
    warnings = tuple(record.get("warnings", ()))
    return Answer(record["code"], record.get("reason", ""), record.get("message", ""), causes, warnings=warnings)


def same_causes(one: Answer, other: Answer) -> bool:
    return one.verdict == other.verdict and Counter(one.causes) == Counter(other.causes)


def without_server_fields(document: Document) -> Document:
    """An object without the fields of metadata that differ on each server."""
    metadata = document.get("metadata", {})
    return document | {"metadata": {key: value for key, value in metadata.items() if key not in _UNCOMPARED}}


def alike(expected: Any, actual: Any) -> bool:
    """Whether two values are equal, where a mask stands for anything of its sort."""
    return next(differences(expected, actual), None) is None


def differences(expected: Any, actual: Any, path: str = "") -> Any:
    """Where two values differ, as lines for people."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected | actual:
            if key not in actual:
                yield f"{path}.{key}: missing {expected[key]!r}"
            elif key not in expected:
                yield f"{path}.{key}: unexpected {actual[key]!r}"
            else:
                yield from differences(expected[key], actual[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif (type(expected), expected) != (type(actual), actual) and not _masked(expected, actual):
        yield f"{path}: {actual!r}, not {expected!r}"


def mask_generated(text: str, prefix: str) -> str:
    """A message with the random part of a generated name masked."""
    return re.sub(re.escape(prefix[:58]) + _SUFFIX, f"{prefix[:58]}<random>", text) if prefix else text


def _masked(expected: Any, actual: Any) -> bool:
    if expected == "<allocated>":
        return isinstance(actual, str | int) and bool(actual)
    if not isinstance(expected, str) or not isinstance(actual, str):
        return False
    if expected == "<time>":
        return _TIME.fullmatch(actual) is not None
    if expected == "<uid>":
        return _UID.fullmatch(actual) is not None
    return "<random>" in expected and bool(
        re.fullmatch(_SUFFIX.join(map(re.escape, expected.split("<random>"))), actual)
    )
