"""The structured logger: events with fields, over the standard library's logging.

    log = logger("setup")
    log.info("Reconciled GPU", name="gpu-1", uuid="GPU-1")

An event is always one line: characters that would break the line are escaped. A value that cannot be printed is shown
as a placeholder; logging never raises.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, ContextVar, Token
from functools import partial
from typing import Any, Protocol

from pilotage.telemetry import levels as levels_
from pilotage.telemetry.lines import JSONFormatter, LineFormatter, LogEvent

_context: ContextVar[Mapping[str, object] | None] = ContextVar("pilotage_log_context", default=None)

SOURCE: ContextVar[Any] = ContextVar("pilotage_log_source", default=None)
"""What the current task works on: a `FieldSource`. Set for every reconcile, so it computes its fields only for a log
line."""

_least: ContextVar[int] = ContextVar("pilotage_log_least", default=logging.NOTSET)
"""The level from which on events of the current task are logged, unless its logger shows debug."""

_levels = levels_.Levels()


class FieldSource(Protocol):
    """Has the fields of all events of a task."""

    def log_fields(self) -> Mapping[str, object]: ...


class LogStream(Protocol):
    """Where log lines are written: any text stream."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...
    def isatty(self) -> bool: ...


class Logger:
    """Writes events with fields to a logger of the standard library."""

    __slots__ = ("_fields", "_logger", "shows_debug")

    def __init__(self, logger: logging.Logger, fields: Mapping[str, object] | None = None) -> None:
        self._logger = logger
        self.shows_debug: Callable[[], bool] = partial(logger.isEnabledFor, logging.DEBUG)
        """Whether `debug` shows anything: the test before work that is only for the log. The standard library computes
        it once for each change of levels."""
        self._fields = dict(fields or {})

    @property
    def name(self) -> str:
        return self._logger.name

    def bind(self, /, **fields: object) -> Logger:
        """A logger whose events all have these fields."""
        return Logger(self._logger, {**self._fields, **fields})

    def v(self, level: int) -> VerboseLogger:
        """A logger for details, as client-go's `V(level)`: 0 is info, 1 debug, and higher ones are below debug.

        `log.v(4).info("Cache hit", key=key)` is shown with `configure_logging("v4")`.
        """
        return VerboseLogger(self, levels_.verbosity(level))

    def debug(self, message: str, /, **fields: object) -> None:
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: object) -> None:
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: object) -> None:
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, /, **fields: object) -> None:
        self._log(logging.ERROR, message, fields)

    def exception(self, message: str, /, **fields: object) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._log(logging.ERROR, message, fields, traceback=True)

    def _log(self, level: int, message: str, fields: dict[str, object], *, traceback: bool = False) -> None:
        if self._logger.isEnabledFor(level) and (level >= _least.get() or self.shows_debug()):
            event = LogEvent(message, {**logged_fields(), **self._fields, **fields})
            # The third frame up is the caller's: its file and line are the record's.
            self._logger.log(level, event, exc_info=traceback, stacklevel=3)


class VerboseLogger:
    """Writes events at one level of verbosity."""

    __slots__ = ("_level", "_logger")

    def __init__(self, logger: Logger, level: int) -> None:
        self._logger = logger
        self._level = level

    @property
    def enabled(self) -> bool:
        """Whether its events are shown: the test before work that is only for the log."""
        return self._logger._logger.isEnabledFor(self._level)

    def info(self, message: str, /, **fields: object) -> None:
        self._logger._log(self._level, message, fields)


def logger(name: str = "") -> Logger:
    """A structured logger over the standard one of this name (without a name: `pilotage`)."""
    _levels.add(name or "pilotage")
    return Logger(logging.getLogger(name or "pilotage"))


def log_context(**fields: object) -> AbstractContextManager[None]:
    """Add fields to every event that is logged inside the block, also in tasks that it starts."""
    return _LogContext(fields)


@contextmanager
def quiet() -> Iterator[None]:
    """Log only warnings and errors inside the block and in tasks that it starts, unless the level is debug: for what a
    program runs beside its own controllers."""
    token = _least.set(logging.WARNING)
    try:
        yield
    finally:
        _least.reset(token)


class _LogContext:
    """A class, not a generator: it is entered for every request of a webhook."""

    __slots__ = ("_fields", "_token")
    _token: Token[Mapping[str, object] | None]

    def __init__(self, fields: dict[str, object]) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        before = _context.get()
        self._token = _context.set({**before, **self._fields} if before else self._fields)

    def __exit__(self, *raised: object) -> None:
        _context.reset(self._token)


def logged_fields() -> Mapping[str, object]:
    """The fields that all events have here: the fields of the reconcile, and the fields of `log_context`."""
    return _merged(SOURCE.get(), _context.get())


def fields_of(task: object) -> Mapping[str, object]:
    """The fields that all events of another task have; none before Python 3.12."""
    get_context = getattr(task, "get_context", None)
    if get_context is None:
        return {}
    context: Context = get_context()
    return _merged(context.get(SOURCE), context.get(_context))


def _merged(source: FieldSource | None, added: Mapping[str, object] | None) -> Mapping[str, object]:
    if source is None:
        return added or {}
    return {**source.log_fields(), **(added or {})}


def configure_logging(
    level: int | str = logging.INFO,
    stream: LogStream | None = None,
    json: bool | None = None,
    *,
    levels: Mapping[str, int | str] | None = None,
    formatter: logging.Formatter | None = None,
) -> None:
    """Send all logging of the process to `stream` (standard error), from `level` on.

    Readable lines on a terminal, JSON lines elsewhere, unless `json` sets it. A level below INFO is for Pilotage and
    the loggers made with `logger`; loggers of other libraries stay at INFO. `levels` are levels by logger and its
    children: `{"pilotage.device": "debug", "hpack": "debug"}`; the name "" is every other logger. The environment
    variable PILOTAGE_LOG_LEVELS overrides both. `formatter` replaces ours. May be called again; handlers of the program
    stay. Raises ValueError for an unknown level.
    """
    wanted, by_logger = levels_.from_environment(os.environ.get(levels_.ENVIRONMENT, ""))
    chosen = {name: levels_.parsed(value) for name, value in (levels or {}).items()} | by_logger
    applied = levels_.parsed(level) if wanted is None else wanted
    _levels.apply(applied, chosen)
    target: LogStream = stream if stream is not None else sys.stderr
    as_json = json if json is not None else not _is_terminal(target)
    handler = _Handler(target)
    default = JSONFormatter if as_json else LineFormatter
    handler.setFormatter(formatter or default(tracebacks=applied < logging.INFO))
    root = logging.getLogger()
    for other in list(root.handlers):
        if isinstance(other, _Handler):
            root.removeHandler(other)
    root.addHandler(handler)


@contextmanager
def filtered(is_shown: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    """Leave out lines of `configure_logging` inside the block: those for which the function returns False."""
    handlers = [handler for handler in logging.getLogger().handlers if isinstance(handler, _Handler)]
    for handler in handlers:
        handler.addFilter(is_shown)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_shown)


class _Handler(logging.StreamHandler[LogStream]):
    """A handler that `configure_logging` recognises and replaces when it is called again."""


def _is_terminal(stream: LogStream) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no such thing, or closed
        return False
