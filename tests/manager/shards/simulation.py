"""A seeded simulation of replicas that share the work on keys: on the machines of `tests.manager.machines`.

The members are the real ones. The store of their leases is a model with the rules of an API server.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pilotage.errors import AlreadyExists, Conflict, ConnectionLost, ServiceUnavailable
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.shards.member import ShardMember
from pilotage.manager.shards.ownership import Member
from pilotage.rest.fence import Fence, LeaderTerm

from ..machines import Machine, simulated
from ..simulation import OTHERS, OURS, Conditions

__all__ = ["OTHERS", "OURS", "Outcome", "simulate"]

SECONDS = 100.0
KEYS = [f"default/key-{number}" for number in range(8)]


@dataclass
class Outcome:
    """What happened. The first must be 0."""

    doubled: int = 0
    """Writes of work on a key after the first write of later work on it, by another replica."""
    writes: int = 0
    sessions: int = 0
    """Pieces of work on a key."""
    movements: int = 0
    """How often a key was worked on by another replica than before."""
    members: int = 0
    refused: int = 0

    def __iadd__(self, other: Outcome) -> Outcome:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


@dataclass(frozen=True)
class Session:
    """One piece of work of one process on one key."""

    number: int
    key: str
    process: str


@dataclass
class Server:
    """The API server: the leases of members, and the writes on keys."""

    fenced: bool
    leases: dict[str, Member] = field(default_factory=dict)
    version: int = 0
    last: dict[str, Session] = field(default_factory=dict)
    """The session of the newest write on each key."""
    outcome: Outcome = field(default_factory=Outcome)

    def put(self, name: str, view: frozenset[str], seen: str | None) -> str:
        """Create a lease (`seen` is None), or update it."""
        known = self.leases.get(name)
        if seen is None and known is not None:
            raise AlreadyExists("it exists")
        if seen is not None and known is None:
            raise LeaderElectionLost("the lease was deleted")
        if seen is not None and known is not None and known.version != seen:
            raise Conflict("another writer was faster")
        self.version += 1
        self.leases[name] = Member(name, str(self.version), view)
        return str(self.version)

    def get(self, name: str) -> str:
        if name not in self.leases:
            raise LeaderElectionLost("the lease was deleted")
        return self.leases[name].version

    def delete(self, member: Member) -> bool:
        known = self.leases.get(member.name)
        if known is not None and known.version != member.version:
            return False
        self.leases.pop(member.name, None)
        return True

    def write(self, session: Session) -> None:
        """Count a write; in the moment that decides, which is its start, or its commit on a server that checks."""
        if self.fenced and session.process not in self.leases:
            self.outcome.refused += 1
            return
        self.outcome.writes += 1
        before = self.last.get(session.key)
        if before is None or before.number < session.number:
            self.outcome.sessions += 1
            self.outcome.movements += before is not None and before.process[0] != session.process[0]
            self.last[session.key] = session
        elif before.process != session.process:
            self.outcome.doubled += 1


class ModelStore:
    """The leases as one process reaches them."""

    def __init__(self, server: Server, machine: Machine, me: str) -> None:
        self.name = f"default/{me}"
        self._server = server
        self._machine = machine
        self._me = me
        self._version: str | None = None

    def fence(self, check: Callable[[], None]) -> Fence:
        return Fence(LeaderTerm("default", self._me, self._me, 0), check)

    async def join(self) -> None:
        try:
            self._version = await self._machine.call(lambda: self._server.put(self._me, frozenset(), None))
        except AlreadyExists:  # the answer to the last attempt was lost
            await self.renew(frozenset())

    async def renew(self, view: frozenset[str]) -> None:
        version, self._version = self._version, None
        seen = version or await self._machine.call(lambda: self._server.get(self._me))
        self._version = await self._machine.call(lambda: self._server.put(self._me, view, seen))

    async def members(self) -> Sequence[Member]:
        return await self._machine.call(lambda: list(self._server.leases.values()))

    async def remove(self, member: Member) -> bool:
        return await self._machine.call(lambda: self._server.delete(member))

    async def leave(self) -> None:
        await self._machine.call(lambda: self._server.leases.pop(self._me, None))


class Replica:
    """One replica: processes that follow one another on its machine, which work on the keys that they own."""

    def __init__(self, name: str, server: Server, conditions: Conditions, chooser: random.Random) -> None:
        self.name = name
        self.machine = Machine(chooser, conditions.slowest, conditions.fastest)
        self._server = server
        self._conditions = conditions
        self._random = chooser

    async def live(self) -> None:
        await asyncio.sleep(self._random.uniform(0, 20))
        for life in itertools.count():
            me = f"{self.name}{life}"
            store = ModelStore(self._server, self.machine, me)
            member = ShardMember(store, "group", me, self._conditions.timings, now=self.machine.now)
            self._server.outcome.members += 1
            workers = [asyncio.ensure_future(self._work(member, me)) for _ in range(3)]
            try:
                with suppress(LeaderElectionLost):
                    async with asyncio.timeout(self._random.uniform(20, 120)):
                        await member.run()
            except TimeoutError:
                await self._end(workers)
                await member.leave()
            finally:
                await self._end(workers)

    async def _end(self, workers: list[asyncio.Task[None]]) -> None:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, member: ShardMember, me: str) -> None:
        while True:
            await asyncio.sleep(self._random.uniform(0.1, 0.5))
            key = self._random.choice(KEYS)
            if not member.begin(key):
                continue
            session = Session(next(_NUMBERS), key, me)
            try:
                for _ in range(3):
                    await asyncio.sleep(self._random.uniform(0, 2))
                    with suppress(ConnectionLost, ServiceUnavailable):
                        await self._write(member, session)
            except LeaderElectionLost:
                self._server.outcome.refused += 1
            finally:
                member.end(key)

    async def _write(self, member: ShardMember, session: Session) -> None:
        member.fence.check()
        if not self._conditions.fenced:
            self._server.write(session)
            return
        if self._random.random() < 0.01:
            self.machine.stop()  # between the check and the system call
        await self.machine.call(lambda: self._server.write(session))


_NUMBERS = itertools.count()


def simulate(conditions: Conditions, seed: int) -> Outcome:
    """Run one simulation to its end."""
    logging.getLogger("pilotage.shards").setLevel(logging.CRITICAL)  # logs would take most of the time
    return simulated(_simulate(conditions, random.Random(seed)), seed)


async def _simulate(conditions: Conditions, chooser: random.Random) -> Outcome:
    server = Server(conditions.fenced)
    replicas = [Replica(name, server, conditions, chooser) for name in "abc"]
    tasks = [replica.machine.start(replica.live()) for replica in replicas]
    tasks += [asyncio.ensure_future(replica.machine.suffer()) for replica in replicas]
    await asyncio.sleep(SECONDS)
    for replica in replicas:
        replica.machine.stopped_until = 0
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()
    return server.outcome
