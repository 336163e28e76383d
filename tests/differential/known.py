"""Differences that have a row in `docs/differences.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..server.differential import at, differing

MESSAGES = r"\.body\.(message|details\.causes\[\d+\]\.message)"


@dataclass(frozen=True)
class Known:
    """A difference at some place of the answers."""

    row: str
    """The first cell of the row."""
    place: str
    real: str
    ours: str = ""
    errors_only: bool = False

    def covers(self, place: str, real: Any, ours: Any) -> bool:
        return bool(
            re.fullmatch(self.place, place) and re.search(self.real, str(real)) and re.search(self.ours, str(ours))
        )


_DECODERS = (
    r"json: ",
    r"cannot (unmarshal|parse|convert|be handled as)",
    r"failed to create typed patch",
    r"illegal base64",
    r"quantities must match",
    r"cannot restore",
    r"failed to (convert (new|old) object|prune fields): ",
    r"unrecognized type: ",
    r"unknown patch type: ",
    r"token recognition error at: '\x00",
    r"strconv",
    r"no kind is registered",
    r"accessor error",
)
KNOWN = (
    Known("messages for a body, a patch, a number or a time that cannot be parsed", MESSAGES, "|".join(_DECODERS)),
    Known(
        "objects and lists in messages",
        MESSAGES,
        r"(Invalid|Duplicate|Unsupported) value: (\{|\[|map\[|\"?<the whole|v\d|core\.|&)",
    ),
    Known("objects and lists in messages", MESSAGES, r"\n@@ "),
    Known("objects and lists in messages", MESSAGES, r"value: \{\}", "value: null"),
    Known("a PUT with another object's uid", MESSAGES, "StorageError: invalid object", "Precondition failed: UID"),
    Known("warnings together with an error", r"\.warnings", "", errors_only=True),
    Known(
        "the metadata alone in the answer to a write of an autoscaler in v1",
        r".*\.annotations.*",
        "<absent>",
        r"autoscaling\.alpha",
    ),
    Known(
        "the metadata alone in the answer to a write of an autoscaler in v1",
        r".*\.annotations\.autoscaling\.alpha\..*",
        "<absent>",
    ),
    Known(
        "an empty `data` or `binaryData` in a write of an immutable Secret or ConfigMap",
        r"\.body\.(message|details\.causes)",
        r"(binaryData|data).*: field is immutable when `immutable` is set",
        "field is immutable when `immutable` is set",
    ),
)

ACCEPTED = (
    Known(
        "an empty `data` or `binaryData` in a write of an immutable Secret or ConfigMap",
        r"\.body\.message",
        r'^\w+ "\w+" is invalid: (binaryData|data): Forbidden: field is immutable when `immutable` is set$',
    ),
)
"""Requests that only the real server refuses, by its message."""
SCALES = "managed fields after a write of a Scale that changes nothing"
DEPENDENT_CAUSES = "causes that follow from other causes"

Found = tuple[str, Any, Any]


def ends(real: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether a difference that has a row changes what is stored: later answers cannot be compared."""
    if _one_sided(real, ours):
        return True
    kinds, versions = (
        [at(each, f"body.{path}") for each in (real, ours)] for path in ("kind", "metadata.resourceVersion")
    )
    return kinds == ["Scale", "Scale"] and len({str(version) for version in versions}) > 1


def unknown(real: Mapping[str, Any], ours: Mapping[str, Any]) -> list[Found]:
    """The differences of two answers that no row explains."""
    real, ours = _without_dependent_causes(real, ours)
    table = [known for known in KNOWN if not known.errors_only or real.get("status", 0) >= 400]
    return [found for found in differing(real, ours) if not any(known.covers(*found) for known in table)]


def _one_sided(real: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether only the real server refuses a request, for a reason that has a row."""
    if ours.get("status", 0) >= 400:
        return False
    return any(known.covers(".body.message", at(real, "body.message"), "") for known in ACCEPTED)


def _without_dependent_causes(real: Mapping[str, Any], ours: Mapping[str, Any]) -> tuple[Any, Any]:
    """The errors of a definition without their causes, if both report a wrong type: others may follow from it."""
    if at(real, "body.details.kind") != "CustomResourceDefinition":
        return real, ours
    first, second = _causes(real), _causes(ours)
    if first == second or not any(field.endswith(("type", ".openAPIV3Schema")) for field, _ in first & second):
        return real, ours
    return _without_causes(real), _without_causes(ours)


def _causes(answer: Mapping[str, Any]) -> set[tuple[str, str]]:
    found = at(answer, "body.details.causes")
    return {(cause.get("field", ""), cause["reason"]) for cause in found} if isinstance(found, list) else set()


def _without_causes(answer: Mapping[str, Any]) -> dict[str, Any]:
    details = {name: part for name, part in answer["body"]["details"].items() if name != "causes"}
    return {**answer, "body": {**answer["body"], "message": "", "details": details}}
