"""Whether there is anything left to do, for programs that end when they are idle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from pilotage.cluster.cluster import Cluster
from pilotage.history.history import History
from pilotage.history.loops import last_run_of, loop_text
from pilotage.manager.clusters import MemberCluster
from pilotage.manager.errors import NotIdle
from pilotage.manager.lag import Lag
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.runnables import GroupMember, ReconcilingRunnable, Repeated
from pilotage.manager.work import WorkTracker

_SHORTEST = 0.001  # seconds between two checks
_LONGEST = 0.05
_LATE = 1.0  # seconds after which a cache is later than an event usually takes


class Idleness:
    """Checks controllers, caches, active work and the embedded API server for anything left to do."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        work: WorkTracker,
        lag: Lag | None,
        cluster: Cluster,
        history: History,
        members: Sequence[MemberCluster] = (),
    ) -> None:
        self._members = members
        self._cluster = cluster
        self._lifecycle = lifecycle
        self._work = work
        self._lag = lag
        self._history = history
        self._stalled = False
        self._limits: set[asyncio.Timeout] = set()  # of the pauses
        self._waits = 0  # calls of `wait` in progress

    def idle(self, horizon: float = 0) -> bool:
        """Whether nothing is left to do."""
        return self._is_quiet() and all(entry.hooks.idle(horizon) for entry in self._lifecycle.groups.running())

    def failing(self, horizon: float = 0) -> tuple[tuple[str, str], ...]:
        """The requests that have failed, with the names of their controllers, if nothing is left but to retry them."""
        found: list[tuple[str, str]] = []
        for entry in self._lifecycle.groups.running() if self._is_quiet() else ():
            if not entry.hooks.idle(horizon):
                controller = entry.hooks.controller
                requests = controller.failing(horizon) if controller is not None else ()
                if not requests:
                    return ()
                found += [(entry.name, request) for request in requests]
        return tuple(found)

    def _is_quiet(self) -> bool:
        """Whether nothing is left to do, apart from what the runnables report themselves."""
        return (
            self._lifecycle.ready
            and self._lifecycle.elected.is_set()
            and not (self._lag is not None and self._lag.is_behind)
            and not self._work.has_active_work
            and not self._cluster.busy()
            and not any(member.lag.is_behind or member.cluster.busy() for member in self._members)
        )

    def busy(self, horizon: float = 0) -> tuple[str, ...]:
        """Why it is not idle, as sentences; the most specific reason first."""
        if not self._lifecycle.ready:
            return (self._lifecycle.starting,)
        if not self._lifecycle.elected.is_set():
            return (self._lifecycle.electing,)
        entries = {id(entry.runnable): entry for entry in self._lifecycle.groups.running()}.values()
        again = [one for controller in _controllers(entries) for one in controller.repeated()]
        repeated = [self._repeated(one) for one in again]
        found = [*repeated, *(reason for entry in entries for reason in _reasons(entry, horizon))]
        reported = {f"{one.controller} {_key(one)}" for one in again}
        running = [work for work in self._work.active() if work.name not in reported]
        found += [
            f"{work.kind} {work.name} has been running for {work.seconds:.1f} s" + (work.place and f", at {work.place}")
            for work in running
        ]
        found += self._cluster.busy()
        for member in self._members:
            found += [f"cluster {member.name}: {reason}" for reason in member.cluster.busy()]
            found += [f"the cache of {member.name} does not show all writes of {kind}" for kind in member.lag.behind()]
        for kind, missing in (self._lag.behind() if self._lag is not None else {}).items():
            # A reconcile that writes at each run always has a write that the cache does not show: that is no reason.
            if missing.seconds >= _LATE or not repeated:
                found.append(f"the cache of {kind} has not seen what was written: {missing}")
        return tuple(found) or ("a worker has not finished yet",)

    async def wait(self, timeout: float | None, horizon: float) -> bool:
        """Wait until two checks in a row find nothing; False if the manager is stopped first. Raises NotIdle.

        May be called while another call waits: both have the counts of the first.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        pause, quiet = _SHORTEST, 0
        with self._counting():
            while not self._lifecycle.stop_asked:
                idle = self.idle(horizon)
                quiet = quiet + 1 if idle else 0
                if quiet == 2:  # between the checks, an event may have been between a cache and a queue
                    return True
                passed = loop.time() - began
                if not idle and ((timeout is not None and passed >= timeout) or self._stalled):
                    raise NotIdle(self.busy(horizon), passed, self.failing(horizon))
                pause = _SHORTEST if idle else min(_LONGEST, pause * 2)
                await self._pause(pause if idle or timeout is None else min(pause, timeout - passed))
        return False

    async def _pause(self, seconds: float) -> None:
        limit = asyncio.timeout(seconds)
        self._limits.add(limit)
        try:
            async with limit:
                await self._lifecycle.wait_stop_asked()
        except TimeoutError:
            pass
        finally:
            self._limits.discard(limit)

    def _on_stalled(self) -> None:
        """A request is reconciled repeatedly while virtual time does not advance: no timer would fire, so end the pause
        here."""
        self._stalled = True
        for limit in self._limits:
            limit.reschedule(asyncio.get_running_loop().time())

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Count reconciles, to find a request that triggers itself."""
        if not self._waits:
            self._stalled = False
            self._count_reconciles(self._on_stalled)
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self._count_reconciles(None)

    def _count_reconciles(self, stalled: Callable[[], None] | None) -> None:
        for controller in _controllers(self._lifecycle.groups.entries()):
            controller.count_reconciles(stalled)

    def _repeated(self, one: Repeated) -> str:
        return self_triggered(
            f"controller {one.controller}: {_key(one)} was reconciled {one.reconciles} times in this run and is "
            "queued again",
            loop_text(run) if (run := last_run_of(self._history, one.controller, one.namespace, one.name)) else "",
        )


def self_triggered(what: str, writes: str) -> str:
    """A sentence about a request that probably triggers itself: what happened, by which writes, and what to do."""
    return (
        what
        + (f"; {writes}" if writes else "")
        + "; a reconcile that changes a watched object at each run triggers itself: write only differences"
    )


def _key(named: Repeated) -> str:
    return f"{named.namespace}/{named.name}" if named.namespace else named.name


def _controllers(entries: Iterable[GroupMember]) -> list[ReconcilingRunnable]:
    return [entry.hooks.controller for entry in entries if entry.hooks.controller is not None]


def _reasons(entry: GroupMember, horizon: float) -> Sequence[str]:
    """Why a runnable is not idle."""
    return () if entry.hooks.idle(horizon) else entry.hooks.busy(horizon)
