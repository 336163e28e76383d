"""Times that must be given to the microsecond."""

from __future__ import annotations

import re

from pilotage.meta.documents import Document
from pilotage.server.strategies.strategy import mapping

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


def micro_time_error(document: Document, fields: tuple[tuple[str, ...], ...]) -> str:
    """The decoding error of the first field that has a time, but not to the microsecond; empty if there is none.

    Values that are not times at all are left to the schema.
    """
    for path in fields:
        value = document
        for key in path[:-1]:
            value = mapping(value.get(key))
        text = value.get(path[-1])
        if isinstance(text, str) and _TIME.fullmatch(text) and not _MICRO_TIME.fullmatch(text):
            return f'json: cannot unmarshal "{text}" into field {".".join(path)} of type microsecond-time'
    return ""
