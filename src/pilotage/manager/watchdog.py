"""The watchdog: notices that the program's event loop is blocked, and logs by what, where and for how long.

It runs in the supervisor's thread. It asks the loop for an answer a few times a second; an answer that does not come
means that some code does not return to the loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pilotage.manager import stack
from pilotage.manager.work import work_of
from pilotage.telemetry.logs import fields_of, logger
from pilotage.telemetry.metrics import REGISTRY

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
"""How often the loop is asked; a block may have begun so much earlier than it seems."""

_SHORTEST_PERIOD = 0.01

_NAMED = ("controller", "namespace", "name", "reconcileID")


@dataclass(frozen=True, slots=True)
class Block:
    """Code that does not return to the event loop."""

    fields: Mapping[str, object]
    """Controller, namespace, name and id of the reconcile; of other code, the name of its task."""
    place: str
    seconds: float

    def __str__(self) -> str:
        return f"{', '.join(f'{name} {value}' for name, value in self.fields.items())} at {self.place}"


_WATCHDOGS: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Watchdog]] = WeakKeyDictionary()
"""Each manager has one; those of one loop must not report and count a block twice."""


class Watchdog:
    """Made on the loop that it watches. `run` is for another thread's loop; the rest may be called anywhere."""

    def __init__(
        self,
        threshold: float,
        *,
        is_active: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Blocks shorter than `threshold` seconds, and those while `is_active` is False, are not reported. Of several
        watchdogs of one loop, the first that is active reports."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._threshold = threshold
        self._is_active = is_active
        self._clock = clock
        self._sent = self._answered = clock()
        self._waiting = False
        self._block: Block | None = None
        self.last: Block | None = None
        """The block that was reported last."""

    @property
    def blocked_seconds(self) -> float:
        """For how long the loop has not answered; 0 while it does."""
        return max(0.0, self._clock() - self._sent) if self._waiting else 0.0

    async def run(self) -> None:
        """Watch until cancelled, or until the loop is closed."""
        watchdogs = _WATCHDOGS.setdefault(self._loop, [])
        watchdogs.append(self)
        period = min(PING_SECONDS, max(_SHORTEST_PERIOD, self._threshold / 4))
        try:
            while self._ask():
                before = self._clock()
                await asyncio.sleep(period)
                self._forgive(self._clock() - before - period)
                try:
                    self._look()
                except Exception:  # a report that fails must not end the watch: the loop would seem blocked for ever
                    log.exception("The watchdog failed to look at the event loop")
        finally:
            watchdogs.remove(self)
            if self._block is not None:  # the manager ends with it
                self._end(self._block)

    def _ask(self) -> bool:
        if not self._waiting:
            self._sent, self._waiting = self._clock(), True
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:  # the loop is closed
                return False
        return True

    def _answer(self) -> None:
        """Called on the loop that is watched."""
        self._answered = self._clock()
        self._waiting = False

    def _forgive(self, overslept: float) -> None:
        """Time in which this thread did not run either: the process was stopped, or code in C kept the interpreter."""
        if overslept < self._threshold:
            return
        log.warning("The process did not run: it was stopped, or code in C held the GIL", seconds=round(overslept, 1))
        if self._waiting:
            self._sent += overslept

    def _look(self) -> None:
        if self._block is not None:
            if not self._waiting:
                self._end(self._block)
        elif self.blocked_seconds >= self._threshold and self._reports():
            self._notice()

    def _reports(self) -> bool:
        others = list(_WATCHDOGS.get(self._loop, ()))
        return next((one for one in others if one._is_active()), None) is self

    def _notice(self) -> None:
        frame = stack.frame_of(self._thread)
        if frame is None or stack.is_waiting(frame):
            return  # the machine is busy, and the loop has not had its turn
        block = self._block = self.last = Block(self._culprit(), stack.place(frame), self.blocked_seconds)
        _BLOCKS.labels(str(block.fields.get("controller", ""))).inc()
        log.warning(
            "The event loop is blocked; nothing else runs until this code returns or awaits",
            **block.fields,
            at=block.place,
            seconds=round(block.seconds, 1),
        )

    def _end(self, block: Block) -> None:
        answered = self._clock() if self._waiting else self._answered
        total = max(block.seconds, answered - self._sent)
        self._block, self.last = None, Block(block.fields, block.place, total)
        _SECONDS.labels(str(block.fields.get("controller", ""))).inc(total)
        log.warning("The event loop runs again", **block.fields, at=block.place, seconds=round(total, 1))

    def _culprit(self) -> dict[str, object]:
        """What runs on the loop: a reconcile where it is one, else a task, else a callback."""
        task = asyncio.current_task(self._loop)
        if task is None:
            return {"task": "a callback"}
        fields = fields_of(task)
        if not fields and (work := work_of(task)) is not None:
            fields = work.fields
        named = {name: str(fields[name]) for name in _NAMED if name in fields}
        return {**named, "task": task.get_name()} if not named.get("controller") else dict(named)
