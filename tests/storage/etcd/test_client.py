"""Calls of etcd's members, with responses that the tests give."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pilotage.errors import ConnectionLost, StorageError, StorageUnavailable
from pilotage.grpc.rpc import Code, RPCError
from pilotage.storage.etcd.address import parse_address
from pilotage.storage.etcd.client import CallTimeouts, EtcdClient
from pilotage.storage.etcd.messages import AUTHENTICATE, RANGE, TXN, Method, message

Reply = Callable[[int, Method, str], bytes]


class _Client(EtcdClient):
    """Calls `reply` with the member, the method and the token, instead of a server."""

    def __init__(self, url: str, reply: Reply) -> None:
        super().__init__(parse_address(url), CallTimeouts(attempt=1, total=5))
        self._reply = reply

    async def _send(self, member: int, method: Method, data: bytes, left: float) -> bytes:
        token = self._metadata.get("token", "")
        await asyncio.sleep(0.001)
        return self._reply(member, method, token)


def _token(text: str) -> bytes:
    data: bytes = message(AUTHENTICATE.response)(token=text).SerializeToString()
    return data


@pytest.mark.virtual_time
async def test_a_user_is_authenticated_by_another_member_when_one_does_not_answer() -> None:
    def reply(member: int, method: Method, token: str) -> bytes:
        if member == 0:
            raise ConnectionLost("refused", sent=False)
        return _token("new")

    client = _Client("etcd://user:secret@a,b", reply)
    await client.authenticate()
    assert client.member == 1


@pytest.mark.virtual_time
async def test_callers_whose_token_expires_at_the_same_time_renew_it_once() -> None:
    renewals: list[int] = []

    def reply(member: int, method: Method, token: str) -> bytes:
        if method is AUTHENTICATE:
            renewals.append(member)
            return _token("new")
        if token != "new":
            raise RPCError(Code.UNAUTHENTICATED, "etcdserver: invalid auth token")
        return b""

    client = _Client("etcd://user:secret@a", reply)
    await asyncio.gather(*(client.call(RANGE, message("RangeRequest")()) for _ in range(20)))
    assert renewals == [0]


@pytest.mark.virtual_time
async def test_a_refused_repetition_does_not_say_that_nothing_was_written() -> None:
    errors = [ConnectionLost("reset", sent=True), RPCError(Code.RESOURCE_EXHAUSTED, "database space exceeded")]

    def reply(member: int, method: Method, token: str) -> bytes:
        raise errors.pop(0)

    client = _Client("etcd://a,b", reply)
    with pytest.raises(StorageUnavailable, match="whether the commit took effect is not known") as caught:
        await client.call(TXN, message("TxnRequest")(), writes=True)
    assert caught.value.sent


@pytest.mark.virtual_time
async def test_a_refused_token_for_a_repetition_does_not_say_that_nothing_was_written() -> None:
    """The tokens of a member are lost when it restarts, and the password was changed meanwhile."""
    errors = [
        ConnectionLost("reset", sent=True),
        RPCError(Code.UNAUTHENTICATED, "etcdserver: invalid auth token"),
        RPCError(Code.INVALID_ARGUMENT, "authentication failed, invalid user ID or password"),
    ]

    def reply(member: int, method: Method, token: str) -> bytes:
        raise errors.pop(0)

    client = _Client("etcd://user:secret@a,b", reply)
    with pytest.raises(StorageUnavailable, match="whether the commit took effect is not known") as caught:
        await client.call(TXN, message("TxnRequest")(), writes=True)
    assert caught.value.sent


@pytest.mark.virtual_time
async def test_a_closed_client_does_not_try_again() -> None:
    calls: list[int] = []

    def reply(member: int, method: Method, token: str) -> bytes:
        calls.append(member)
        raise ConnectionLost("the channel is closed", sent=False)

    client = _Client("etcd://a,b", reply)
    await client.close()
    with pytest.raises(StorageError):
        await client.call(RANGE, message("RangeRequest")())
    assert calls == [0]
