"""The end of a command without memory or threads: with one line and an exit code, instead of a process that is half
alive."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pilotage.kit.console.process import print_exhaustion

if TYPE_CHECKING:
    import asyncio
    import threading

T = TypeVar("T")
START_SECONDS = 10
"""How long a thread may take to begin. `Thread.start` waits without end for one that had no memory for its first
step."""


async def guarded(main: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine of a command. The process ends where a thread or a callback of the event loop ends with a
    MemoryError, or where a thread does not begin: others may wait for it without end."""
    import asyncio
    import faulthandler
    import threading

    if not faulthandler.is_enabled():
        faulthandler.enable(2)  # a library in C may handle a lack of memory by a segmentation fault
    unraisable, unhandled, start = sys.unraisablehook, threading.excepthook, threading.Thread.start

    def on_unraisable(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, MemoryError) or "thread started by" in (lost.err_msg or ""):
            _end()
        unraisable(lost)

    def on_unhandled(ended: threading.ExceptHookArgs) -> None:
        if issubclass(ended.exc_type, MemoryError):
            _end()
        unhandled(ended)

    def bounded_start(self: threading.Thread) -> None:
        started: threading.Event = self._started  # type: ignore[attr-defined]  # there is no public one
        started.wait = lambda timeout=None: _begun(type(started).wait, started)  # type: ignore[method-assign]
        start(self)

    sys.unraisablehook, threading.excepthook = on_unraisable, on_unhandled
    threading.Thread.start = bounded_start  # type: ignore[method-assign]
    asyncio.get_running_loop().set_exception_handler(_on_lost_error)
    try:
        return await main
    finally:
        sys.unraisablehook, threading.excepthook = unraisable, unhandled
        threading.Thread.start = start  # type: ignore[method-assign]


def _begun(wait: Callable[[threading.Event, float], bool], started: threading.Event) -> bool:
    """Wait for a thread that begins. In steps: a process that was stopped for a minute has not waited for a minute."""
    if not any(wait(started, 1.0) for _ in range(START_SECONDS)):
        _end()
    return True


def _on_lost_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if isinstance(context.get("exception"), MemoryError):
        _end()
    loop.default_exception_handler(context)


def _end() -> NoReturn:
    print_exhaustion()
    os._exit(1)
