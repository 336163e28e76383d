"""Who may read and who may write, by what the kernel says about the other end of a connection.

The file's mode decides who can connect; this is the second door, and the only one where somebody opened the first.
Read covers every call that changes nothing, write covers all calls.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass

from pilotage.grpc.rpc import Code, Peer, RPCError

_READING = ("Get", "List", "Watch", "Check", "ServerReflectionInfo")
"""How the names of methods begin that change nothing: of every kind's service, of health and of reflection."""


class Remote(enum.Enum):
    """What callers may do who are not on a Unix socket, where the kernel says nothing about them."""

    REFUSED = "refused"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Access:
    """Roles by uid and gid. Root and the server's own user may always write; a writer may also read.

    A gid counts as the caller's own or as one of its supplementary groups. Beware of 65534: that is also how every user
    looks whom this user namespace does not know.
    """

    read_uids: frozenset[int] = frozenset()
    read_gids: frozenset[int] = frozenset()
    write_uids: frozenset[int] = frozenset()
    write_gids: frozenset[int] = frozenset()
    remote: Remote = Remote.REFUSED
    own_uid: int = -1
    """The server's user; the default is whoever runs this process."""

    @classmethod
    def of_socket_group(cls, group: int | None = None) -> Access:
        """The default: the members of the socket's group (this process's, where it was given none) may read."""
        return cls(read_gids=frozenset({os.getegid() if group is None else group}))

    def admit(self, peer: Peer) -> None:
        """Let somebody in who has a role. Raises RPCError (PERMISSION_DENIED) for all others."""
        if not self.allows_read(peer):
            advice = "ask for its user or group to be allowed to read (--allow-read-uid, --allow-read-gid)"
            raise RPCError(Code.PERMISSION_DENIED, f"{described(peer)} may neither read nor write here: {advice}")

    def allows_read(self, peer: Peer) -> bool:
        """Whether somebody may make the calls that change nothing."""
        if peer.uid < 0:
            return self.remote is not Remote.REFUSED
        return peer.uid in self.read_uids or _is_member(peer, self.read_gids) or self.allows_write(peer)

    def allows_write(self, peer: Peer) -> bool:
        """Whether somebody may make every call."""
        if peer.uid < 0:
            return self.remote is Remote.WRITE
        own = os.geteuid() if self.own_uid < 0 else self.own_uid
        return peer.uid in (0, own) or peer.uid in self.write_uids or _is_member(peer, self.write_gids)

    def allows(self, peer: Peer, method: str) -> bool:
        """Whether somebody may call a method, by its name (`ListGpus`). What is not known to read is a write."""
        return self.allows_read(peer) if method.startswith(_READING) else self.allows_write(peer)


def described(peer: Peer) -> str:
    """Who it is, for a message and for the log. The pid is a hint: it may be another's by now."""
    if peer.uid < 0:
        return f"the caller at {peer.address or 'an unknown address'}"
    return f"uid {peer.uid}, gid {peer.gid}" + (f" (pid {peer.pid})" if peer.pid else "")


def _is_member(peer: Peer, gids: frozenset[int]) -> bool:
    return peer.gid in gids or not gids.isdisjoint(peer.groups)
