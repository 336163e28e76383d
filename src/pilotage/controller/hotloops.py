"""Finds requests that trigger themselves: reconciled many times in a row because of the writes of reconciles.

Nothing is found under load: a reconcile with another cause (another program, a timer, a user) begins a new chain, and
one that writes nothing ends it.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable

import msgspec

from pilotage.controller.request import Request
from pilotage.history.loops import loop_text
from pilotage.history.runs import Run
from pilotage.manager.runs.idleness import self_triggered
from pilotage.meta.bounds.recent import Recent
from pilotage.telemetry.logs import Logger
from pilotage.telemetry.metrics import REGISTRY

IN_A_ROW = 200
"""Reconciles in a row that are a hot loop; a reconciler that converges in steps takes fewer."""

REPORT_SECONDS = 300.0
"""How long a hot loop goes on until it is reported again."""

_CURRENT_SECONDS = 60.0
"""Seconds after its last reconcile for which the metric counts a hot loop."""
_REMEMBERED = 1000

OnHotLoop = Callable[[Request, str], None]
"""Called with the request of a hot loop and a sentence about it."""

_GAUGE = REGISTRY.gauge(
    "pilotage_hot_loops",
    "Objects that are reconciled again and again because of the writes of their own reconciles.",
    ("controller",),
)


class _Row(msgspec.Struct, gc=False):
    """Reconciles of one request in a row."""

    start: int
    """The length of the chain of the first one."""
    length: int
    """That of the last one. It stays the same where another controller's write is seen late."""
    reconciles: int = 0
    last: float = 0.0
    reported: float | None = None
    sentence: str = ""
    """What was reported."""


class HotLoops:
    """The hot loops of one controller."""

    def __init__(self, controller: str, log: Logger, on_found: OnHotLoop | None = None) -> None:
        self._log = log
        self._on_found = on_found
        self._rows: Recent[Request, _Row] = Recent(_REMEMBERED)
        self._loop: asyncio.AbstractEventLoop | None = None
        _GAUGE.labels(controller).set_function(_count(weakref.ref(self)))

    def record(self, request: Request, run: Run, now: float) -> None:
        """A reconcile in a chain of writes has ended. Called inside its log context.

        One that has written nothing ends the chain; the next one is shorter.
        """
        if run.last_write is None:
            return
        row = self._rows.get(request)
        if row is None or run.depth < row.length:
            row = self._rows[request] = _Row(run.depth, run.depth)
        row.length, row.last = run.depth, now
        row.reconciles += 1
        in_a_row = min(row.reconciles, row.length - row.start + 1)
        if in_a_row >= IN_A_ROW and (row.reported is None or now - row.reported >= REPORT_SECONDS):
            row.reported = now
            self._report(request, row.reconciles, run)

    def _report(self, request: Request, reconciles: int, run: Run) -> None:
        sentence = self._rows[request].sentence = self_triggered(
            f"{request} was reconciled {reconciles} times in a row because of the writes of reconciles",
            loop_text(run),
        )
        self._loop = asyncio.get_running_loop()
        self._log.warning("Hot loop", error=sentence)
        if self._on_found is not None:
            self._on_found(request, sentence)

    def current(self) -> dict[Request, str]:
        """The current hot loops, each with the sentence that was reported; perhaps called by another thread."""
        if self._loop is None:
            return {}
        since = self._loop.time() - _CURRENT_SECONDS
        rows = {**self._rows}
        return {key: row.sentence for key, row in rows.items() if row.reported is not None and row.last >= since}


def _count(loops: weakref.ref[HotLoops]) -> Callable[[], float]:
    """A function for the metric. The reference is weak, because metrics outlive managers."""

    def count() -> float:
        return float(len(alive.current())) if (alive := loops()) is not None else 0.0

    return count
