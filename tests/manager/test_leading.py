"""A manager with leader election: the leader works, the others stand by, and one that loses the lease stops."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace

import pytest

from pilotage.cluster import Cluster
from pilotage.errors import Forbidden, InvalidDefinition
from pilotage.manager.election.elector import LeaderCallbacks
from pilotage.manager.errors import LeaderElectionLost, NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap

from .election.test_elector import Board, Lock, held_by
from .fakes import FakeCluster, Recorded, elapsed
from .test_manager import Warming


def options(board: Board, *, release: bool = False, grace: float = 30) -> ManagerOptions:
    return ManagerOptions(
        leader_election=True,
        leader_election_resource_lock_interface=Lock(board),
        leader_election_release_on_cancel=release,
        graceful_shutdown_timeout=grace,
    )


@pytest.mark.covers("T70")
@pytest.mark.virtual_time
async def test_without_election_the_manager_leads_at_once() -> None:
    async with Manager(FakeCluster()) as manager:
        await manager.run_until_idle(1)
        assert manager.elected.is_set()
        assert manager._lifecycle.elector is None


@pytest.mark.covers("T74", "T70")
@pytest.mark.virtual_time
async def test_a_standby_runs_what_needs_no_leader_and_warms_up() -> None:
    journal: list[str] = []
    board = Board(held_by("other"))
    async with Manager(FakeCluster(), options(board)) as manager:
        manager.add(Recorded(journal, "leader"))
        manager.add(Recorded(journal, "other", needs_leader_election=False))
        manager.add(Warming(journal))
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(10)
        assert sorted(journal) == ["other started", "warm-up"]
        assert not manager.elected.is_set()
        await asyncio.sleep(10)
        assert sorted(journal[2:]) == ["leader started", "start"]
        assert manager.elected.is_set()
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.covers("T69")
@pytest.mark.virtual_time
async def test_a_standby_that_is_stopped_starts_nothing_that_needs_a_leader() -> None:
    journal: list[str] = []
    board = Board(held_by("other"))
    async with Manager(FakeCluster(), options(board, release=True)) as manager:
        manager.add(Recorded(journal, "leader"))
        manager.add(Recorded(journal, "slow", needs_leader_election=False, ending=25))
        await manager.start(timeout=1)
    assert journal == ["slow started", "slow stopped"]
    assert board.record == held_by("other")


@pytest.mark.covers("T67", "T84")
@pytest.mark.virtual_time
async def test_the_lease_is_kept_until_everything_has_ended_and_then_released_if_asked() -> None:
    board = Board()
    async with Manager(FakeCluster(), options(board, release=True)) as manager:
        manager.add(Recorded([], "slow", ending=20))
        await manager.start(timeout=3)
    renewals = [when for when, holder in board.history if holder]
    assert max(renewals) >= 20
    assert board.history[-1] == (23, "")


@pytest.mark.covers("T67", "T84")
@pytest.mark.virtual_time
async def test_the_lease_is_left_to_run_out_if_not_asked_to_release() -> None:
    board = Board()
    async with Manager(FakeCluster(), options(board)) as manager:
        await manager.start(timeout=3)
    assert board.record is not None
    assert board.record.holder_identity != ""


@pytest.mark.virtual_time
async def test_the_lease_is_not_released_when_something_was_cut() -> None:
    board = Board()
    async with Manager(FakeCluster(), options(board, release=True, grace=0)) as manager:
        manager.add(Recorded([], "stubborn", ending=100))
        await manager.start(timeout=3)
    assert board.record is not None
    assert board.record.holder_identity != ""


@pytest.mark.covers("T68")
@pytest.mark.virtual_time
async def test_losing_the_lease_ends_the_manager_without_grace() -> None:
    journal: list[str] = []
    board = Board()
    cluster = FakeCluster()
    async with Manager(cluster, options(board, release=True)) as manager:
        manager.add(Recorded(journal, "leader"))

        async def working() -> None:
            with manager.work.track("reconcile", "a"):
                await asyncio.sleep(100)

        manager.add(working)
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        assert cluster.write()
        board.broken = True
        with pytest.raises(LeaderElectionLost):
            await running
        assert elapsed() == 10
        assert not cluster.write()
    assert journal == ["leader started", "leader stopped"]
    assert board.record is not None
    assert board.record.holder_identity != ""


@pytest.mark.virtual_time
async def test_losing_the_lease_during_a_shutdown_ends_its_grace() -> None:
    board = Board()
    async with Manager(FakeCluster(), options(board)) as manager:

        async def working() -> None:
            with manager.work.track("reconcile", "a"):
                await asyncio.sleep(100)

        manager.add(working)
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        board.broken = True
        manager._lifecycle.on_signal(signal.SIGTERM)
        with pytest.raises(LeaderElectionLost):
            await running
        assert elapsed() == 10


@pytest.mark.virtual_time
async def test_no_write_starts_after_the_deadline_even_before_the_loss_is_noticed() -> None:
    """After a pause of the whole process, writers may run before the elector does."""
    board = Board()
    cluster = FakeCluster()
    async with Manager(cluster, options(board)) as manager:
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        assert cluster.write()
        loop = asyncio.get_running_loop()
        loop._virtual_time += 60  # type: ignore[attr-defined]  # the process was paused
        assert not running.done()
        assert not cluster.write()
        with pytest.raises(LeaderElectionLost):
            await running


@pytest.mark.virtual_time
async def test_a_renewal_that_others_cancel_is_a_lost_lease() -> None:
    async with Manager(FakeCluster(), options(Board())) as manager:
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        [electing] = [task for task in asyncio.all_tasks() if task.get_name() == "manager: leader election"]
        electing.cancel()
        with pytest.raises(LeaderElectionLost):
            await running
        assert elapsed() == 1


@pytest.mark.virtual_time
async def test_a_standby_may_write_what_needs_no_leader() -> None:
    cluster = FakeCluster()
    async with Manager(cluster, options(Board(held_by("other")))) as manager:
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        assert cluster.write()
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.virtual_time
async def test_run_until_idle_waits_for_the_lease() -> None:
    async with Manager(FakeCluster(), options(Board(held_by("other")))) as manager:
        with pytest.raises(NotIdle, match="the leader lease default/test, which is held by other"):
            await manager.run_until_idle(5)
        await manager.run_until_idle(30)
        assert elapsed() >= 15


@pytest.mark.virtual_time
async def test_an_unexpected_error_in_the_election_is_not_lost() -> None:
    class Broken(Lock):
        async def get(self) -> None:
            raise TypeError("a bug")

    broken = ManagerOptions(leader_election=True, leader_election_resource_lock_interface=Broken(Board()))
    async with Manager(FakeCluster(), broken) as manager:
        with pytest.raises(TypeError, match="a bug"):
            await manager.start()


@pytest.mark.covers("T70")
@pytest.mark.virtual_time
async def test_outside_a_cluster_the_lease_needs_a_namespace() -> None:
    with pytest.raises(InvalidDefinition, match="leader_election_namespace"):
        async with Manager(FakeCluster(), ManagerOptions(leader_election=True, leader_election_id="mine")):
            pytest.fail("it was opened")


@pytest.mark.covers("T70", "T85")
def test_options_of_an_election_that_cannot_work_are_refused() -> None:
    for wrong, word in [
        ({"leader_election": True}, "leader_election_id"),
        ({"leader_election": True, "leader_election_id": "a", "lease_duration": 5}, "lease_duration"),
        ({"leader_election_resource_lock": "configmaps"}, "leases"),
    ]:
        with pytest.raises(InvalidDefinition, match=word):
            ManagerOptions(**wrong)  # type: ignore[arg-type]


@pytest.mark.virtual_time
async def test_callbacks_of_the_manager_run_on_its_loop() -> None:
    journal: list[str] = []

    def note(*words: str) -> None:
        asyncio.get_running_loop()
        journal.append(" ".join(words))

    board = Board(held_by("other"))
    callbacks = LeaderCallbacks(lambda: note("started"), lambda: note("stopped"), lambda who: note("new"))
    async with Manager(FakeCluster(), replace(options(board), leader_election_callbacks=callbacks)) as manager:
        await manager.start(timeout=20)
    assert journal == ["new", "new", "started", "stopped"]


@pytest.mark.covers("F13")
@pytest.mark.virtual_time
async def test_any_client_in_what_needs_a_leader_is_fenced_and_others_are_not() -> None:
    """Lost in the middle of its work: the first write after the deadline is refused, through whichever client."""
    board = Board()
    outcomes: list[str] = []
    async with Cluster.embedded() as cluster, Manager(cluster, options(board)) as manager:

        async def write(name: str) -> None:
            await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))

        async def lead() -> None:
            await write("before")
            try:
                await asyncio.sleep(100)
            finally:
                for client in (cluster.client, manager.client):
                    with pytest.raises(LeaderElectionLost):
                        await client.create(ConfigMap(metadata=ObjectMeta(name="late", namespace="default")))
                outcomes.append("refused")

        manager.add(lead)
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        board.broken = True
        with pytest.raises(LeaderElectionLost):
            await running
        await write("outside")
        names = {one.metadata.name for one in await cluster.client.list(ConfigMap, namespace="default")}
    assert outcomes == ["refused"]
    assert {"before", "outside"} <= names
    assert "late" not in names


@pytest.mark.covers("F8")
@pytest.mark.virtual_time
async def test_an_embedded_server_refuses_a_leader_whose_lease_was_taken_before_its_deadline() -> None:
    """A replica whose clock runs fast takes the lease too early: the old leader does not know it yet."""
    election = ManagerOptions(
        leader_election=True, leader_election_id="leader", leader_election_namespace="default", handle_signals=False
    )
    async with Cluster.embedded() as cluster, Manager(cluster, election) as manager:

        async def lead() -> None:
            lease = await manager.client.get(Lease, "leader", namespace="default")
            assert lease.spec is not None
            lease.spec.holder_identity, lease.spec.lease_transitions = "early", 1
            await manager.client.update(lease)  # stands for the other replica's write
            await manager.client.create(ConfigMap(metadata=ObjectMeta(name="late", namespace="default")))

        manager.add(lead)
        with pytest.raises(Forbidden, match="which has ended"):
            await manager.start()


@pytest.mark.virtual_time
async def test_a_manager_runs_work_of_other_elections() -> None:
    journal: list[str] = []
    election = ManagerOptions(leader_election_namespace="default", handle_signals=False)
    async with Cluster.embedded() as cluster, Manager(cluster, election) as first, Manager(cluster, election) as second:

        async def lead(name: str) -> None:
            journal.append(f"{name} leads at {elapsed():g}")
            await asyncio.sleep(20)

        callbacks = LeaderCallbacks(on_stopped_leading=lambda: journal.append("first stopped"))
        running = [
            asyncio.ensure_future(
                first.run_while_leading("a", lambda: lead("first"), callbacks=callbacks, release_on_cancel=True)
            )
        ]
        await asyncio.sleep(1)
        running += [
            asyncio.ensure_future(second.run_while_leading("a", lambda: lead("second"))),
            asyncio.ensure_future(second.run_while_leading("b", lambda: lead("other"))),
        ]
        await asyncio.gather(*running)
    assert journal == ["first leads at 0", "other leads at 1", "first stopped", "second leads at 20"]


@pytest.mark.virtual_time
async def test_on_an_embedded_server_the_lease_is_in_the_default_namespace_unless_another_is_given() -> None:
    async with Manager(Cluster.embedded(), ManagerOptions(leader_election=True, leader_election_id="one")) as manager:
        await manager.run_until_idle(60)
        assert (await manager.cluster.client.get(Lease, "one", namespace="default")).spec is not None
