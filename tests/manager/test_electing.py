"""A candidate that runs: its callbacks, the work under its lease, and the fence of its writes."""

from __future__ import annotations

import asyncio
import random

import pytest

from pilotage.cluster import Cluster
from pilotage.cluster.fencing import current_fences
from pilotage.errors import Forbidden
from pilotage.manager.election.elector import ElectorClocks, LeaderCallbacks, LeaderElector
from pilotage.manager.election.lease import LeaseLock
from pilotage.manager.election.resourcelock import JITTER, LeaderElectionRecord
from pilotage.manager.errors import LeaderElectionLost
from pilotage.rest.fence import LeaderTerm

from ..environments import Environment
from .election.test_elector import Board, Lock, candidate, held_by
from .fakes import elapsed


def noting(journal: list[str]) -> LeaderCallbacks:
    return LeaderCallbacks(
        lambda: journal.append("started"), lambda: journal.append("stopped"), lambda who: journal.append(f"new {who}")
    )


def electing(board: Board, journal: list[str], identity: str = "me") -> LeaderElector:
    return LeaderElector(
        Lock(board), identity=identity, clocks=ElectorClocks(chooser=random.Random(1)), callbacks=noting(journal)
    )


@pytest.mark.virtual_time
async def test_callbacks_hear_of_every_new_leader_and_of_the_own_leadership() -> None:
    journal: list[str] = []
    board = Board(held_by("other"))
    elector = electing(board, journal)
    await elector.acquire()
    assert journal == ["new other", "new me", "started"]
    renewing = asyncio.ensure_future(elector.renew())
    await asyncio.sleep(3)
    board.put(held_by("third"))
    with pytest.raises(LeaderElectionLost):
        await renewing
    assert journal[3:] == ["new third", "stopped"]


@pytest.mark.virtual_time
async def test_a_candidate_that_never_led_did_not_stop_leading() -> None:
    journal: list[str] = []
    running = asyncio.ensure_future(electing(Board(held_by("other")), journal).run(asyncio.Event().wait))
    await asyncio.sleep(5)
    running.cancel()
    await asyncio.wait([running])
    assert journal == ["new other"]


@pytest.mark.virtual_time
async def test_a_callback_that_fails_does_not_end_the_election(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("a bug")

    board = Board()
    await LeaderElector(Lock(board), identity="me", callbacks=LeaderCallbacks(fail)).acquire()
    assert board.record is not None
    assert "Callback of the leader election failed" in caplog.text


@pytest.mark.covers("T67")
@pytest.mark.virtual_time
async def test_run_ends_with_its_work_and_releases_the_lease_if_asked() -> None:
    board = Board()

    async def work() -> None:
        await asyncio.sleep(20)

    await candidate(board).run(work, release_on_cancel=True)
    assert elapsed() == 20
    assert max(when for when, holder in board.history if holder) >= 18  # renewed until the end
    assert board.history[-1] == (20, "")
    await candidate(board, "next").run(work)
    assert board.history[-1][1] == "next"  # it expires


@pytest.mark.virtual_time
async def test_run_raises_the_error_of_its_work() -> None:
    async def fail() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await candidate(Board()).run(fail)


@pytest.mark.covers("F13")
@pytest.mark.virtual_time
async def test_run_cancels_its_work_when_the_lease_is_lost_and_refuses_its_writes() -> None:
    board = Board()
    refused: list[float] = []

    async def work() -> None:
        [fence] = current_fences()
        fence.check()
        try:
            await asyncio.sleep(1000)
        finally:
            with pytest.raises(LeaderElectionLost, match="nothing was written"):
                fence.check()
            refused.append(elapsed())

    running = asyncio.ensure_future(candidate(board).run(work, release_on_cancel=True))
    await asyncio.sleep(1)
    board.broken = True
    with pytest.raises(LeaderElectionLost, match="renew_deadline"):
        await running
    assert refused == [10]
    assert board.history == [(0, "me")]  # what was lost is not released
    assert current_fences() == ()


@pytest.mark.covers("T67")
@pytest.mark.virtual_time
async def test_a_cancelled_run_renews_the_lease_until_its_work_has_ended() -> None:
    board = Board()

    async def stubborn() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(30)

    running = asyncio.ensure_future(candidate(board).run(stubborn, release_on_cancel=True))
    await asyncio.sleep(1)
    running.cancel()
    await asyncio.sleep(1)
    running.cancel()  # a second time: the work is awaited all the same
    await asyncio.wait([running])
    assert running.cancelled()
    assert elapsed() == 31
    assert max(when for when, holder in board.history if holder) >= 29
    assert board.history[-1] == (31, "")


@pytest.mark.virtual_time
async def test_one_program_can_have_several_elections() -> None:
    boards = [Board(), Board(held_by("other"))]
    electors = [candidate(board) for board in boards]
    running = [asyncio.ensure_future(elector.run(asyncio.Event().wait)) for elector in electors]
    await asyncio.sleep(1)
    assert [elector.is_leader for elector in electors] == [True, False]
    boards[0].broken = True
    await asyncio.sleep(20)
    assert [elector.is_leader for elector in electors] == [False, True]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


@pytest.mark.virtual_time
async def test_a_leader_whose_lease_is_deleted_creates_it_again_in_the_same_term() -> None:
    board = Board(held_by(""))
    elector = candidate(board)
    await elector.acquire()
    renewing = asyncio.ensure_future(elector.renew())
    board.record, board.version = None, board.version + 1
    await asyncio.sleep(2.5)
    assert elector.is_leader
    assert board.record is not None
    assert (board.record.holder_identity, board.record.leader_transitions) == ("me", 4)
    renewing.cancel()


async def test_the_fence_has_the_term_of_the_lease(environment: Environment) -> None:
    cluster = environment.cluster()
    lock = LeaseLock(environment.client, environment.namespace, "leader", cluster=cluster)
    for number in range(2):
        elector = LeaderElector(lock, identity=f"replica-{number}")
        await elector.acquire()
        assert elector.fence.term == LeaderTerm(environment.namespace, "leader", f"replica-{number}", number)
        assert elector.fence.server is cluster
        await elector.release()
    elector = LeaderElector(LeaseLock(environment.client, environment.namespace, "leader"))
    await elector.acquire()
    assert elector.fence.term is None  # without its cluster, the term is not sent: it would not be known where


class Steady(random.Random):
    """Chooses the same jitter each time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._chosen = (seconds / 2 - 1) / JITTER  # of the default retry period of two seconds

    def random(self) -> float:
        return self._chosen


@pytest.mark.parametrize("seconds", [14.95 / 7, 2.5], ids=["just before it expires", "earlier"])
@pytest.mark.virtual_time
async def test_a_lease_that_is_released_is_taken_at_once_and_one_that_expires_to_the_moment(seconds: float) -> None:
    """Whenever the last attempt before that is."""
    async with Cluster.embedded() as cluster:
        locks = [LeaseLock(cluster.client, "default", "leader") for _ in range(3)]
        clocks = ElectorClocks(chooser=Steady(seconds))
        first, second, third = (
            LeaderElector(lock, identity=name, clocks=clocks) for lock, name in zip(locks, ("1", "2", "3"), strict=True)
        )
        await first.acquire()
        waiting = asyncio.ensure_future(second.acquire())
        await asyncio.sleep(7.7)
        assert not waiting.done()
        await first.release()
        await waiting
        assert elapsed() == pytest.approx(7.7)
        await third.acquire()  # the second does not renew it
        assert elapsed() == pytest.approx(7.7 + 15)


@pytest.mark.virtual_time
async def test_a_standby_that_cannot_watch_reads_the_lease() -> None:
    class Unwatchable(Lock):
        def changes(self) -> object:
            raise Forbidden("leases is forbidden: User cannot watch it")

    board = Board(held_by("other"))
    elector = LeaderElector(Unwatchable(board), identity="me")
    await elector.acquire()
    assert elapsed() == pytest.approx(15, abs=0.2)


@pytest.mark.covers("F29")
@pytest.mark.parametrize("record", [None, held_by(""), held_by("other")], ids=["absent", "released", "held"])
@pytest.mark.virtual_time
async def test_a_server_that_fails_is_asked_once_in_each_retry_period(record: LeaderElectionRecord | None) -> None:
    board = Board(record)
    elector = candidate(board)
    running = asyncio.ensure_future(elector.acquire())
    if record is not None and record.holder_identity:
        await asyncio.sleep(14)
    board.broken = True
    board.calls.clear()
    await asyncio.sleep(60)
    assert 60 / 4.4 - 1 <= len(board.calls) <= 60 / 2 + 1
    running.cancel()
    await asyncio.wait([running])
