"""One of several replicas leads; a leader that cannot renew in time stops before another replica may start."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from pilotage.client.client import Client
from pilotage.errors import AlreadyExists, Conflict, InvalidDefinition, NotFound, ServiceUnavailable
from pilotage.manager.election.elector import ElectorClocks, LeaderElector, in_cluster_namespace, new_identity
from pilotage.manager.election.lease import LeaseLock, record_of, spec_of
from pilotage.manager.election.resourcelock import LeaderElectionRecord, LeaseTimings
from pilotage.manager.errors import LeaderElectionLost
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.times import MicroTime
from pilotage.testing.loop import BEGINNING
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from tests.seeds import seeds

from ..fakes import elapsed

NOW = MicroTime.of(BEGINNING)


@dataclass
class Board:
    """The record of the lease, as an API server stores it; `delay` seconds pass before and after each call."""

    record: LeaderElectionRecord | None = None
    version: int = 0
    calls: list[str] = field(default_factory=list)
    broken: bool = False
    answer_delay: float = 0.0
    history: list[tuple[float, str]] = field(default_factory=list)

    def put(self, record: LeaderElectionRecord) -> None:
        self.record, self.version = record, self.version + 1
        self.history.append((elapsed(), record.holder_identity))


class Lock:
    """One candidate's view of the board."""

    name = "default/test"

    def __init__(self, board: Board) -> None:
        self.cut_off = False
        self.answer_delay = 0.0
        self._board = board
        self._seen = -1

    async def get(self) -> LeaderElectionRecord | None:
        await self._call("get")
        self._seen = self._board.version
        return self._board.record

    async def create(self, record: LeaderElectionRecord) -> None:
        await self._call("create")
        if self._board.record is not None:
            raise AlreadyExists("it is there")
        await self._put(record)

    async def update(self, record: LeaderElectionRecord) -> None:
        await self._call("update")
        if self._seen != self._board.version:
            raise Conflict("somebody has written it")
        await self._put(record)

    async def _put(self, record: LeaderElectionRecord) -> None:
        self._board.put(record)
        self._seen = self._board.version
        await asyncio.sleep(self._board.answer_delay + self.answer_delay)

    async def _call(self, verb: str) -> None:
        self._board.calls.append(verb)
        if self._board.broken or self.cut_off:
            raise ServiceUnavailable("no quorum")


def candidate(board: Board, identity: str = "me", timings: LeaseTimings | None = None) -> LeaderElector:
    return LeaderElector(
        Lock(board),
        timings,
        identity=identity,
        clocks=ElectorClocks(lambda: BEGINNING + timedelta(seconds=elapsed()), chooser=random.Random(1)),
    )


def held_by(identity: str, transitions: int = 3) -> LeaderElectionRecord:
    return LeaderElectionRecord(identity, 15, NOW, NOW, transitions)


@pytest.mark.covers("T81", "T82")
@pytest.mark.virtual_time
async def test_an_absent_lease_is_created() -> None:
    board = Board()
    await candidate(board).acquire()
    assert board.record == LeaderElectionRecord("me", 15, NOW, NOW, 0)
    assert board.calls == ["get", "create"]


@pytest.mark.covers("T81", "T82")
@pytest.mark.virtual_time
async def test_a_released_lease_is_taken_at_once() -> None:
    board = Board(replace(held_by(""), lease_duration_seconds=1))
    await candidate(board).acquire()
    assert elapsed() == 0
    assert board.record == LeaderElectionRecord("me", 15, NOW, NOW, 4)


@pytest.mark.covers("T81", "T82")
@pytest.mark.virtual_time
async def test_a_lease_of_another_is_taken_when_it_has_not_changed_for_its_duration() -> None:
    board = Board(held_by("other"))
    await candidate(board).acquire()
    assert 15 <= elapsed() < 15 + 2 * 2.2
    assert board.record is not None
    assert (board.record.holder_identity, board.record.leader_transitions) == ("me", 4)


@pytest.mark.covers("T81")
@pytest.mark.virtual_time
async def test_a_lease_that_another_replica_renews_is_not_taken_whatever_times_are_in_it() -> None:
    board = Board(replace(held_by("other"), renew_time=MicroTime.parse("1999-01-01T00:00:00.000000Z")))
    mine = asyncio.ensure_future(candidate(board).acquire())
    for number in range(20):
        await asyncio.sleep(10)
        board.put(replace(held_by("other"), leader_transitions=number))
    assert not mine.done()
    mine.cancel()


@pytest.mark.covers("T81", "T82")
@pytest.mark.virtual_time
async def test_a_lease_of_our_own_is_kept_with_its_acquire_time_and_count() -> None:
    before = MicroTime.parse("2020-01-01T00:00:00.000000Z")
    board = Board(replace(held_by("me"), acquire_time=before, renew_time=before))
    await candidate(board).acquire()
    assert board.record == LeaderElectionRecord("me", 15, before, NOW, 3)
    assert elapsed() == 0


@pytest.mark.covers("T83", "T82")
@pytest.mark.virtual_time
async def test_renewing_needs_one_call_and_changes_only_the_renew_time() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    renewing = asyncio.ensure_future(elector.renew())
    await asyncio.sleep(2.5)
    assert board.calls == ["get", "create", "update"]
    assert board.record == LeaderElectionRecord("me", 15, NOW, MicroTime.of(BEGINNING + timedelta(seconds=2)), 0)
    assert elector.is_leader
    renewing.cancel()


@pytest.mark.covers("T83")
@pytest.mark.virtual_time
async def test_a_conflict_makes_it_look_again() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    renewing = asyncio.ensure_future(elector.renew())
    assert board.record is not None
    board.put(replace(board.record, preferred_holder="somebody"))
    await asyncio.sleep(2.5)
    assert board.calls[2:] == ["update", "get", "update"]
    assert board.record.preferred_holder == "somebody"
    renewing.cancel()


@pytest.mark.virtual_time
async def test_leadership_is_lost_when_renewing_fails_for_the_deadline() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    await asyncio.sleep(0)
    board.broken = True
    with pytest.raises(LeaderElectionLost, match="renew_deadline: no quorum"):
        await elector.renew()
    assert elapsed() == 10
    assert not elector.is_leader


@pytest.mark.virtual_time
async def test_a_short_outage_loses_nothing() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    renewing = asyncio.ensure_future(elector.renew())
    for _ in range(5):
        board.broken = True
        await asyncio.sleep(5)
        board.broken = False
        await asyncio.sleep(2.5)
    assert elector.is_leader
    renewing.cancel()


@pytest.mark.virtual_time
async def test_a_leader_that_sees_another_holder_steps_down_at_once() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    renewing = asyncio.ensure_future(elector.renew())
    await asyncio.sleep(1)
    board.put(held_by("other"))
    with pytest.raises(LeaderElectionLost, match="it is held by other"):
        await renewing
    assert elapsed() == 2


@pytest.mark.virtual_time
async def test_the_deadline_counts_from_the_sending_of_a_renewal() -> None:
    board = Board(answer_delay=4.5)
    elector = candidate(board)
    await elector.acquire()
    assert elapsed() == 4.5
    assert elector.deadline == 10


@pytest.mark.virtual_time
async def test_a_silent_server_leaves_time_for_another_try() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    renewing = asyncio.ensure_future(elector.renew())
    board.answer_delay = 1000
    await asyncio.sleep(2 + 5 + 0.5)  # one try is given up after half the deadline
    board.answer_delay = 0
    await asyncio.sleep(2)
    assert elector.is_leader
    assert not renewing.done()
    renewing.cancel()


@seeds(2, 10)
def test_two_replicas_never_lead_at_once_however_late_answers_come(seed: int) -> None:
    """The may-write intervals of all replicas do not overlap."""
    from pilotage.testing import loop

    async def run() -> None:
        chooser = random.Random(seed)
        board = Board()
        close = LeaseTimings(15, 14, 2)  # little room between giving up and another's taking over
        locks = {name: Lock(board) for name in "ab"}
        electors: dict[str, LeaderElector] = {}

        async def replica(name: str) -> None:
            for life in itertools.count():
                elector = electors[name] = LeaderElector(
                    locks[name], close, identity=f"{name}{life}", clocks=ElectorClocks(chooser=chooser)
                )
                await elector.acquire()
                with pytest.raises(LeaderElectionLost):
                    await elector.renew()

        async def trouble(lock: Lock) -> None:
            """Answers are late, then lost, then normal for a while."""
            while True:
                lock.answer_delay = chooser.uniform(0, 7)
                await asyncio.sleep(chooser.uniform(0, 15))
                lock.cut_off = True
                await asyncio.sleep(chooser.uniform(0, 25))
                lock.cut_off, lock.answer_delay = False, 0
                await asyncio.sleep(chooser.uniform(0, 25))

        tasks = [asyncio.ensure_future(replica(name)) for name in locks]
        tasks += [asyncio.ensure_future(trouble(lock)) for lock in locks.values()]
        for _ in range(10_000):
            await asyncio.sleep(0.1)
            assert sum(elector.is_leader for elector in electors.values()) <= 1
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert {holder[0] for _, holder in board.history} == {"a", "b"}

    loop.run(run(), seed=seed)


@pytest.mark.covers("T84")
@pytest.mark.virtual_time
async def test_release_looks_first_then_writes_no_holder() -> None:
    board = Board()
    elector = candidate(board)
    await elector.acquire()
    board.calls.clear()
    assert await elector.release()
    assert board.calls == ["get", "update"]
    assert board.record is not None
    assert (board.record.holder_identity, board.record.lease_duration_seconds) == ("", 1)
    await candidate(board, "next").acquire()
    assert elapsed() == 0


@pytest.mark.covers("T84")
@pytest.mark.virtual_time
async def test_release_writes_nothing_when_another_holds_the_lease() -> None:
    board = Board(held_by("other"))
    assert not await candidate(board).release()
    assert board.calls == ["get"]


@pytest.mark.covers("T84")
@pytest.mark.virtual_time
async def test_release_tries_again_after_a_conflict() -> None:
    class Racing(Lock):
        raced = False

        async def get(self) -> LeaderElectionRecord | None:
            record = await super().get()
            if not self.raced and record is not None:
                self.raced = True
                board.put(replace(record, preferred_holder="somebody"))
            return record

    board = Board(held_by("me"))
    assert await LeaderElector(Racing(board), identity="me").release()
    assert board.calls == ["get", "update", "get", "update"]


@pytest.mark.virtual_time
async def test_a_release_that_fails_is_no_error() -> None:
    board = Board(held_by("me"), broken=True)
    assert not await candidate(board).release()


@pytest.mark.covers("T85", "T71")
@pytest.mark.parametrize(
    ("timings", "word"),
    [
        ((10, 10, 2), "lease_duration"),
        ((15, 2.4, 2), "renew_deadline"),
        ((15, 10, 0), "more than 0"),
        ((15, 10, -1), "more than 0"),
        ((float("nan"), 10, 2), "more than"),
    ],
)
def test_timings_that_cannot_work_are_refused(timings: tuple[float, float, float], word: str) -> None:
    with pytest.raises(InvalidDefinition, match=word):
        LeaseTimings(*timings)


@pytest.mark.covers("T71")
def test_the_usual_timings_are_the_default() -> None:
    assert LeaseTimings() == LeaseTimings(15, 10, 2)
    assert LeaseTimings().request_timeout == 5
    assert LeaseTimings(3, 1.5, 1).request_timeout == 1


@pytest.mark.covers("T86")
@pytest.mark.virtual_time
async def test_the_health_check_fails_only_for_a_leader_that_is_long_overdue() -> None:
    board = Board()
    elector = candidate(board)
    elector.check()  # not a leader: fine
    await elector.acquire()
    await asyncio.sleep(15 + 19)
    elector.check(20)
    await asyncio.sleep(2)
    with pytest.raises(LeaderElectionLost, match="not renewed"):
        elector.check(20)


def test_identities_differ_and_begin_with_the_host() -> None:
    import socket

    first, second = new_identity(), new_identity()
    assert first != second
    assert first.startswith(f"{socket.gethostname()}_")


def test_the_namespace_of_the_pod_is_read_from_its_file(tmp_path: Any) -> None:
    assert in_cluster_namespace(tmp_path / "missing") == ""
    (tmp_path / "namespace").write_text("shop\n")
    assert in_cluster_namespace(tmp_path / "namespace") == "shop"


@pytest.mark.covers("T88")
def test_record_and_lease_convert_both_ways_without_loss() -> None:
    record = LeaderElectionRecord("me", 15, NOW, NOW, 3, "you", "OldestEmulationVersion")
    assert record_of(spec_of(record)) == record
    assert record_of(spec_of(LeaderElectionRecord())) == LeaderElectionRecord()
    assert record_of(None) == LeaderElectionRecord()
    spec = LeaseSpec(holder_identity="me", lease_duration_seconds=15, lease_transitions=1, renew_time=NOW)
    assert spec_of(record_of(spec)) == spec


class Leases(Client):
    """A client of one Lease, without a server."""

    def __init__(self, lease: Lease | None = None) -> None:
        self.lease = lease
        self.conflict = False

    async def get(self, *_: Any, **__: Any) -> Any:
        if self.lease is None:
            raise NotFound("there is no Lease")
        return self.lease

    async def create(self, obj: Any, **_: Any) -> Any:
        self.lease = obj
        return obj

    async def update(self, obj: Any, **_: Any) -> Any:
        if self.conflict:
            raise Conflict("no")
        self.lease = obj
        return obj


@pytest.mark.covers("T87", "T70")
async def test_labels_are_put_on_the_lease_beside_those_it_has() -> None:
    leases = Leases()
    lock = LeaseLock(leases, "shop", "leader", {"app": "shop"})
    assert await lock.get() is None
    await lock.create(held_by("me"))
    assert leases.lease is not None
    assert (leases.lease.metadata.namespace, leases.lease.metadata.name) == ("shop", "leader")
    assert leases.lease.metadata.labels == {"app": "shop"}
    leases.lease.metadata.labels = {"theirs": "stays", "app": "old"}
    await lock.update(held_by("me"))
    assert leases.lease.metadata.labels == {"theirs": "stays", "app": "shop"}


@pytest.mark.covers("T87")
async def test_a_lease_without_labels_and_a_lock_without_labels_get_on() -> None:
    leases = Leases(Lease(metadata=ObjectMeta(name="leader", namespace="shop")))
    lock = LeaseLock(leases, "shop", "leader")
    assert await lock.get() == LeaderElectionRecord()
    await lock.update(held_by("me"))
    assert leases.lease is not None
    assert record_of(leases.lease.spec) == held_by("me")


async def test_after_a_failed_update_the_lease_must_be_read_again() -> None:
    leases = Leases(Lease(metadata=ObjectMeta(name="leader", namespace="shop")))
    lock = LeaseLock(leases, "shop", "leader")
    await lock.get()
    leases.conflict = True
    with pytest.raises(Conflict):
        await lock.update(held_by("me"))
    with pytest.raises(NotFound, match="not read"):
        await lock.update(held_by("me"))
