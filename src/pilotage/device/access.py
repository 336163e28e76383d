"""Roles of callers, by the credentials that the kernel reports for a connection.

The mode of the socket file decides who can connect; roles are checked for each call in addition. Read covers every call
that changes nothing, write covers all calls.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass

from pilotage.grpc.rpc import Code, Peer, RPCError

_READING = ("Get", "List", "Watch", "Check", "ServerReflectionInfo")
"""Prefixes of the methods that change nothing: of every kind's service, of health and of reflection."""


class RemoteRole(enum.Enum):
    """The role of callers over TCP, for whom the kernel reports no credentials."""

    REFUSED = "refused"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Access:
    """Roles by uid and gid. Root and the server's own user may always write; a writer may also read.

    A gid matches the caller's own or one of its supplementary groups. Do not list 65534: every user that is not mapped
    into this user namespace has it.
    """

    read_uids: frozenset[int] = frozenset()
    read_gids: frozenset[int] = frozenset()
    write_uids: frozenset[int] = frozenset()
    write_gids: frozenset[int] = frozenset()
    remote: RemoteRole = RemoteRole.REFUSED
    own_uid: int = -1
    """The server's user; by default the user of this process."""

    @classmethod
    def of_socket_group(cls, group: int | None = None) -> Access:
        """The default: the members of the socket's group (this process's, where it was given none) may read."""
        return cls(read_gids=frozenset({os.getegid() if group is None else group}))

    def admit(self, peer: Peer) -> None:
        """Admit a connection. Raises RPCError (PERMISSION_DENIED) for a caller without a role."""
        if not self.allows_read(peer):
            advice = "allow its user or group to read (--allow-read-uid, --allow-read-gid)"
            raise RPCError(Code.PERMISSION_DENIED, f"{described(peer)} has no role on this server: {advice}")

    def allows_read(self, peer: Peer) -> bool:
        """Whether the caller may make calls that change nothing."""
        if peer.uid < 0:
            return self.remote is not RemoteRole.REFUSED
        return peer.uid in self.read_uids or _is_member(peer, self.read_gids) or self.allows_write(peer)

    def allows_write(self, peer: Peer) -> bool:
        """Whether the caller may make all calls."""
        if peer.uid < 0:
            return self.remote is RemoteRole.WRITE
        own = os.geteuid() if self.own_uid < 0 else self.own_uid
        return peer.uid in (0, own) or peer.uid in self.write_uids or _is_member(peer, self.write_gids)

    def allows(self, peer: Peer, method: str) -> bool:
        """Whether the caller may call a method, by its name (`ListGpus`). Unknown methods need the role write."""
        return self.allows_read(peer) if method.startswith(_READING) else self.allows_write(peer)


def described(peer: Peer) -> str:
    """A caller, for messages and logs. The pid is a hint: it may belong to another process by now."""
    if peer.uid < 0:
        return f"the caller at {peer.address or 'an unknown address'}"
    return f"uid {peer.uid}, gid {peer.gid}" + (f" (pid {peer.pid})" if peer.pid else "")


def _is_member(peer: Peer, gids: frozenset[int]) -> bool:
    return peer.gid in gids or not gids.isdisjoint(peer.groups)
