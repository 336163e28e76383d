"""The levels of the loggers of the process: Pilotage's loggers as configured, loggers of other libraries at INFO or
above.

A library such as hpack logs several lines for each call at DEBUG. Debugging Pilotage must not enable that.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

ENVIRONMENT = "PILOTAGE_LOG_LEVELS"
"""`debug`, or levels by logger: `info,pilotage.device=debug,hpack=error`. It overrides the program."""

Level = int | str
_VERBOSITY = re.compile(r"[vV]([0-9])")


class Levels:
    """The levels of one process. Loggers made with `pilotage.logger` belong to Pilotage, whatever their names."""

    def __init__(self) -> None:
        self._ours = {"pilotage"}
        self._level = logging.INFO
        self._set: set[str] = set()

    def add(self, name: str) -> None:
        """Count a logger as one of Pilotage."""
        if name not in self._ours:
            self._ours.add(name)
            if self._level < logging.INFO:
                self._lower(name)

    def apply(self, level: int, levels: Mapping[str, int]) -> None:
        """Set all levels, and reset the levels of the previous call. The name "" in `levels` is the root logger."""
        for name in self._set:
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._set.clear()
        self._level = level
        logging.getLogger().setLevel(levels.get("", max(level, logging.INFO)))
        for name, chosen in levels.items():
            if name:
                self._choose(name, chosen)
        if level < logging.INFO:
            for name in sorted(self._ours, key=len):  # a parent before its children, which inherit its level
                self._lower(name)

    def _lower(self, name: str) -> None:
        """Set the level of a logger of Pilotage, unless it or one of its parents has a level."""
        found: logging.Logger | None = logging.getLogger(name)
        while found is not None and found is not logging.getLogger():
            if found.level != logging.NOTSET:
                return
            found = found.parent
        self._choose(name, max(self._level, 1))  # 0 is NOTSET: the logger would inherit

    def _choose(self, name: str, level: int) -> None:
        logging.getLogger(name).setLevel(level)
        self._set.add(name)


def parsed(level: Level) -> int:
    """A level's number. Raises ValueError for an unknown level."""
    if isinstance(level, int):
        return level
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None and (found := _VERBOSITY.fullmatch(level)):
        number = verbosity(int(found[1]))
    if number is None:
        raise ValueError(f"{level[:50]!r} is not a log level: use debug, info, warning, error, critical, or v0 to v9")
    return number


def verbosity(level: int) -> int:
    """The level for client-go's verbosity: 0 is INFO, 1 is DEBUG, each further one is one below."""
    if level <= 0:
        return logging.INFO
    return max(logging.DEBUG - (level - 1), 1)


def shown(level: int, name: str) -> str:
    """The name of a level on a line. One below DEBUG has no name in logging: it is client-go's `V6`."""
    return name if level >= logging.DEBUG or level < 1 else f"V{logging.DEBUG - level + 1}"


def from_environment(text: str) -> tuple[int | None, dict[str, int]]:
    """The level of Pilotage in the variable, if there is one, and the levels by logger."""
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
