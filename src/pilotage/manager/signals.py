"""SIGTERM and SIGINT for the length of a block: the first requests an orderly shutdown, the second an immediate one."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

Listener = Callable[[signal.Signals], None]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def handled(listener: Listener, on_arrival: Listener | None = None) -> Iterator[None]:
    """Call `listener` on the loop for each signal; at the end the previous handlers are restored.

    `on_arrival` is called before, in the signal handler itself, also while the loop is blocked. A signal reaches all
    blocks that are active. After the second one the default handlers are restored, so that a third signal always ends
    the process. Outside the main thread nothing is handled.
    """
    loop = asyncio.get_running_loop()
    handlers = _INSTALLED.get(loop)
    if handlers is None:
        handlers = _INSTALLED[loop] = _Handlers(loop)
    handlers.listeners.append(listener)
    handlers.on_arrival.append(on_arrival)
    try:
        yield
    finally:
        handlers.listeners.remove(listener)
        handlers.on_arrival.remove(on_arrival)
        if not handlers.listeners:
            del _INSTALLED[loop]
            handlers.restore()


@contextmanager
def deferred(listener: Listener, on_arrival: Listener | None = None) -> Iterator[None]:
    """The same for a block that ends by itself: what handles signals after it gets the first one of the block then."""
    received: list[signal.Signals] = []
    try:
        with handled(listener, on_arrival), handled(received.append):
            yield
    finally:
        if received and asyncio.get_running_loop() not in _INSTALLED:  # an outer block has it already
            signal.raise_signal(received[0])


class _Handlers:
    """The handlers of one loop, and the previous ones.

    They are the interpreter's and not the loop's: the loop drops a signal whose handler is removed before the loop has
    processed it, and processes no signal while it is blocked.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.listeners: list[Listener] = []
        self.on_arrival: list[Listener | None] = []
        self._loop = loop
        self._received = 0
        self._context = copy_context()
        """The context of the block, not the context of the task that a signal interrupts."""
        self._previous: dict[signal.Signals, Callable[..., object] | int | None] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            previous = signal.getsignal(number)
            if previous is signal.SIG_IGN:
                continue  # ignored by the parent process (nohup): keep it so
            signal.signal(number, self._on_signal)
            self._previous[number] = previous

    def restore(self) -> None:
        for number, previous in self._previous.items():
            if previous is not None:  # None: it was not set by Python, and cannot be restored
                signal.signal(number, previous)
        self._previous = {}

    def _on_signal(self, number: int, frame: object) -> None:
        """Runs between two instructions of the main thread, also while the loop is blocked."""
        self._received += 1
        if self._received == 2:
            for each in self._previous:
                signal.signal(each, _DEFAULTS[each])
        self._loop.call_soon_threadsafe(self._receive, signal.Signals(number), context=self._context)
        for listener in dict.fromkeys(self.on_arrival):
            if listener is not None:
                listener(signal.Signals(number))

    def _receive(self, number: signal.Signals) -> None:
        if not self.listeners:  # the block has ended meanwhile: the signal is for whatever handles it now
            signal.raise_signal(number)
        for listener in dict.fromkeys(self.listeners):  # two blocks may have the same one, for which it is one signal
            listener(number)


_DEFAULTS: dict[signal.Signals, Callable[..., object] | int] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}
_INSTALLED: dict[asyncio.AbstractEventLoop, _Handlers] = {}
