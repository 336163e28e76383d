"""Finds requests that trigger themselves: reconciled many times in a row because of the writes of reconciles.

Nothing is found under load: a reconcile with another cause (another program, a timer, a user) begins a new chain, and
one that writes nothing ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from pilotage.cluster.chains import WriteChain
from pilotage.controller.request import Request
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


class _Run(msgspec.Struct, gc=False):
    """Reconciles of one request in a row."""

    start: int
    """The length of the chain of the first one."""
    length: int
    """That of the last one. It stays the same where another controller's write is seen late."""
    reconciles: int = 0
    last: float = 0.0
    reported: float | None = None


class HotLoops:
    """The hot loops of one controller."""

    def __init__(self, controller: str, log: Logger, on_found: OnHotLoop | None = None) -> None:
        self._log = log
        self._on_found = on_found
        self._runs: Recent[Request, _Run] = Recent(_REMEMBERED)
        self._loop: asyncio.AbstractEventLoop | None = None
        _GAUGE.labels(controller).set_function(self._count)

    def record(self, request: Request, chain: WriteChain, now: float) -> None:
        """A reconcile in a chain has ended. Called inside its log context.

        One that has written nothing ends the chain; the next one is shorter.
        """
        if chain.last_write is None:
            return
        run = self._runs.get(request)
        if run is None or chain.length < run.length:
            run = self._runs[request] = _Run(chain.length, chain.length)
        run.length, run.last = chain.length, now
        run.reconciles += 1
        in_a_row = min(run.reconciles, run.length - run.start + 1)
        if in_a_row >= IN_A_ROW and (run.reported is None or now - run.reported >= REPORT_SECONDS):
            run.reported = now
            self._report(request, run.reconciles, chain)

    def _report(self, request: Request, reconciles: int, chain: WriteChain) -> None:
        sentence = self_triggered(
            f"{request} was reconciled {reconciles} times in a row because of the writes of reconciles",
            chain.last_write,
        )
        self._loop = asyncio.get_running_loop()
        self._log.warning("Hot loop", error=sentence)
        if self._on_found is not None:
            self._on_found(request, sentence)

    def _count(self) -> float:
        """The current hot loops; called when metrics are read, perhaps by another thread."""
        if self._loop is None:
            return 0.0
        since = self._loop.time() - _CURRENT_SECONDS
        return float(sum(run.reported is not None and run.last >= since for run in [*self._runs.values()]))
