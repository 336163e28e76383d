"""A seeded simulation of replicas that elect a leader: on bad clocks, over a bad network, and stopped at any moment.

The electors are the real ones, on virtual time. The API server is a model of one record and of the writes of leaders;
it has the rules of the real one (a write of the record needs its version, a write of a leader its term), which
`tests/server/writes/test_fencing.py` shows for the real one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from pilotage.errors import AlreadyExists, Conflict
from pilotage.manager.election.elector import ElectorClocks, LeaderElector
from pilotage.manager.election.resourcelock import LeaderElectionRecord, LeaseTimings
from pilotage.manager.errors import LeaderElectionLost
from pilotage.rest.fence import Fence, LeaderTerm

from .machines import Machine, simulated

T = TypeVar("T")

SECONDS = 100.0
"""How long a simulation lasts, in its own time."""


@dataclass(frozen=True)
class Conditions:
    """How bad it is."""

    fenced: bool
    """Whether the API server checks the term of a write, as ours does."""
    slowest: float
    fastest: float
    """The rates of the clocks of replicas, of which each has its own."""
    timings: LeaseTimings


OURS = Conditions(fenced=True, slowest=0.5, fastest=2.0, timings=LeaseTimings())
"""On our server clocks may run as they like, and a write may arrive at any time after the check of its deadline: its
process was stopped before the system call, or the network was slow."""
OTHERS = Conditions(fenced=False, slowest=0.97, fastest=1.03, timings=LeaseTimings(15, 14, 2))
"""On another server the moment counts in which a write is started, and the rates of clocks may differ by less than
`lease_duration` and `renew_deadline` do, which are close here."""


@dataclass
class Outcome:
    """What happened. The first three must be 0."""

    overlap: float = 0.0
    """Seconds in which two replicas could start a write that the server would accept."""
    late: int = 0
    """Writes that a former leader started after the first one of the next leader."""
    stale: int = 0
    """Writes of a former leader that our server accepted after another replica had taken the lease."""
    takeovers: int = 0
    writes: int = 0
    refused_here: int = 0
    refused_there: int = 0

    def __iadd__(self, other: Outcome) -> Outcome:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def simulate(conditions: Conditions, seed: int) -> Outcome:
    """Run one simulation to its end."""
    logging.getLogger("pilotage.leaderelection").setLevel(logging.CRITICAL)  # logs would take most of the time
    return simulated(_simulate(conditions, random.Random(seed)), seed)


async def _simulate(conditions: Conditions, chooser: random.Random) -> Outcome:
    server = Server(conditions.fenced)
    replicas = [Replica(name, server, conditions, chooser) for name in "ab"]
    tasks = [task for replica in replicas for task in replica.begin()]
    await asyncio.sleep(SECONDS)
    for replica in replicas:
        replica.machine.stopped_until = 0
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()
    intervals = [interval for replica in replicas for interval in replica.leaderships]
    outcome = server.outcome
    outcome.takeovers = max(0, len(intervals) - 1)
    if not conditions.fenced:  # else the server decides, and accepts the writes of one term at a time
        outcome.overlap = _overlap(intervals)
    return outcome


@dataclass
class Leadership:
    """From when to when one replica could start writes, in true time."""

    replica: str
    begin: float
    end: float


def _overlap(intervals: list[Leadership]) -> float:
    return sum(
        max(0.0, min(one.end, other.end) - max(one.begin, other.begin))
        for number, one in enumerate(intervals)
        for other in intervals[number + 1 :]
        if one.replica != other.replica
    )


@dataclass
class Server:
    """The API server."""

    fenced: bool
    record: LeaderElectionRecord | None = None
    version: int = 0
    tenure: int = 0
    """How often the holder has changed, counted apart from what the electors write."""
    tenures: dict[str, int] = field(default_factory=dict)
    newest_start: int = 0
    subscribers: list[Callable[[LeaderElectionRecord], None]] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    def get(self) -> tuple[LeaderElectionRecord | None, int]:
        return self.record, self.version

    def create(self, record: LeaderElectionRecord) -> int:
        if self.record is not None:
            raise AlreadyExists("it exists")
        return self._put(record)

    def update(self, record: LeaderElectionRecord, seen: int) -> int:
        if seen != self.version:
            raise Conflict("another writer was faster")
        return self._put(record)

    def _put(self, record: LeaderElectionRecord) -> int:
        holder = record.holder_identity
        if self.record is None or self.record.holder_identity != holder:
            self.tenure += 1
            self.tenures[holder] = self.tenure
        self.record = record
        self.version += 1
        for subscriber in self.subscribers:
            subscriber(record)
        return self.version

    def note_start(self, tenure: int) -> None:
        """A write was started: the last moment that a client can decide on."""
        self.outcome.late += tenure < self.newest_start
        self.newest_start = max(self.newest_start, tenure)

    def write(self, term: LeaderTerm | None, tenure: int) -> None:
        """Store a write of a leader."""
        assert term is not None
        assert self.record is not None
        held = (self.record.holder_identity, self.record.leader_transitions)
        if self.fenced and held != (term.holder, term.transitions):
            self.outcome.refused_there += 1
            return
        self.outcome.writes += 1
        self.outcome.stale += self.fenced and tenure != self.tenure


class Replica:
    """One replica: processes that follow one another on its machine, which elect, and write while they lead."""

    def __init__(self, name: str, server: Server, conditions: Conditions, chooser: random.Random) -> None:
        self.name = name
        self.machine = Machine(chooser, conditions.slowest, conditions.fastest)
        self.leaderships: list[Leadership] = []
        self._server = server
        self._conditions = conditions
        self._random = chooser

    def begin(self) -> list[asyncio.Task[None]]:
        return [self.machine.start(self._live()), asyncio.ensure_future(self.machine.suffer())]

    async def _live(self) -> None:
        for life in range(1000):
            lock = ModelLock(self._server, self.machine)
            elector = LeaderElector(
                lock,
                self._conditions.timings,
                identity=f"{self.name}{life}",
                clocks=ElectorClocks(now=self.machine.now, chooser=self._random),
            )
            lock.written = lambda elector=elector: self._extend(elector)  # type: ignore[misc]  # bound to this life
            await elector.acquire()
            begin, end = self.machine.true_time(), self.machine.true(elector.deadline)
            self.leaderships.append(Leadership(self.name, begin, end))
            writers = [asyncio.ensure_future(self._write(elector)) for _ in range(2)]
            try:
                with suppress(LeaderElectionLost):
                    await elector.renew()
            finally:
                self.leaderships[-1].end = min(self.leaderships[-1].end, self.machine.true_time())
                for writer in writers:
                    writer.cancel()

    def _extend(self, elector: LeaderElector) -> None:
        """The lease was renewed: leadership lasts until another moment."""
        if elector.is_leader:
            self.leaderships[-1].end = self.machine.true(elector.deadline)

    async def _write(self, elector: LeaderElector) -> None:
        machine, server = self.machine, self._server
        while True:
            await asyncio.sleep(self._random.uniform(0.2, 3))
            try:
                elector.fence.check()
            except LeaderElectionLost:
                server.outcome.refused_here += 1
                continue
            tenure = server.tenures[elector.identity]
            if not server.fenced:
                server.note_start(tenure)
            elif self._random.random() < 0.03:
                machine.stop()  # between the check and the system call
            machine.send(server.write, elector.fence.term, tenure)


class ModelLock:
    """The lock of one process, over the network."""

    name = "default/leader"

    def __init__(self, server: Server, machine: Machine) -> None:
        self.written: Callable[[], None]
        self._server = server
        self._machine = machine
        self._seen = -1

    def fence(self, record: LeaderElectionRecord, check: Callable[[], None]) -> Fence:
        return Fence(LeaderTerm("default", "leader", record.holder_identity, record.leader_transitions), check)

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[LeaderElectionRecord]]:
        """A watch; as late as everything else, and in any order."""
        records: asyncio.Queue[LeaderElectionRecord] = asyncio.Queue()
        deliver = self._machine.receiver(records.put_nowait)
        self._server.subscribers.append(deliver)
        try:
            yield _each(records)
        finally:
            self._server.subscribers.remove(deliver)

    async def get(self) -> LeaderElectionRecord | None:
        record, self._seen = await self._machine.call(self._server.get)
        return record

    async def create(self, record: LeaderElectionRecord) -> None:
        self._seen = await self._machine.call(lambda: self._server.create(record))
        asyncio.get_running_loop().call_soon(self.written)  # once the elector has read the answer

    async def update(self, record: LeaderElectionRecord) -> None:
        seen = self._seen
        self._seen = await self._machine.call(lambda: self._server.update(record, seen))
        asyncio.get_running_loop().call_soon(self.written)


async def _each(records: asyncio.Queue[LeaderElectionRecord]) -> AsyncIterator[LeaderElectionRecord]:
    while True:
        yield await records.get()
