"""Storage on a real etcd: with several programs, foreign keys in the same etcd, users and TLS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.members import EtcdCluster, etcd_cluster
from hack.cluster.running import binaries
from pilotage.errors import Compacted, RevisionConflict, StorageBroken, StorageError, StorageFull, StorageUnavailable
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.dialer import Address
from pilotage.http.certificates import authority, issue
from pilotage.meta.protobuf.wire import write_varint
from pilotage.storage import Delete, Put, open_storage
from pilotage.storage.etcd import EtcdStorage
from pilotage.storage.etcd.client import CallResponse, CallTimeouts, EtcdClient
from pilotage.storage.etcd.messages import COMPACT, RANGE, STATUS, TXN, Method, message
from pilotage.storage.etcd.transactions import deletion

pytestmark = pytest.mark.cluster


@asynccontextmanager
async def _open(url: str) -> AsyncIterator[EtcdStorage]:
    storage = await EtcdStorage.open(url)
    try:
        yield storage
    finally:
        await storage.close()


async def _call(cluster: EtcdCluster, path: str, data: bytes) -> bytes:
    channel = GRPCChannel(Address("127.0.0.1", cluster.members[0].port))
    try:
        return (await channel.unary(path, data, timeout=60)).message
    finally:
        await channel.close()


async def _put(cluster: EtcdCluster, key: bytes) -> None:
    """As another program writes."""
    request = message("TxnRequest")()
    put = request.success.add().request_put
    put.key, put.value = key, b"1"
    await _call(cluster, TXN.path, request.SerializeToString())


async def test_keys_are_where_etcdctl_shows_them(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/layout") as storage:
        revision = await storage.commit(Put("/default/core/pods/x", b"{}"))
    request = message("RangeRequest")(key=b"/layout/default/core/pods/x")
    (pair,) = message(RANGE.response).FromString(await _call(etcd, RANGE.path, request.SerializeToString())).kvs
    assert (pair.value, pair.mod_revision, pair.create_revision) == (b"{}", revision, revision)


async def test_a_commit_of_one_program_is_seen_by_the_reads_and_watches_of_another(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/two") as one, _open(f"{etcd.url}/two") as two:
        watch = two.watch("/a", since=two.revision)
        for number in range(20):
            revision = await one.commit(Put(f"/a{number}", b"1"))
            entry = await two.get(f"/a{number}")
            assert entry is not None
            assert entry.revision == revision
        async with asyncio.timeout(60):
            seen: list[str] = []
            while "/a19" not in seen:
                seen += [event.key for event in await anext(watch)]
        assert seen == [f"/a{number}" for number in range(20)]


async def test_commits_of_other_programs_only_move_the_revision(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/gaps") as storage:
        first = await storage.commit(Put("/a", b"1"))
        watch = storage.watch("/", since=first)
        for number in range(5):
            await _put(etcd, f"/gapsother/{number}".encode())
        assert (await storage.list("/")).revision == first + 5
        last = await storage.commit(Put("/a", b"2"))
        assert last == first + 6
        async with asyncio.timeout(60):
            assert [event.revision for event in await anext(watch)] == [last]
        assert [entry.value for entry in (await storage.list("/", revision=first + 3)).entries] == [b"1"]
        await storage.compact(first + 4)
        assert storage.oldest == first + 4
        with pytest.raises(Compacted):
            await storage.list("/", revision=first + 3)


async def test_a_later_run_continues_a_watch_from_the_revision_that_it_saw(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/later") as storage:
        seen = await storage.commit(Put("/a", b"1"))
        await storage.commit(Put("/a", b"2"))
        await storage.commit(Delete("/a"))
    async with _open(f"{etcd.url}/later") as storage, asyncio.timeout(60):
        events = await anext(storage.watch("/", since=seen))
        assert [event.entry and event.entry.value for event in events] == [b"2", None]
        assert [event.previous and event.previous.value for event in events] == [b"1", b"2"]


async def test_a_commit_takes_effect_once_however_often_it_is_sent(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/once") as storage:
        slot = storage._slots.take()
        revision = await storage._send([Put("/a", b"1")], slot)
        assert await storage._send([Put("/a", b"1")], slot) == revision
        assert await storage._send([Put("/a", b"1", expected=0)], slot) == revision
        assert storage.revision == revision
    request = message("RangeRequest")(key=b"/once/", range_end=b"/once0")
    found = message(RANGE.response).FromString(await _call(etcd, RANGE.path, request.SerializeToString())).kvs
    assert [pair.key for pair in found] == [b"/once/a"]  # slots do not stay


async def test_a_commit_needs_no_slot_that_another_program_has_removed(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/removed") as storage:
        await storage.commit(Put("/a", b"1"))
        request = deletion(storage._slots.start, storage._slots.end)
        await _call(etcd, TXN.path, request.SerializeToString())
        revision = await storage.commit(Put("/a", b"2"))
        assert await storage.commit(Put("/a", b"3", expected=revision)) == storage.revision


async def test_a_value_with_a_lifetime_has_a_lease(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/leases") as storage:
        await storage.commit(Put("/a", b"1", lifetime=60), Put("/b", b"1"))
        await storage.commit(Put("/c", b"1", lifetime=60))
    request = message("RangeRequest")(key=b"/leases/", range_end=b"/leases0")
    found = message(RANGE.response).FromString(await _call(etcd, RANGE.path, request.SerializeToString())).kvs
    a, b, c = (pair.lease for pair in found)
    assert a == c != 0
    assert b == 0


async def test_a_large_list_is_read_in_pages(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/pages") as storage:
        for start in range(0, 1000, 100):
            await storage.commit(*(Put(f"/{number:04}", b"x" * 1000) for number in range(start, start + 100)))
    async with _open(f"{etcd.url}/pages") as storage:
        assert len((await storage.list("/")).entries) == 1000


async def test_a_server_without_etcd_is_explained() -> None:
    with pytest.raises(StorageUnavailable, match="connection refused: no server listens there; start etcd there"):
        await EtcdStorage.open("etcd://127.0.0.1:1", timeouts=CallTimeouts(attempt=1, total=0.1))


async def test_an_etcd_that_lost_its_data_is_not_used_any_more() -> None:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    with etcd_cluster(found) as cluster:
        async with _open(cluster.url) as storage:
            for _ in range(5):
                await storage.commit(Put("/a", b"1"))
            cluster.members[0].kill()
            cluster.members[0].start_empty()
            with pytest.raises(StorageBroken, match="it was restored from a backup, or its data was removed"):
                await storage.get("/a")
            with pytest.raises(StorageBroken):
                await storage.commit(Put("/a", b"2"))


async def test_a_user_needs_the_right_password_and_the_permission() -> None:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    with etcd_cluster(found) as cluster:
        await _enable_users(cluster)
        host = cluster.members[0].endpoint
        async with _open(f"etcd://reader:secret@{host}/mine") as storage:
            await storage.commit(Put("/a", b"1"))
        with pytest.raises(StorageError, match="does not accept the user 'reader' with this password"):
            await open_storage(f"etcd://reader:wrong@{host}/mine")
        with pytest.raises(StorageError, match="grant the role the whole prefix"):
            await open_storage(f"etcd://reader:secret@{host}/other")
        with pytest.raises(StorageError, match="etcd requires a user: write etcd://USER:PASSWORD@HOST:PORT"):
            await open_storage(f"etcd://{host}/mine")


async def test_tls_with_a_client_certificate(tmp_path: Path) -> None:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    now = datetime.now(UTC)
    ca = authority(now)
    for name, pair in (("ca", ca), ("tls", issue(ca, "127.0.0.1", now))):
        (tmp_path / f"{name}.crt").write_bytes(pair.certificate)
        (tmp_path / f"{name}.key").write_bytes(pair.key)
    files = [f"--cert-file={tmp_path}/tls.crt", f"--key-file={tmp_path}/tls.key"]
    flags = [*files, f"--trusted-ca-file={tmp_path}/ca.crt", "--client-cert-auth"]
    with etcd_cluster(found, flags=flags, secure=True) as cluster:
        host = cluster.members[0].endpoint
        async with _open(f"etcd://{host}?ca={tmp_path}/ca.crt&cert={tmp_path}/ca.crt&key={tmp_path}/ca.key") as one:
            assert await one.commit(Put("/a", b"1")) == one.revision
        with pytest.raises(StorageUnavailable, match="certificate"):
            await EtcdStorage.open(f"etcd://{host}?tls=true", timeouts=CallTimeouts(attempt=1, total=0.1))


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


async def _enable_users(cluster: EtcdCluster) -> None:
    """The user `reader` with the password `secret` may read and write below /mine/."""
    calls: list[tuple[Method, bytes]] = []

    def auth(name: str, data: bytes = b"") -> None:
        calls.append((Method(f"/etcdserverpb.Auth/{name}", ""), data))

    for user, password in (("root", "root"), ("reader", "secret")):
        auth("UserAdd", _field(1, user.encode()) + _field(2, password.encode()))
    auth("UserGrantRole", _field(1, b"root") + _field(2, b"root"))
    auth("RoleAdd", _field(1, b"mine"))
    permission = b"\x08\x02" + _field(2, b"/mine/") + _field(3, b"/mine0")  # 2: read and write
    auth("RoleGrantPermission", _field(1, b"mine") + _field(2, permission))
    auth("UserGrantRole", _field(1, b"reader") + _field(2, b"mine"))
    auth("AuthEnable")
    for method, data in calls:
        await _call(cluster, method.path, data)


async def test_the_slots_of_a_killed_program_end_with_their_lease(etcd: EtcdCluster) -> None:
    async with _open(f"{etcd.url}/killed") as storage:
        await storage.commit(Put("/a", b"1"))
        await storage.commit(Put("/a", b"2"))
        request = message("RangeRequest")(key=storage._slots.start, range_end=storage._slots.end)
        found = message(RANGE.response).FromString(await _call(etcd, RANGE.path, request.SerializeToString())).kvs
        assert [pair.lease != 0 for pair in found] == [True]
        request = deletion(storage._slots.start, storage._slots.end)  # as the end of the lease does
        await _call(etcd, TXN.path, request.SerializeToString())
        await storage.commit(Put("/a", b"3"))


async def test_a_commit_that_took_the_last_space_of_etcd_has_taken_effect(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Etcd applies it, and reports that there is no space."""
    call = EtcdClient.call

    async def report_no_space(
        client: EtcdClient, method: Method, request: Any, *, writes: bool = False
    ) -> CallResponse:
        answer = await call(client, method, request, writes=writes)
        if method is TXN:
            raise StorageFull("no space")
        return answer

    async with _open(f"{etcd.url}/last") as storage:
        await storage.commit(Put("/a", b"1"))
        with monkeypatch.context() as patched:
            patched.setattr(EtcdClient, "call", report_no_space)
            revision = await storage.commit(Put("/b", b"1"))
            deleted = await storage.commit(Delete("/a"))
            with pytest.raises(StorageFull):
                await storage.commit(Put("/b", b"2", expected=0))
        (entry,) = (await storage.list("")).entries
        assert (entry.key, entry.value, entry.revision) == ("/b", b"1", revision)
        assert deleted == revision + 1 == storage.revision
        assert storage._full


async def test_a_check_whose_response_is_lost_does_not_stand_for_the_next_commit(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While etcd is full, a check writes a slot, to see whether there is space again."""
    call = EtcdClient.call

    async def lose_response(client: EtcdClient, method: Method, request: Any, *, writes: bool = False) -> CallResponse:
        answer = await call(client, method, request, writes=writes)
        if method is TXN:
            raise StorageUnavailable("no member answers", sent=writes)
        return answer

    async with _open(f"{etcd.url}/check") as storage:
        await storage.commit(Put("/a", b"1"))
        storage._full = True
        with monkeypatch.context() as patched:
            patched.setattr(EtcdClient, "call", lose_response)
            with pytest.raises(StorageUnavailable):
                await storage.check()
        revision = await storage.commit(Put("/b", b"1"))
        entry = await storage.get("/b")
        assert entry is not None
        assert entry.revision == revision


async def test_a_commit_that_was_refused_takes_no_effect_when_an_earlier_attempt_arrives_late(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt waits in a member that is paused, and the second one meets a conflict."""
    call = EtcdClient.call
    late: list[bytes] = []

    async def delay_first_attempt(
        client: EtcdClient, method: Method, request: Any, *, writes: bool = False
    ) -> CallResponse:
        answer = await call(client, method, request, writes=writes)
        if method is not TXN or late:
            return answer
        late.append(request.SerializeToString())
        return CallResponse(answer.message, uncertain=True)

    async with _open(f"{etcd.url}/late") as storage, _open(f"{etcd.url}/late") as other:
        revision = await storage.commit(Put("/a", b"1"))
        with monkeypatch.context() as patched:
            patched.setattr(EtcdClient, "call", delay_first_attempt)
            with pytest.raises(RevisionConflict):
                await storage.commit(Put("/a", b"2", expected=0))
        await other.commit(Delete("/a", expected=revision))
        await _call(etcd, TXN.path, late[0])
        assert await storage.get("/a") is None
        await storage.commit(Put("/b", b"1", expected=0))
        assert [entry.key for entry in (await storage.list("")).entries] == ["/b"]


async def test_of_the_commits_that_meet_the_quota_of_etcd_exactly_the_acknowledged_are_stored() -> None:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    acknowledged: set[str] = set()
    with etcd_cluster(found, members=1, flags=["--quota-backend-bytes=2000000"]) as cluster:
        async with _open(cluster.url) as storage:

            async def put(key: str) -> bool:
                try:
                    await storage.commit(Put(key, bytes(8000)))
                except StorageFull:
                    return False
                acknowledged.add(key)
                return True

            for round_ in range(500):
                if not all(await asyncio.gather(*(put(f"/{round_}/{number}") for number in range(16)))):
                    break
            else:
                pytest.fail("etcd has taken 64 MB")
            assert {entry.key for entry in (await storage.list("")).entries} == acknowledged


async def test_an_etcd_without_space_refuses_puts_and_accepts_deletes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    with etcd_cluster(found, members=1, flags=["--quota-backend-bytes=2000000"]) as cluster:
        async with _open(cluster.url) as storage:
            stored: list[str] = []
            with pytest.raises(
                StorageFull, match=r"delete objects \(deletes still succeed\), compact and defragment it"
            ):
                await _fill(storage, stored)
            assert stored
            for name in stored:
                entry = await storage.get(name)
                assert entry is not None
                await storage.commit(Delete(name, expected=entry.revision))
            assert (await storage.list("")).entries == []
            with pytest.raises(RevisionConflict):
                await storage.commit(Delete(stored[0]))
            with pytest.raises(StorageFull):
                await storage.commit(Put("/new", b""))
            with pytest.raises(StorageFull, match="etcdctl alarm disarm"):
                await storage.check()
            compaction = message("CompactionRequest")(revision=storage.revision, physical=True)
            await _call(cluster, COMPACT.path, compaction.SerializeToString())
            await _call(cluster, "/etcdserverpb.Maintenance/Defragment", b"")
            await _disarm(cluster)
            await storage.check()
            await storage.commit(Put("/new", b""))
    assert caplog.text.count("Storage is full") == caplog.text.count("Storage has space again") == 1


async def _disarm(cluster: EtcdCluster) -> None:
    """As `etcdctl alarm disarm`: an AlarmRequest with DEACTIVATE, the member and NOSPACE."""
    status = message(STATUS.response).FromString(await _call(cluster, STATUS.path, b""))
    member = write_varint(status.header.member_id)
    await _call(cluster, "/etcdserverpb.Maintenance/Alarm", b"\x08\x02\x10" + member + b"\x18\x01")


async def _fill(storage: EtcdStorage, stored: list[str]) -> None:
    """Etcd looks at the size of its file, which it writes ten times a second."""
    for number in range(500):
        await storage.commit(Put(f"/{number}", bytes(400_000)))
        stored.append(f"/{number}")
