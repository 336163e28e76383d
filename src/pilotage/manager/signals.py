"""SIGTERM and SIGINT for the length of a block: the first asks for an orderly end, the second for a quick one."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[signal.Signals], None]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def handled(listener: Listener) -> Iterator[None]:
    """Call `listener` on the loop for each signal; at the end the handlers are what they were.

    Several blocks at once all hear a signal. After the second one the default handlers are back, so that a third ends
    the process whatever it does. Outside the main thread, and on loops that know no signals, nothing is handled.
    """
    loop = asyncio.get_running_loop()
    handlers = _INSTALLED.get(loop)
    if handlers is None:
        handlers = _INSTALLED[loop] = _Handlers(loop)
    handlers.listeners.append(listener)
    try:
        yield
    finally:
        handlers.listeners.remove(listener)
        if not handlers.listeners:
            del _INSTALLED[loop]
            handlers.restore()


class _Handlers:
    """The handlers of one loop, and what was there before them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.listeners: list[Listener] = []
        self._loop = loop
        self._received = 0
        self._previous: dict[signal.Signals, Callable[..., object] | int | None] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            previous = signal.getsignal(number)
            if previous is signal.SIG_IGN:
                continue  # nohup and its like: whoever started us wants it so
            try:
                loop.add_signal_handler(number, self._receive, number)
            except NotImplementedError:
                return
            self._previous[number] = previous

    def restore(self) -> None:
        for number, previous in self._previous.items():
            self._loop.remove_signal_handler(number)
            if previous is not None:  # None: set by something other than Python, and not ours to put back
                signal.signal(number, previous)
        self._previous = {}

    def _receive(self, number: signal.Signals) -> None:
        self._received += 1
        if self._received == 2:
            for each in self._previous:
                self._loop.remove_signal_handler(each)
        for listener in list(self.listeners):
            listener(number)


_INSTALLED: dict[asyncio.AbstractEventLoop, _Handlers] = {}
