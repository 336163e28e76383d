"""An event loop for tests: its time is virtual, and which task runs next follows a seed.

Time does not advance while any task can run, and jumps to the next timer when none can: an hour passes at once. Among
the tasks that can run, the seed picks one, so a test that passes with many seeds is correct in many orders of events,
and a failing test fails again with the same seed. Plain callbacks keep the order in which they were scheduled among
themselves, because asyncio promises that.

It is for code without sockets. A function that runs in a thread, because it is not async, is waited for: no time passes
and nothing else runs until it ends or waits for the loop. Calls from other threads are refused with an error. When
nothing can run any more and no timer is left, the run ends with `Deadlock`.
"""

from __future__ import annotations

import asyncio
import math
import random
import selectors
import threading
from bisect import insort
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Any, NoReturn, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

from pilotage import threads
from pilotage.errors import PilotageError
from pilotage.tasks import BACKGROUND, frames_of
from pilotage.testing.runningthreads import RunningThreads

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
"""The value of `VirtualLoop.now` when `time` is 0."""


class Deadlock(PilotageError):
    """No task can run and no timer is set, but tasks are waiting."""


def run(coroutine: Coroutine[Any, Any, T], *, seed: int = 0) -> T:
    """Run a coroutine to its end on a fresh virtual loop, as `asyncio.run` does on a real one."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed)) as runner:
        return runner.run(coroutine)


async def _refuse_io(*_: object, **__: object) -> NoReturn:
    _refuse("the code tried to start a connection, a server or a process")


class VirtualLoop(asyncio.BaseEventLoop):
    """The loop that `run` uses; `asyncio.get_running_loop()` gives it to code that wants its seeded `random`."""

    has_threads = False
    # asyncio raises a bare NotImplementedError in these.
    create_connection = create_unix_connection = _refuse_io
    create_server = create_unix_server = create_datagram_endpoint = _refuse_io
    subprocess_exec = subprocess_shell = _refuse_io

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 a test that can be repeated needs no secret
        self._virtual_time = 0.0
        self._thread = threading.get_ident()
        self._clock_resolution = math.ulp(0.0)
        self._ready = _Ready(self.random)
        self._selector = _NoSelector(self._nothing_ready)
        self._threads = RunningThreads()
        self.run_thread, self.on_thread_wait = self._threads.run, self._threads.on_wait
        """For threads that the loop waits for; see `pilotage.threads`."""
        self._from_threads: deque[asyncio.Handle] = deque()
        self.skips_housekeeping = False
        """Whether timers of `pilotage.tasks.Background` fire only where time passes them, and then once: with them, a
        year takes minutes. Simulated workloads set it."""
        self._housekeeping: list[asyncio.TimerHandle] = []
        self.jumps = 0
        """How often time has advanced."""

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if not self.skips_housekeeping or not BACKGROUND.get():
            return super().call_at(when, callback, *args, context=context)
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._housekeeping, handle)
        return handle

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._virtual_time

    def now(self) -> datetime:
        """The virtual wall clock, to pass to code that takes a clock."""
        return BEGINNING + timedelta(seconds=self._virtual_time)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() == self._thread:
            return self.call_soon(callback, *args, context=context)
        if not self._threads.any_started:
            _refuse("a thread called into the loop")
        handle = asyncio.Handle(callback, args, self, context)
        self._from_threads.append(handle)
        return handle

    def add_reader(self, *_: object) -> NoReturn:
        _refuse("the code tried to watch a socket")

    def add_writer(self, *_: object) -> NoReturn:
        _refuse("the code tried to watch a socket")

    def remove_reader(self, *_: object) -> bool:
        return False  # none is watched

    def remove_writer(self, *_: object) -> bool:
        return False

    def run_in_executor(self, executor: object, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run a function in a thread, as `asyncio.to_thread` does. Only while the loop runs."""
        return threads.start(partial(func, *args), "function")

    def _nothing_ready(self, timeout: float | None) -> None:
        """The loop would sleep now: advance the virtual time instead."""
        self._threads.wait_until_none_runs()
        if self._from_threads:
            while self._from_threads:
                self._ready.append(self._from_threads.popleft())
            return
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]  # asyncio keeps it private
        if timeout is None and not self._housekeeping:
            raise Deadlock(self._complaint())
        following = scheduled or self._housekeeping
        if timeout is None or (timeout > 0 and following):
            self._virtual_time = max(self._virtual_time, following[0].when())
            self.jumps += 1
            # asyncio runs timers that are due before time + resolution. With the smallest step none runs early: code
            # that looks at the time and waits for the rest of it would wait again, and the time would stand still.
            self._clock_resolution = math.ulp(self._virtual_time)
            while self._housekeeping and self._housekeeping[0].when() <= self._virtual_time:
                handle = heappop(self._housekeeping)
                if not handle.cancelled():
                    self._ready.append(handle)

    def _process_events(self, event_list: object) -> None:
        """Called by asyncio with what the selector found, which is nothing."""

    def _complaint(self) -> str:
        waiting = "".join(
            f"\n  {_describe(task)}" for task in sorted(asyncio.all_tasks(self), key=asyncio.Task.get_name)
        )
        return (
            f"deadlock at {self._virtual_time:g} s of virtual time (seed {self.seed}): no task can run and no timer "
            "is set; these"
            f" tasks wait:{waiting or ' (none)'}"
        )


class _NoSelector(selectors.BaseSelector):
    """Replaces the selector of asyncio: no socket is ever ready."""

    def __init__(self, select: Callable[[float | None], None]) -> None:
        self._select = select

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._select(timeout)
        return []

    def register(self, fileobj: object, events: int, data: Any = None) -> NoReturn:
        _refuse("the code tried to watch a socket")

    def unregister(self, fileobj: object) -> NoReturn:
        raise KeyError(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {}


class _Ready:
    """The callbacks that can run, where asyncio has a deque. The next is chosen: any task's, or the first plain one.

    Tasks stand in the order in which they first came here, not in that in which they were woken: a task group wakes the
    tasks that it cancels in the order of a set, which is another one in every run.
    """

    def __init__(self, chooser: random.Random) -> None:
        self._random = chooser
        self._callbacks: deque[asyncio.Handle] = deque()
        self._steps: list[tuple[int, asyncio.Handle]] = []
        self._numbers: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
        self._counter = count()

    def __len__(self) -> int:
        return len(self._callbacks) + len(self._steps)

    def append(self, handle: asyncio.Handle) -> None:
        task = _task_of(handle)
        if task is None:
            self._callbacks.append(handle)
            return
        number = self._numbers.get(task)
        if number is None:
            number = self._numbers[task] = next(self._counter)
        insort(self._steps, (number, handle), key=itemgetter(0))

    def popleft(self) -> asyncio.Handle:
        at = self._random.randrange(len(self))
        return self._steps.pop(at)[1] if at < len(self._steps) else self._callbacks.popleft()

    def clear(self) -> None:
        self._callbacks.clear()
        self._steps.clear()


def _task_of(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """The task whose next step the callback is; None where it is a plain one."""
    callback: object = handle._callback  # type: ignore[attr-defined]  # asyncio keeps it private
    owner = getattr(callback, "__self__", None)
    return owner if isinstance(owner, asyncio.Task) else None


def _describe(task: asyncio.Task[Any]) -> str:
    frames = frames_of(task)
    if not frames:
        return f"{task.get_name()}: {task.get_coro()}"
    code = frames[0].f_code
    return f"{task.get_name()}: {code.co_qualname} at {code.co_filename}:{frames[0].f_lineno}"


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(
        f"{what}, but virtual time is for code without sockets and threads of its own: use a real loop for this test "
        "(asyncio.run, pytest-asyncio), or an in-memory replacement"
    )
