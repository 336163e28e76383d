"""The watchdog: detects that the program's event loop is blocked, and logs which code blocks it, where, and for how
long.

It runs in the supervisor's thread and calls a function on the loop a few times a second. If the call is not made in
time, some code does not return to the loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

from pilotage.manager.work import work_of
from pilotage.telemetry import stack
from pilotage.telemetry.logs import fields_of, logger
from pilotage.telemetry.metrics import REGISTRY
from pilotage.telemetry.process import cpu_wait_seconds

log = logger("pilotage.watchdog")

_BLOCKS = REGISTRY.counter(
    "pilotage_event_loop_blocked_total",
    "Times that the event loop was blocked for longer than blocked_loop_threshold, by the controller that blocked it.",
    ("controller",),
)
_SECONDS = REGISTRY.counter(
    "pilotage_event_loop_blocked_seconds_total",
    "Seconds that these blocks of the event loop lasted, counted when they end.",
    ("controller",),
)

PING_SECONDS = 0.25
"""How often the loop is probed; a block may have started this much earlier than it was detected."""

_SHORTEST_PERIOD = 0.01

_NAMED = ("controller", "namespace", "name", "reconcileID")


@dataclass(frozen=True, slots=True)
class Block:
    """Code that does not return to the event loop."""

    fields: Mapping[str, object]
    """Controller, namespace, name and id of the reconcile; for other code, the name of its task."""
    place: str
    seconds: float

    def __str__(self) -> str:
        return f"{', '.join(f'{name} {value}' for name, value in self.fields.items())} at {self.place}"


_WATCHDOGS: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Watchdog]] = WeakKeyDictionary()
"""The watchdogs of each loop, one for each manager: only one of them reports and counts a block."""


class Watchdog:
    """Created on the loop that it watches. `run` is for the loop of another thread; the rest is thread-safe."""

    def __init__(
        self,
        threshold: float,
        *,
        is_active: Callable[[], bool] = lambda: True,
        on_blocked: Callable[[Block], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        cpu_wait: Callable[[int], float] = cpu_wait_seconds,
    ) -> None:
        """Blocks shorter than `threshold` seconds, and those while `is_active` is False, are not reported. Of several
        watchdogs of one loop, the first that is active reports, and calls `on_blocked` several times a second as long
        as the block lasts. Time in which the thread of the loop waited for a CPU
        does not count: `cpu_wait` returns its sum for a native thread id."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._threshold = threshold
        self._is_active = is_active
        self._on_blocked = on_blocked
        self._clock = clock
        self._cpu_wait_of = cpu_wait
        self._cpu_wait = partial(cpu_wait, threading.get_native_id())
        self._sent = self._answered = clock()
        self._waited_before = 0.0
        self._waiting = False
        self._block: Block | None = None
        self.last: Block | None = None
        """The last block that was reported."""

    @property
    def blocked_seconds(self) -> float:
        """How long the loop has been blocked; 0 while it runs."""
        return max(0.0, self._clock() - self._sent) if self._waiting else 0.0

    async def run(self) -> None:
        """Watch until cancelled, or until the loop is closed."""
        watchdogs = _WATCHDOGS.setdefault(self._loop, [])
        watchdogs.append(self)
        period = min(PING_SECONDS, max(_SHORTEST_PERIOD, self._threshold / 4))
        try:
            while self._ask():
                before, waited = self._clock(), self._cpu_wait_of(threading.get_native_id())
                await asyncio.sleep(period)
                waited = self._cpu_wait_of(threading.get_native_id()) - waited
                self._forgive(self._clock() - before - period, waited)
                try:
                    self._look()
                except Exception:  # a failed report must not end the watchdog: the loop would seem blocked for ever
                    log.exception("Watchdog failed to inspect the event loop")
        finally:
            watchdogs.remove(self)
            if self._block is not None:  # the manager ends with it
                self._end(self._block)

    def _ask(self) -> bool:
        if not self._waiting:
            # One question at a time: a blocked loop would otherwise collect them, and run all of them afterwards.
            self._sent, self._waited_before, self._waiting = self._clock(), self._cpu_wait(), True
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:  # the loop is closed
                return False
        return True

    def _answer(self) -> None:
        """Called on the loop that is watched."""
        self._answered = self._clock()
        self._waiting = False

    def _forgive(self, overslept: float, waited: float = 0.0) -> None:
        """Report time in which this thread did not run either: the process was stopped, or C code held the GIL. The
        `waited` seconds for a CPU are not reported."""
        if overslept < self._threshold:
            return
        if overslept - waited >= self._threshold:
            seconds = round(overslept - waited, 1)
            log.warning("Process did not run, it was stopped or C code held the GIL", seconds=seconds)
        if self._waiting:
            # The loop could not answer while the whole process did not run: that time is not a block of the loop.
            self._sent, self._waited_before = self._sent + overslept, self._cpu_wait()

    def _look(self) -> None:
        if self._block is not None:
            if self._waiting:
                self._on_blocked(replace(self._block, seconds=self.blocked_seconds))
            else:
                self._end(self._block)
        elif self.blocked_seconds >= self._threshold and self._reports() and not self._starved():
            self._notice()

    def _starved(self) -> bool:
        """Whether other processes kept the loop from running, and not the code on it."""
        return self.blocked_seconds - (self._cpu_wait() - self._waited_before) < self._threshold

    def _reports(self) -> bool:
        others = list(_WATCHDOGS.get(self._loop, ()))
        return next((one for one in others if one._is_active()), None) is self

    def _notice(self) -> None:
        frame = stack.frame_of(self._thread)
        if frame is None or stack.is_waiting(frame):
            return  # the machine is busy, and the loop was not scheduled
        block = self._block = self.last = Block(self._culprit(), stack.place(frame), self.blocked_seconds)
        _BLOCKS.labels(str(block.fields.get("controller", ""))).inc()
        log.warning(
            "Event loop is blocked, nothing else runs until this code returns or awaits",
            **block.fields,
            at=block.place,
            seconds=round(block.seconds, 1),
        )

    def _end(self, block: Block) -> None:
        answered = self._clock() if self._waiting else self._answered
        total = max(block.seconds, answered - self._sent)
        self._block, self.last = None, Block(block.fields, block.place, total)
        _SECONDS.labels(str(block.fields.get("controller", ""))).inc(total)
        log.warning("Event loop runs again", **block.fields, at=block.place, seconds=round(total, 1))

    def _culprit(self) -> dict[str, object]:
        """The code that runs on the loop: a reconcile, else a task, else a callback."""
        task = asyncio.current_task(self._loop)
        if task is None:
            return {"task": "a callback"}
        fields = fields_of(task)
        if not fields and (work := work_of(task)) is not None:
            fields = work.fields
        named = {name: str(fields[name]) for name in _NAMED if name in fields}
        return {**named, "task": task.get_name()} if not named.get("controller") else dict(named)
