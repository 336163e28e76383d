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
from pilotage.meta.bounds.backoff import backoff
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field

from .address import EtcdAddress
from .errors import (
    AUTHENTICATION_DISABLED,
    WRONG_PASSWORD,
    refused_before_proposal,
    token_expired,
    transient,
    translate,
)
from .messages import AUTHENTICATE, WATCH, Method, message

_MESSAGE_BYTES = 400 << 20  # a page of 200 values of the largest size
_KEEPALIVE_SECONDS = 10.0  # etcd closes connections with more than one PING in 5 s
_KEEPALIVE_TIMEOUT = 3.0
_FIRST_PAUSE = 0.05  # after no member answered; doubles up to _LONGEST_PAUSE
_LONGEST_PAUSE = 1.0
_SHORTEST_ATTEMPT = 0.1


@dataclass(frozen=True, slots=True)
class CallTimeouts:
    """How long a call may take, in seconds."""

    attempt: SecondsField = seconds_field(3.0)
    """On one member: longer than an election takes."""
    total: SecondsField = seconds_field(10.0)
    """On all members together."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class CallResponse:
    """The response to a call."""

    message: Any
    uncertain: bool
    """Whether an earlier attempt of the same call may have taken effect: its response was lost."""


class EtcdClient:
    """One channel for each member. All calls go to one of them, until it fails."""

    def __init__(self, address: EtcdAddress, timeouts: CallTimeouts) -> None:
        self.address = address
        self.timeouts = timeouts
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
        self._renewing = asyncio.Lock()
        self._closed = False
        self.member = 0
        """The number of the member that is called now."""
        self.failure = "it is slow"
        """Why the last failed call has failed."""

    async def call(self, method: Method, request: Any, *, writes: bool = False) -> CallResponse:
        """Call a method on any member. Raises StorageError; StorageUnavailable if no member answers in time.

        A call that may have taken effect is sent again, too: every commit takes effect once, even if it is sent several
        times.
        """
        data = request.SerializeToString()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeouts.total
        uncertain = renewed = False
        for attempt in count(1):
            member, metadata = self.member, self._metadata
            try:
                reply = await self._send(member, method, data, deadline - loop.time())
            except (ConnectionLost, RPCError) as error:
                if isinstance(error, RPCError):
                    if token_expired(error) and self._has_token(method) and not renewed:
                        renewed = True
                        try:
                            await self._renew(metadata)
                        except StorageError as failure:
                            if uncertain:
                                raise self._unavailable(failure, sent=True) from failure
                            raise
                        continue
                    if not transient(error):
                        # That nothing was written is known of the last attempt only.
                        raise self._unavailable(error, sent=True) if uncertain else self._refusal(error) from error
                self.failure = str(error)
                uncertain = uncertain or (writes and _may_have_arrived(error))
                if loop.time() >= deadline or self._closed:
                    raise self._unavailable(error, sent=uncertain) from error
            else:
                return CallResponse(message(method.response).FromString(reply), uncertain)
            # Before the pause: other callers need not find out by themselves that this member does not answer.
            self.fail_over(member)
            if attempt % len(self._channels) == 0:
                await asyncio.sleep(pause(attempt // len(self._channels)))
        raise AssertionError("unreachable: the loop returns or raises")

    async def authenticate(self) -> None:
        """Exchange user and password for a token, on any member."""
        user, password = self.address.user, self.address.password
        try:
            answer = await self.call(AUTHENTICATE, message("AuthenticateRequest")(name=user, password=password))
        except _AuthenticationDisabled:
            return
        self._metadata = {**self._metadata, "token": answer.message.token}

    async def _renew(self, expired: Mapping[str, str]) -> None:
        """Callers whose token expires at the same time renew it once: etcd hashes the password each time."""
        async with self._renewing:
            if self._metadata is expired:
                await self.authenticate()

    def _has_token(self, method: Method) -> bool:
        return bool(self.address.user) and method is not AUTHENTICATE

    def _refusal(self, error: RPCError) -> StorageError:
        """The error of a call that etcd refuses, and that another attempt does not help."""
        if error.code is Code.FAILED_PRECONDITION and AUTHENTICATION_DISABLED in error.message:
            return _AuthenticationDisabled(error.message)
        if error.code is Code.INVALID_ARGUMENT and WRONG_PASSWORD in error.message:
            return StorageError(
                f"{self.address}: etcd does not accept the user {self.address.user!r} with this password"
            )
        return translate(error, str(self.address))

    def watch(self, member: int) -> AbstractAsyncContextManager[OutgoingCall]:
        """The stream of watches on a member."""
        return self._channels[member].bidi(WATCH, metadata=self._metadata)

    def fail_over(self, member: int) -> None:
        """Use the next member from now on, unless another caller has done so already."""
        if self.member == member:
            self.member = (member + 1) % len(self._channels)

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(channel.close() for channel in self._channels))

    async def _send(self, member: int, method: Method, data: bytes, left: float) -> bytes:
        channel, timeout = self._channels[member], min(self.timeouts.attempt, max(left, _SHORTEST_ATTEMPT))
        reply = await channel.unary(method.path, data, metadata=self._metadata, timeout=timeout)
        return reply.message

    def _unavailable(self, error: Exception, *, sent: bool) -> StorageUnavailable:
        fate = "; whether the commit took effect is not known" if sent else ""
        return StorageUnavailable(f"{self.address}: no member of etcd answers: {error}{fate}", sent=sent)


def pause(failures: int) -> float:
    """How long to wait after this many failures in a row."""
    return backoff(failures - 1, _FIRST_PAUSE, _LONGEST_PAUSE)


def _may_have_arrived(error: ConnectionLost | RPCError) -> bool:
    return error.sent if isinstance(error, ConnectionLost) else not refused_before_proposal(error)


class _AuthenticationDisabled(StorageError):
    """This etcd has no users."""
