"""What the server warns of: deprecated versions, unknown fields. Each text is logged once."""

from __future__ import annotations

import logging
from collections.abc import Callable

WarningHandler = Callable[[str], None]
"""Gets the text of each warning, as often as the server sends it."""

_KEPT = 1000


class LoggedOnce:
    """Logs each warning the first time it is seen; the memory for them is bounded."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("pilotage.client")
        self._seen: dict[str, None] = {}

    def __call__(self, text: str) -> None:
        if text in self._seen:
            return
        if len(self._seen) >= _KEPT:
            del self._seen[next(iter(self._seen))]
        self._seen[text] = None
        self._logger.warning("%s", text)
