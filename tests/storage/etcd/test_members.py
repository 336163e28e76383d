"""Three real members of etcd, of which one is killed, paused or cut off: nothing acknowledged is lost, and no read is
stale."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from hack.cluster.members import EtcdCluster, Member
from pilotage.errors import RevisionConflict, StorageUnavailable
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.dialer import Address
from pilotage.storage import Put, Storage
from pilotage.storage.etcd import EtcdStorage
from pilotage.storage.etcd.client import CallTimeouts
from pilotage.storage.etcd.messages import STATUS, message

pytestmark = pytest.mark.cluster

WRITERS = 6
COMMITS = 40  # acknowledged ones after a fault, before the next step: what a test waits for instead of a time
Fault = Callable[[EtcdCluster, Member], None]


@dataclass
class Record:
    """What was acknowledged."""

    keys: list[str] = field(default_factory=list)
    counted: int = 0
    unknown: int = 0
    """Increments whose fate is not known."""
    progress: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def more(self, count: int) -> None:
        """Wait for so many more acknowledged commits."""
        goal = len(self.keys) + count
        async with asyncio.timeout(60), self.progress:
            await self.progress.wait_for(lambda: len(self.keys) >= goal)


async def _write(storage: Storage, number: int, record: Record) -> None:
    """Create keys, and increment one counter that all writers share."""
    for turn in range(1_000_000):
        key = f"/w{number}/{turn}"
        try:
            await storage.commit(Put(key, b"1", expected=0))
            async with record.progress:
                record.keys.append(key)
                record.progress.notify_all()
            await _increment(storage, record)
        except StorageUnavailable:
            continue


async def _increment(storage: Storage, record: Record) -> None:
    while True:
        entry = await storage.get("/count")
        assert entry is not None
        try:
            await storage.commit(Put("/count", str(int(entry.value) + 1).encode(), expected=entry.revision))
        except RevisionConflict:
            continue
        except StorageUnavailable as error:
            record.unknown += error.sent
            raise
        record.counted += 1
        return


@asynccontextmanager
async def _writing(storage: Storage) -> AsyncIterator[Record]:
    await storage.commit(Put("/count", b"0"))
    record = Record()
    tasks = [asyncio.create_task(_write(storage, number, record)) for number in range(WRITERS)]
    try:
        await record.more(COMMITS)
        yield record
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [each for each in results if not isinstance(each, asyncio.CancelledError)] == []


async def _check(storage: Storage, record: Record) -> None:
    """Every acknowledged commit is there."""
    entries = {entry.key: entry for entry in (await storage.list("")).entries}
    assert [key for key in record.keys if key not in entries] == []
    count = int(entries["/count"].value)
    # A cancelled increment at the end may have taken effect as well: one for each writer.
    assert record.counted <= count <= record.counted + record.unknown + WRITERS


async def _leader(cluster: EtcdCluster) -> Member:
    async with asyncio.timeout(100):
        while True:  # on a busy machine, members elect another one at any time
            for member in cluster.members:
                channel = GRPCChannel(Address("127.0.0.1", member.port))
                try:
                    reply = await channel.unary(STATUS.path, b"")
                finally:
                    await channel.close()
                status = message(STATUS.response).FromString(reply.message)
                if status.leader == status.header.member_id:
                    return member


def _kill(cluster: EtcdCluster, member: Member) -> None:
    member.kill()


def _pause(cluster: EtcdCluster, member: Member) -> None:
    member.pause()


def _cut(cluster: EtcdCluster, member: Member) -> None:
    cluster.cut(member)


def _repair(cluster: EtcdCluster, member: Member, fault: Fault) -> None:
    if fault is _kill:
        member.start()
    elif fault is _pause:
        member.resume()
    else:
        cluster.heal()


@pytest.mark.parametrize("fault", [_kill, _pause, _cut])
async def test_nothing_acknowledged_is_lost_when_the_leader_fails(three_members: EtcdCluster, fault: Fault) -> None:
    timeouts = CallTimeouts(attempt=1.5, total=20)
    storage = await EtcdStorage.open(three_members.url, timeouts=timeouts)
    try:
        async with _writing(storage) as record:
            leader = await _leader(three_members)
            fault(three_members, leader)
            await record.more(COMMITS)
            _repair(three_members, leader, fault)
            await record.more(COMMITS)
        await _check(storage, record)
    finally:
        await storage.close()
    fresh = await EtcdStorage.open(three_members.url, timeouts=timeouts)
    try:
        await _check(fresh, record)
    finally:
        await fresh.close()


async def test_a_member_that_is_cut_off_serves_no_stale_read(three_members: EtcdCluster) -> None:
    leader = await _leader(three_members)
    others = [member for member in three_members.members if member is not leader]
    timeouts = CallTimeouts(attempt=1.0, total=2.0)
    behind = await EtcdStorage.open(f"etcd://{leader.endpoint}", timeouts=timeouts)
    ahead = await EtcdStorage.open("etcd://" + ",".join(member.endpoint for member in others))
    try:
        revision = await behind.commit(Put("/a", b"old"))
        three_members.cut(leader)
        await ahead.commit(Put("/a", b"new", expected=revision))
        with pytest.raises(StorageUnavailable, match="no member of etcd answers"):
            await behind.get("/a")
        with pytest.raises(StorageUnavailable) as caught:
            await behind.commit(Put("/b", b"1", expected=0))
        assert caught.value.sent
        three_members.heal()
        await _recovered(behind)
        entry = await behind.get("/a")
        assert entry is not None
        assert entry.value == b"new"
    finally:
        await behind.close()
        await ahead.close()


async def _recovered(storage: Storage) -> None:
    async with asyncio.timeout(100):
        while True:
            try:
                return await storage.check()
            except StorageUnavailable:
                continue
