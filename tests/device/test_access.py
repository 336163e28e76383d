"""Roles by uid and gid."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.access import Access, RemoteRole
from pilotage.grpc.rpc import Code, Peer, RPCError

READS = ["GetGpu", "ListGpus", "WatchGpus", "Check", "Watch", "ServerReflectionInfo"]
WRITES = [
    "CreateGpu",
    "UpdateGpu",
    "UpdateGpuStatus",
    "PatchGpu",
    "DeleteGpu",
    "Heartbeat",
    "RegisterGpu",
    "",
    "Anything",
]

ids = st.integers(0, 8)
sets = st.frozensets(ids, max_size=3)
peers = st.builds(Peer, uid=st.integers(-1, 8), gid=ids, groups=st.lists(ids, max_size=3).map(tuple))
accesses = st.builds(Access, sets, sets, sets, sets, st.sampled_from(RemoteRole), own_uid=ids)


def admits(access: Access, peer: Peer) -> bool:
    try:
        access.admit(peer)
    except RPCError:
        return False
    return True


@pytest.mark.parametrize("access", [Access(), Access.of_socket_group(), Access.of_socket_group(5000)])
def test_root_and_the_servers_own_user_may_write(access: Access) -> None:
    assert access.allows_write(Peer(uid=0, gid=1))
    assert access.allows_write(Peer(uid=os.geteuid(), gid=1))


def test_by_default_only_the_group_of_the_socket_may_read() -> None:
    access = Access.of_socket_group(5000)
    assert admits(access, Peer(uid=1000, gid=5000))
    assert admits(access, Peer(uid=1000, gid=1, groups=(4, 5000)))
    assert not access.allows_write(Peer(uid=1000, gid=5000))
    assert not admits(access, Peer(uid=65534, gid=65534))


def test_without_a_group_it_is_that_of_the_process() -> None:
    assert Access.of_socket_group().read_gids == {os.getegid()}


@pytest.mark.parametrize("peer", [Peer(uid=7, gid=1), Peer(uid=1, gid=8), Peer(uid=1, gid=1, groups=(3, 8))])
def test_a_writer_by_uid_or_group_may_do_everything(peer: Peer) -> None:
    access = Access(write_uids=frozenset({7}), write_gids=frozenset({8}), own_uid=99)
    assert all(access.allows(peer, method) for method in READS + WRITES)
    assert admits(access, peer)


@pytest.mark.parametrize("peer", [Peer(uid=7, gid=1), Peer(uid=1, gid=8), Peer(uid=1, gid=1, groups=(3, 8))])
def test_a_reader_by_uid_or_group_may_read_only(peer: Peer) -> None:
    access = Access(read_uids=frozenset({7}), read_gids=frozenset({8}), own_uid=99)
    assert [method for method in READS + WRITES if access.allows(peer, method)] == READS


@pytest.mark.parametrize(
    ("remote", "allowed"), [(RemoteRole.REFUSED, []), (RemoteRole.READ, READS), (RemoteRole.WRITE, READS + WRITES)]
)
def test_a_caller_without_credentials_has_the_configured_role(remote: RemoteRole, allowed: list[str]) -> None:
    access, peer = Access(remote=remote), Peer(address="127.0.0.1:4711")
    assert [method for method in READS + WRITES if access.allows(peer, method)] == allowed
    assert admits(access, peer) == bool(allowed)


def test_a_refusal_has_what_the_server_saw() -> None:
    with pytest.raises(
        RPCError, match=r"^uid 65534, gid 65533 \(pid 12\) has no role on this server: .*--allow-read-uid"
    ) as raised:
        Access(own_uid=1).admit(Peer(uid=65534, gid=65533, pid=12))
    assert raised.value.code is Code.PERMISSION_DENIED
    with pytest.raises(RPCError, match=r"^the caller at 127\.0\.0\.1:4711 has no role"):
        Access().admit(Peer(address="127.0.0.1:4711"))


@given(accesses, peers)
def test_who_may_write_may_read_and_who_may_read_gets_in(access: Access, peer: Peer) -> None:
    assert not access.allows_write(peer) or access.allows_read(peer)
    assert admits(access, peer) == access.allows_read(peer)


@given(accesses, peers, ids)
def test_the_pid_and_the_order_of_groups_change_nothing(access: Access, peer: Peer, pid: int) -> None:
    other = Peer(peer.uid, peer.gid, pid, peer.groups[::-1])
    assert (access.allows_read(peer), access.allows_write(peer)) == (
        access.allows_read(other),
        access.allows_write(other),
    )
