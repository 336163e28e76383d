"""ControllerRevisions."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.verbatim import same_texts
from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document, same
from pilotage.server.strategies.checks import fields, numbers
from pilotage.server.strategies.strategy import Strategy


class ControllerRevisionStrategy(Strategy):
    """Revisions keep the data that a controller stored."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from numbers.not_negative(document.get("revision", 0), "revision")
        data = document.get("data")
        if data is None:
            yield required("data", "data is mandatory")
        elif not isinstance(data, dict):
            yield required("data", "data must be a valid JSON object")

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from numbers.not_negative(document.get("revision", 0), "revision")
        data, before = document.get("data"), old.get("data")
        if not (same(data, before) and same_texts(data, before)):  # an empty list is not an empty object
            yield invalid("data", document.get("data"), fields.IMMUTABLE, whole=True)
