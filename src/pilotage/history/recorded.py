"""`recorded(call)`: results of calls other than calls of the client, in recordings, so that reconciles can be replayed.

price = await pt.recorded(fetch_price)(database.spec.size)

@pt.recorded
async def fetch_price(size: int) -> float: ...
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from pilotage import errors
from pilotage.errors import PilotageError
from pilotage.history.tapes import Kept, Tape, current_tape
from pilotage.telemetry.logs import logger

P = ParamSpec("P")
T = TypeVar("T")

_log = logger("pilotage.recording")
_unrecordable: set[str] = set()
"""The calls whose results cannot be recorded; each is logged once."""


class RecordedError(PilotageError):
    """On replay, the error of a recorded call, where its own class is not known."""


def recorded(call: Callable[P, T]) -> Callable[P, T]:
    """The function, whose result is recorded with the reconcile that calls it, and is returned when it is replayed.

    `call` is async or not. Its result is what MessagePack has, dataclasses and structs included; on replay it has the
    type that `call` is annotated to return. Without a recording nothing is different.
    """
    name = f"{getattr(call, '__module__', '')}.{getattr(call, '__qualname__', type(call).__qualname__)}"

    @functools.wraps(call)
    def replayable(*args: P.args, **kwargs: P.kwargs) -> T:
        tape = current_tape()
        if tape is None:
            return call(*args, **kwargs)
        if (kept := tape.recalled(name)) is not None:
            return _result(call, kept)
        try:
            found = call(*args, **kwargs)
        except Exception as error:
            tape.keep(name, Kept.of(error))
            raise
        _keep(tape, name, found)
        return found

    @functools.wraps(call)
    async def replayable_async(*args: P.args, **kwargs: P.kwargs) -> Any:
        tape = current_tape()
        if tape is None:
            return await cast("Any", call(*args, **kwargs))
        if (kept := tape.recalled(name)) is not None:
            return _result(call, kept)
        try:
            found = await cast("Any", call(*args, **kwargs))
        except Exception as error:
            tape.keep(name, Kept.of(error))
            raise
        _keep(tape, name, found)
        return found

    is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
    return cast("Callable[P, T]", replayable_async) if is_async else replayable


def _keep(tape: Tape, name: str, found: object) -> None:
    try:
        data = msgspec.msgpack.encode(found)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        if name not in _unrecordable:
            _unrecordable.add(name)
            _log.warning("The result of a call cannot be recorded", call=name, error=error)
        return
    tape.keep(name, Kept(data))


def _result(call: Callable[..., T], kept: Kept) -> T:
    if kept.error:
        raise error_of(kept)
    return cast("T", msgspec.msgpack.decode(kept.data, type=_returned(call)))


def _returned(call: Callable[..., Any]) -> Any:
    """The type that a call is annotated to return."""
    try:
        return typing.get_type_hints(call).get("return", Any)
    except Exception:  # annotations of users, which need not be importable
        return Any


def error_of(kept: Kept) -> Exception:
    """The error that was kept, of its own class where that is possible."""
    module, _, name = kept.error.partition(":")
    kind: Any = getattr(sys.modules.get(module), name, None) or getattr(errors, name, None)
    kind = kind or getattr(builtins, name, None)
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        return RecordedError(f"{name}: {kept.message}")
    try:
        return kind(kept.message)
    except Exception:  # its __init__ needs other arguments
        made = kind.__new__(kind)
        made.args = (kept.message,)
        return made
