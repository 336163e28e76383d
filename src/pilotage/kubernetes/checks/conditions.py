"""Conditions in a status, of the form that most newer kinds have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import fields, items, texts

_STATUSES = ("False", "True", "Unknown")
_MAX_REASON = 1024
_MAX_MESSAGE = 32 * 1024
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON, re.ASCII).fullmatch
_NO_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)


def validate_conditions(conditions: Sequence[Document], path: str) -> Iterator[Cause]:
    """What is wrong with conditions, each of which has its own type."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        yield from items.unique(kind, f"{path}[{index}].type", seen)
        yield from _validate_condition(condition, f"{path}[{index}]")


def _validate_condition(condition: Document, path: str) -> Iterator[Cause]:
    kind, status = condition.get("type") or "", condition.get("status") or ""
    yield from texts.text(kind, f"{path}.type", qualified_name)
    yield from fields.choice(status, f"{path}.status", _STATUSES)
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        yield invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    yield from fields.needed(condition, path, "lastTransitionTime")
    reason, message = condition.get("reason") or "", condition.get("message") or ""
    yield from texts.required_text(reason, f"{path}.reason", lambda text: [] if _is_reason(text) else [_NO_REASON])
    yield from texts.length(reason, f"{path}.reason", _MAX_REASON)
    yield from texts.length(message, f"{path}.message", _MAX_MESSAGE)
