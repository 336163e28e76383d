"""Peers: their users as the kernel reports them, and one account for each user."""

from __future__ import annotations

import asyncio
import os
import socket

from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Accounts, peer_of
from pilotage.grpc.rpc import Peer


def test_the_credentials_of_the_peer_come_from_the_kernel() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        peer = peer_of(ours)
    assert (peer.uid, peer.gid, peer.pid) == (os.geteuid(), os.getegid(), os.getpid())
    assert set(peer.groups) <= {*os.getgroups(), os.getegid()}


def test_a_peer_over_tcp_has_an_address_and_no_uid() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        accepted, _ = listener.accept()
        with accepted:
            assert peer_of(accepted) == Peer(address=f"127.0.0.1:{one.getsockname()[1]}")


async def test_those_of_one_uid_or_one_address_share_an_account() -> None:
    accounts = Accounts(ServerOptions(), asyncio.get_running_loop())
    assert accounts.of(Peer(uid=1, pid=1), 0.0) is accounts.of(Peer(uid=1, pid=2), 0.0)
    assert accounts.of(Peer(uid=1), 0.0) is not accounts.of(Peer(uid=2), 0.0)
    assert accounts.of(Peer(address="10.0.0.1:1"), 0.0) is accounts.of(Peer(address="10.0.0.1:2"), 0.0)
    assert accounts.of(Peer(address="10.0.0.1:1"), 0.0) is not accounts.of(Peer(address="10.0.0.2:1"), 0.0)


async def test_accounts_of_who_has_gone_are_forgotten_but_not_of_who_is_there_or_waits() -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()  # may be small: it counts from the machine's start
    accounts = Accounts(ServerOptions(), loop)
    here = accounts.of(Peer(uid=0), now - 3000)
    here.connections = 1
    for uid in range(1, 3000):
        accounts.of(Peer(uid=uid), now - 3000 + uid)
    hasty = accounts.of(Peer(uid=5000), now)
    assert hasty.requests is not None
    hasty.requests.take(now)
    for uid in range(6000, 9000):
        accounts.of(Peer(uid=uid), now)
    assert accounts.of(Peer(uid=0), now) is here
    assert accounts.of(Peer(uid=5000), now) is hasty
    assert len(accounts._accounts) < 5000
