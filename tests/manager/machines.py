"""Simulated machines: each with a clock, a network and processes of its own, all on one loop with virtual time.

What runs on a machine is known by a context variable: tasks and timers have the context that they were started in.
While a machine is stopped (SIGSTOP, a frozen virtual machine), none of them runs; what was sent arrives all the same.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar, TypeVarTuple

from pilotage.errors import ConnectionLost, PilotageError, ServiceUnavailable
from pilotage.testing.loop import VirtualLoop, _Ready

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_MACHINE: ContextVar[Machine | None] = ContextVar("machine", default=None)
_NETWORK = Context()
"""The context of code that runs on no machine."""


class Machine:
    """One machine."""

    def __init__(self, chooser: random.Random, slowest: float = 1.0, fastest: float = 1.0) -> None:
        self.stopped_until = 0.0
        self._random = chooser
        self._rate = chooser.uniform(slowest, fastest)
        self._offset = chooser.uniform(-1e6, 1e6)
        self._cut_off = False
        self._slow = 0.0

    def start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine on this machine."""
        context = copy_context()
        context.run(_MACHINE.set, self)
        return asyncio.get_running_loop().create_task(coroutine, context=context)

    def now(self) -> float:
        """The machine's own monotonic clock."""
        return self._offset + self._rate * self.true_time()

    def true(self, local: float) -> float:
        """The true time at which the machine's clock has a value."""
        return (local - self._offset) / self._rate

    def true_time(self) -> float:
        return asyncio.get_running_loop().time()

    def stop(self) -> None:
        """Stop everything on it for up to a minute, from the next step of a task on."""
        self.stopped_until = self.true_time() + self._random.uniform(1, 60)

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function of a server: the request or the answer may come late, or not at all."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[T] = loop.create_future()

        def serve() -> None:
            error: PilotageError | None = None
            result: T | None = None
            if self._random.random() < 0.02:
                error = ServiceUnavailable("etcdserver: leader changed")
            elif self._cut_off:
                error = ConnectionLost("the network is down", sent=False)
            else:
                try:
                    result = function()
                except PilotageError as refusal:
                    error = refusal
            if self._random.random() < 0.02:
                error = ConnectionLost("the answer was lost")
            loop.call_later(self._delay(), answer, result, error, context=_NETWORK)

        def answer(result: Any, error: PilotageError | None) -> None:
            if answered.done():
                return  # no caller waits any more
            if self._cut_off:
                error = ConnectionLost("the network is down")
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(result)

        stopped = max(0.0, self.stopped_until - self.true_time())
        loop.call_later(stopped + self._delay(), serve, context=_NETWORK)
        return await answered

    def send(self, function: Callable[[*Ts], None], *arguments: *Ts) -> None:
        """Call a function of a server without waiting. A machine that is stopped now sends when it is continued."""
        stopped = max(0.0, self.stopped_until - self.true_time())
        asyncio.get_running_loop().call_later(stopped + self._delay(), function, *arguments, context=_NETWORK)

    def receiver(self, function: Callable[[*Ts], None]) -> Callable[[*Ts], None]:
        """A function for a server to call: what it sends arrives late, or not at all."""

        def deliver(*arguments: *Ts) -> None:
            if not self._cut_off:
                asyncio.get_running_loop().call_later(self._delay(), function, *arguments, context=_NETWORK)

        return deliver

    async def suffer(self) -> None:
        """Make the network slow, then cut it, and stop the machine; then run normally for a while."""
        chance = self._random
        while True:
            await asyncio.sleep(chance.uniform(0, 20))
            self._slow = chance.uniform(0, 10)
            await asyncio.sleep(chance.uniform(0, 15))
            self._cut_off = chance.random() < 0.5
            if chance.random() < 0.5:
                self.stop()
            await asyncio.sleep(chance.uniform(0, 25))
            self._cut_off, self._slow = False, 0.0

    def _delay(self) -> float:
        return self._random.uniform(0.001, 0.05) + self._random.random() * self._slow


def simulated(coroutine: Coroutine[Any, Any, T], seed: int) -> T:
    """Run a coroutine to its end on a loop whose machines can be stopped."""
    with asyncio.Runner(loop_factory=lambda: _StoppingLoop(seed)) as runner:
        return runner.run(coroutine)


class _StoppingLoop(VirtualLoop):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._ready = _Unstopped(self)


class _Unstopped(_Ready):
    """The callbacks that can run; those of a stopped machine are held back until it is continued."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__(loop.random)
        self._loop = loop

    def append(self, handle: asyncio.Handle) -> None:
        context: Context = handle._context  # type: ignore[attr-defined]  # asyncio keeps it private
        machine = context.get(_MACHINE)
        if machine is not None and machine.stopped_until > self._loop.time():
            self._loop.call_at(machine.stopped_until, self.append, handle, context=_NETWORK)
        else:
            super().append(handle)
