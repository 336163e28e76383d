"""Calls of etcd's members: the next member when one does not answer, and a new token when the old one has expired."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count
from typing import Any

from pilotage.errors import ConnectionLost, StorageError, StorageUnavailable
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.options import ChannelOptions
from pilotage.grpc.outgoingcall import OutgoingCall
from pilotage.grpc.rpc import Code, RPCError

from .address import EtcdAddress
from .errors import refused_before_proposal, token_expired, transient, translate
from .messages import AUTHENTICATE, WATCH, Method, message

_MESSAGE_BYTES = 400 << 20  # a page of 200 values of the largest size
_KEEPALIVE_SECONDS = 10.0  # etcd closes connections with more than one PING in 5 s
_KEEPALIVE_TIMEOUT = 3.0
_FIRST_PAUSE = 0.05  # after no member answered; doubles up to _LONGEST_PAUSE
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may take, in seconds."""

    attempt: float = 3.0
    """On one member: longer than an election takes."""
    total: float = 10.0
    """On all members together."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a call."""

    message: Any
    uncertain: bool
    """Whether an earlier attempt of the same call may have taken effect: its response was lost."""


class EtcdClient:
    """One channel for each member. All calls go to one of them, until it fails."""

    def __init__(self, address: EtcdAddress, patience: Patience) -> None:
        self.address = address
        self.patience = patience
        options = ChannelOptions(
            ssl=address.ssl(),
            server_name=address.server_name,
            unreachable_hint="start etcd there, or use another address",
            message_bytes=_MESSAGE_BYTES,
            keepalive_seconds=_KEEPALIVE_SECONDS,
            keepalive_timeout=_KEEPALIVE_TIMEOUT,
        )
        self._channels = [GRPCChannel(endpoint, options) for endpoint in address.endpoints]
        # A member without a leader refuses calls with this at once, instead of waiting for one.
        self._metadata: Mapping[str, str] = {"hasleader": "true"}
        self.member = 0
        """The number of the member that is called now."""

    async def call(self, method: Method, request: Any, *, writes: bool = False, repeatable: bool = True) -> Answer:
        """Call a method on any member. Raises StorageError; StorageUnavailable if no member answers in time.

        `repeatable` False: a call that may have taken effect is not sent again.
        """
        data = request.SerializeToString()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience.total
        uncertain = renewed = False
        for attempt in count(1):
            member = self.member
            try:
                reply = await self._send(member, method, data)
            except (ConnectionLost, RPCError) as error:
                if isinstance(error, RPCError):
                    if token_expired(error) and self.address.user and not renewed:
                        renewed = True
                        await self.authenticate()
                        continue
                    if not transient(error):
                        raise translate(error, str(self.address)) from error
                uncertain = uncertain or (writes and _may_have_arrived(error))
                if (uncertain and not repeatable) or loop.time() >= deadline:
                    raise self._unavailable(error, sent=uncertain) from error
            else:
                return Answer(message(method.response).FromString(reply), uncertain)
            self.fail_over(member)
            if attempt % len(self._channels) == 0:
                await asyncio.sleep(pause(attempt // len(self._channels)))
        raise AssertionError("the loop above has no end")

    async def authenticate(self) -> None:
        """Exchange user and password for a token."""
        address = self.address
        request = message("AuthenticateRequest")(name=address.user, password=address.password)
        try:
            reply = await self._send(self.member, AUTHENTICATE, request.SerializeToString())
        except RPCError as error:
            if error.code is Code.INVALID_ARGUMENT:
                raise StorageError(
                    f"{address}: etcd does not accept the user {address.user!r} with this password"
                ) from (error)
            if error.code is Code.FAILED_PRECONDITION:  # authentication is not enabled there
                return
            raise translate(error, str(address)) from error
        except ConnectionLost as error:
            raise self._unavailable(error, sent=False) from error
        token = message(AUTHENTICATE.response).FromString(reply).token
        self._metadata = {**self._metadata, "token": token}

    def watch(self, member: int) -> AbstractAsyncContextManager[OutgoingCall]:
        """The stream of watches on a member."""
        return self._channels[member].bidi(WATCH, metadata=self._metadata)

    def fail_over(self, member: int) -> None:
        """Use the next member from now on, unless another caller has done so already."""
        if self.member == member:
            self.member = (member + 1) % len(self._channels)

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    async def _send(self, member: int, method: Method, data: bytes) -> bytes:
        channel = self._channels[member]
        reply = await channel.unary(method.path, data, metadata=self._metadata, timeout=self.patience.attempt)
        return reply.message

    def _unavailable(self, error: Exception, *, sent: bool) -> StorageUnavailable:
        fate = "; whether the commit took effect is not known" if sent else ""
        return StorageUnavailable(f"{self.address}: no member of etcd answers: {error}{fate}", sent=sent)


def pause(failures: int) -> float:
    """How long to wait after so many failures in a row."""
    return min(_FIRST_PAUSE * 2.0 ** min(failures - 1, 10), _LONGEST_PAUSE)


def _may_have_arrived(error: ConnectionLost | RPCError) -> bool:
    return error.sent if isinstance(error, ConnectionLost) else not refused_before_proposal(error)
