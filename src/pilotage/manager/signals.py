"""SIGTERM and SIGINT for the length of a block: the first requests an orderly shutdown, the second an immediate one."""

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
    """Call `listener` on the loop for each signal; at the end the previous handlers are restored.

    A signal reaches all blocks that are active. After the second one the default handlers are restored, so that a third
    one ends the process in any case. Outside the main thread, and on loops without signals, nothing is handled.
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
    """The handlers of one loop, and the previous ones."""

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
                continue  # ignored by the parent process (nohup): keep it so
            try:
                loop.add_signal_handler(number, self._receive, number)
            except NotImplementedError:
                return
            self._previous[number] = previous

    def restore(self) -> None:
        for number, previous in self._previous.items():
            self._loop.remove_signal_handler(number)
            if previous is not None:  # None: it was not set by Python, and cannot be restored
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
