"""The parameters of a request, checked: every one has a bound."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from pilotage.meta.scalars import times

_MOST_FIELDS = 20
_MOST_TEXT = 512
"""Characters of one value."""


class BadQuery(ValueError):
    """A parameter that cannot be used; the text says why."""


class Query:
    """The parameters of one request. Unknown ones, and the same one twice, are refused."""

    def __init__(self, text: str, allowed: Collection[str]) -> None:
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
        except ValueError as error:
            raise BadQuery("the query cannot be read: at most 20 parameters, in UTF-8") from error
        self._values = dict(pairs)
        if len(self._values) < len(pairs):
            raise BadQuery("a parameter is given twice")
        for name, value in pairs:
            if name not in allowed:
                raise BadQuery(f"unknown parameter {name[:40]!r}: use {', '.join(allowed) or 'none'}")
            if len(value) > _MOST_TEXT:
                raise BadQuery(f"the parameter {name} has more than {_MOST_TEXT} characters")

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def required(self, name: str) -> str:
        if not self._values.get(name):
            raise BadQuery(f"the parameter {name} is missing")
        return self._values[name]

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 0 on; one above `most` counts as that."""
        text = self._values.get(name, "")
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise BadQuery(f"the parameter {name} must be a whole number from 0 on, not {text[:40]!r}")
        return min(int(text), most)

    def time(self, name: str) -> datetime | None:
        """A time in RFC 3339, in UTC; None where it is not given."""
        text = self._values.get(name, "")
        if not text:
            return None
        try:
            return times.parse(text).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise BadQuery(f"the parameter {name} must be a time such as 2026-01-31T12:00:00Z") from error
