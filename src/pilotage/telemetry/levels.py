"""Which level each logger of the process has: ours as asked for, those of other libraries at INFO or above.

A library such as hpack logs several lines for each call at DEBUG. To debug Pilotage must not turn that on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

ENVIRONMENT = "PILOTAGE_LOG_LEVELS"
"""`debug`, or levels by logger: `info,pilotage.device=debug,hpack=error`. What it names wins over the program."""

Level = int | str


class Levels:
    """The levels of one process. Loggers made with `pilotage.logger` are ours, whatever their names."""

    def __init__(self) -> None:
        self._ours = {"pilotage"}
        self._level = logging.INFO
        self._set: set[str] = set()

    def add(self, name: str) -> None:
        """Count a logger as ours from now on."""
        if name not in self._ours:
            self._ours.add(name)
            if self._level < logging.INFO:
                self._lower(name)

    def apply(self, level: int, levels: Mapping[str, int]) -> None:
        """Set all levels, in place of those of the call before. The name "" in `levels` is the root logger."""
        for name in self._set:
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._set.clear()
        self._level = level
        logging.getLogger().setLevel(levels.get("", max(level, logging.INFO)))
        for name, chosen in levels.items():
            if name:
                self._choose(name, chosen)
        if level < logging.INFO:
            for name in sorted(self._ours, key=len):  # a parent comes before its children, which inherit from it
                self._lower(name)

    def _lower(self, name: str) -> None:
        """Give a logger of ours the level, unless it or one of its parents has a level already."""
        found: logging.Logger | None = logging.getLogger(name)
        while found is not None and found is not logging.getLogger():
            if found.level != logging.NOTSET:
                return
            found = found.parent
        self._choose(name, max(self._level, 1))  # 0 would be no level at all

    def _choose(self, name: str, level: int) -> None:
        logging.getLogger(name).setLevel(level)
        self._set.add(name)


def parsed(level: Level) -> int:
    """A level's number. Raises ValueError for an unknown level."""
    if isinstance(level, int):
        return level
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"{level[:50]!r} is not a log level: use debug, info, warning, error or critical")
    return number


def from_environment(text: str) -> tuple[int | None, dict[str, int]]:
    """What the variable says: the level of all that is ours, if it names one, and levels by logger."""
    level: int | None = None
    levels: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.rpartition("=")
        try:
            number = parsed(value.strip())
        except ValueError as error:
            raise ValueError(f"{ENVIRONMENT}={text[:200]}: {error}") from None
        if equals:
            levels[name.strip()] = number
        else:
            level = number
    return level, levels
