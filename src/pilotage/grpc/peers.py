"""The peer of an accepted socket, and the account of each user: connections, rates, CPU time."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pilotage.grpc.options import ServerOptions
from pilotage.grpc.rpc import Peer
from pilotage.meta.bounds.tokenbucket import TokenBucket
from pilotage.net.cpushare import CPUShare
from pilotage.net.sockets import address_text

Turn = Callable[[], object]
_OVERHEAD = 50e-6  # seconds of a turn outside the measured part: the loop's wake-up, the read, a timer
_CREDENTIALS = struct.Struct("iII")  # uid and gid are unsigned: -1 stands for an unknown one
_PEERGROUPS = 59  # SO_PEERGROUPS, for which Python has no name
_GROUPS_BYTES = 1024  # the largest getsockopt of Python: 256 groups
_ACCOUNTS = 1024
_TIME_BURST = 0.002  # seconds


def peer_of(accepted: socket.socket) -> Peer:
    """The peer as the kernel recorded it at connect. Raises OSError if it has disconnected."""
    if accepted.family != socket.AF_UNIX:
        return Peer(address=address_text(*accepted.getpeername()[:2]))
    if not hasattr(socket, "SO_PEERCRED"):
        return Peer(address="unix")
    raw = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    return Peer(uid=uid, gid=gid, pid=pid, groups=_groups(accepted), address=f"unix:pid={pid}")


def _groups(accepted: socket.socket) -> tuple[int, ...]:
    if not sys.platform.startswith("linux"):
        return ()
    try:
        raw = accepted.getsockopt(socket.SOL_SOCKET, _PEERGROUPS, _GROUPS_BYTES)
    except OSError:  # more groups, or a kernel before 4.13
        return ()
    return struct.unpack(f"{len(raw) // 4}I", raw)


@dataclass(slots=True)
class Account:
    """The state of one user: all connections of a uid."""

    requests: TokenBucket | None
    connects: TokenBucket | None
    turns: FairQueue | None = None
    """The queue in which the connections wait when the user's share of CPU time is used up."""
    connections: int = 0
    processes: Counter[int] = field(default_factory=Counter)
    """Connections by pid. The kernel reports none for a process in another pid namespace."""
    logged_at: float = field(default=float("-inf"))
    """When a refused or closed connection of this user was logged last."""

    def add_connection(self, pid: int) -> None:
        self.connections += 1
        self.processes[pid] += 1

    def remove_connection(self, pid: int) -> None:
        self.connections -= 1
        self.processes[pid] -= 1
        if not self.processes[pid]:
            del self.processes[pid]


class Accounts:
    """One account for each uid; for each address if there is no uid."""

    def __init__(self, options: ServerOptions, loop: asyncio.AbstractEventLoop) -> None:
        self._options = options
        self._loop = loop
        self._accounts: dict[str, Account] = {}

    def of(self, peer: Peer, now: float) -> Account:
        key = peer.account
        account = self._accounts.get(key)
        if account is None:
            if len(self._accounts) >= _ACCOUNTS:
                self._purge(now)
            account = self._accounts[key] = self._new(now)
        return account

    def _new(self, now: float) -> Account:
        options = self._options
        requests = options.requests_per_second
        connects = options.connects_per_second
        share = options.receive_share
        return Account(
            TokenBucket(requests, options.request_burst, now) if requests else None,
            TokenBucket(connects, options.connect_burst, now) if connects else None,
            FairQueue(self._loop, CPUShare(share, _TIME_BURST, now)) if requests and share else None,
        )

    def _purge(self, now: float) -> None:
        """Remove accounts without connections whose limits are back at their start."""
        for key, account in list(self._accounts.items()):
            buckets = (account.requests, account.connects)
            is_full = all(bucket is None or bucket.is_full(now) for bucket in buckets)
            if is_full and not account.connections and (account.turns is None or account.turns.free()):
                del self._accounts[key]


class FairQueue:
    """The queue of one user's connections: they are processed in turn, within the user's share of CPU time. It has one
    timer: a connection that waits costs nothing until its turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, share: CPUShare) -> None:
        self._loop = loop
        self._share = share
        self._waiting: dict[Turn, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def free(self) -> bool:
        """Whether a connection may be processed at once."""
        return not self._waiting and not self._share.wait(self._loop.time())

    def spend(self, seconds: float) -> None:
        """Charge the CPU time of a turn."""
        self._share.spend(seconds + _OVERHEAD)

    def join(self, turn: Turn) -> None:
        """Call `turn` after those that wait already, when CPU time is available."""
        self._waiting[turn] = None
        if self._timer is None:
            self._schedule()

    def leave(self, turn: Turn) -> None:
        """Remove `turn` from the queue."""
        self._waiting.pop(turn, None)

    def _schedule(self) -> None:
        self._timer = self._loop.call_later(self._share.wait(self._loop.time()), self._run_next)

    def _run_next(self) -> None:
        try:
            for turn in self._waiting:
                del self._waiting[turn]
                turn()
                break
        finally:
            self._timer = None
            if self._waiting:
                self._schedule()
