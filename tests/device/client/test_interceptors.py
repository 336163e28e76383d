"""Interceptors: their order, what they may do, and what the latency log says at which level."""

from __future__ import annotations

import asyncio
import io
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pilotage import device
from pilotage.device.client.interceptors import (
    InterceptedChannel,
    Invocation,
    Invoke,
    LatencyLog,
    Open,
    UnaryInterceptor,
)
from pilotage.device.server.deviceserver import DeviceServer
from pilotage.errors import ConnectionLost, InvalidDefinition
from pilotage.grpc.rpc import Code, Incoming, Reply, RPCError
from pilotage.telemetry.lines import LogEvent
from pilotage.telemetry.logs import Logger, configure_logging, logger

from ..server.fakes import server_options
from .fakes import ScriptedChannel

METHOD = "/nvidia.nvsentinel.v1alpha1.GpuService/GetGpu"


def answering(*answers: Reply | Exception) -> ScriptedChannel:
    left = list(answers)

    def answer(method: str, message: bytes) -> Reply:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return found

    return ScriptedChannel(answer, [([b"a", b"b"], {"k": "v"})])


@contextmanager
def records() -> Iterator[tuple[Logger, list[tuple[str, str, Mapping[str, object]]]]]:
    """A logger, and its records: level, message, fields."""
    found: list[tuple[str, str, Mapping[str, object]]] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert isinstance(record.msg, LogEvent)
            found.append((record.levelname, record.msg.message, record.msg.fields))

    plain = logging.getLogger("tests.interceptors")
    handler = Keeping()
    plain.addHandler(handler)
    plain.setLevel(logging.DEBUG)
    plain.propagate = False
    try:
        yield logger("tests.interceptors"), found
    finally:
        plain.removeHandler(handler)


@pytest.mark.covers("D2")
async def test_interceptors_are_called_in_the_order_in_which_they_were_given() -> None:
    seen: list[str] = []

    def named(name: str) -> object:
        async def interceptor(call: Invocation, proceed: Invoke) -> Reply:
            seen.append(f"{name} before")
            reply = await proceed(call)
            seen.append(f"{name} after")
            return reply

        return interceptor

    channel = InterceptedChannel(answering(Reply(b"x")), [named("a"), named("b")])  # type: ignore[list-item]
    assert (await channel.unary(METHOD, b"")).message == b"x"
    assert seen == ["a before", "b before", "b after", "a after"]


async def test_an_interceptor_changes_the_call_and_the_answer() -> None:
    async def traced(call: Invocation, proceed: Invoke) -> Reply:
        reply = await proceed(call.with_metadata({"x-request-id": "nv-trace-123"}))
        return Reply(reply.message + b"!")

    inner = answering(Reply(b"x"))
    reply = await InterceptedChannel(inner, [traced]).unary(METHOD, b"", metadata={"a": "b"}, timeout=3)
    assert reply.message == b"x!"
    assert inner.sent[0].metadata == {"a": "b", "x-request-id": "nv-trace-123"}
    assert inner.sent[0].timeout == 3


@pytest.mark.covers("D2")
@pytest.mark.parametrize("error", [RPCError(Code.NOT_FOUND, "no"), ConnectionLost("gone", sent=False)])
async def test_an_error_passes_through_unchanged(error: Exception) -> None:
    async def through(call: Invocation, proceed: Invoke) -> Reply:
        return await proceed(call)

    with records() as (log, _), pytest.raises(type(error)) as raised:
        await InterceptedChannel(answering(error), [LatencyLog(log).unary, through]).unary(METHOD, b"")
    assert raised.value is error


async def test_an_interceptor_may_answer_itself() -> None:
    async def mocked(call: Invocation, proceed: Invoke) -> Reply:
        return Reply(b"mine")

    inner = answering(Reply(b"x"))
    assert (await InterceptedChannel(inner, [mocked]).unary(METHOD, b"")).message == b"mine"
    assert inner.sent == []


async def test_stream_interceptors_see_the_opening_and_may_change_what_is_read() -> None:
    seen: list[str] = []

    async def outer(call: Invocation, proceed: Open) -> Incoming:
        seen.append(call.method)
        return await proceed(call.with_metadata({"x": "y"}))

    async def inner(call: Invocation, proceed: Open) -> Incoming:
        seen.append(str(dict(call.metadata)))
        return await proceed(call)

    channel = answering(Reply(b""))
    async with InterceptedChannel(channel, (), [outer, inner]).stream(METHOD, b"") as incoming:
        assert incoming.metadata == {"k": "v"}
        assert [message async for message in incoming] == [b"a", b"b"]
    assert seen == [METHOD, "{'x': 'y'}"]
    assert channel.sent[0].metadata == {"x": "y"}


async def test_an_interceptor_that_returns_no_answer_is_named_with_what_to_return() -> None:
    async def yields(call: Invocation, proceed: Any) -> Any:
        yield await proceed(call)

    async def forgets(call: Invocation, proceed: Any) -> Any:
        await proceed(call)

    async def messages(call: Invocation, proceed: Any) -> Any:
        return (message async for message in await proceed(call))

    for interceptor, what in ((yields, "an async_generator"), (forgets, "None")):
        with pytest.raises(InvalidDefinition) as caught:
            await InterceptedChannel(answering(Reply(b"")), [interceptor]).unary(METHOD, b"")
        assert str(caught.value) == (
            f"the unary interceptor {interceptor.__qualname__} returned {what} in place of a Reply: "
            "write `return await proceed(call)`, or return a Reply of your own"
        )
    for interceptor in (yields, messages):
        with pytest.raises(InvalidDefinition) as caught:
            async with InterceptedChannel(answering(Reply(b"")), (), [interceptor]).stream(METHOD, b""):
                raise AssertionError("the stream was opened")
        assert str(caught.value) == (
            f"the stream interceptor {interceptor.__qualname__} returned an async_generator in place of a stream: "
            "write `return await proceed(call)`, or return an object with the stream's metadata and connection_number "
            "that iterates over its messages"
        )


@pytest.mark.covers("D2")
@pytest.mark.parametrize(
    ("answer", "level", "code"),
    [
        (Reply(b""), "DEBUG", Code.OK),
        (RPCError(Code.CANCELLED, "c"), "DEBUG", Code.CANCELLED),
        (RPCError(Code.DEADLINE_EXCEEDED, "d"), "DEBUG", Code.DEADLINE_EXCEEDED),
        (ConnectionLost("t", timed_out=True), "DEBUG", Code.DEADLINE_EXCEEDED),
        (RPCError(Code.NOT_FOUND, "n"), "ERROR", Code.NOT_FOUND),
        (RPCError(Code.UNAVAILABLE, "u"), "ERROR", Code.UNAVAILABLE),
        (RPCError(Code.INTERNAL, "i"), "ERROR", Code.INTERNAL),
        (ConnectionLost("l"), "ERROR", Code.UNAVAILABLE),
    ],
)
async def test_a_call_is_logged_with_its_method_its_duration_and_its_code(
    answer: Reply | Exception, level: str, code: Code
) -> None:
    with records() as (log, found):
        channel = InterceptedChannel(answering(answer), [LatencyLog(log, "unix:///a.sock").unary])
        with suppress(RPCError, ConnectionLost):
            await channel.unary(METHOD, b"")
    ((said, _, fields),) = found
    assert said == level
    assert (fields["grpc.method"], fields["code"], fields["grpc.target"]) == (METHOD, int(code), "unix:///a.sock")
    assert isinstance(fields["duration"], float)


async def test_a_missing_server_is_an_error_once() -> None:
    lost = ConnectionLost("nobody", sent=False)
    with records() as (log, found):
        channel = InterceptedChannel(answering(lost, lost, Reply(b""), lost), [LatencyLog(log).unary])
        for _ in range(4):
            with suppress(ConnectionLost):
                await channel.unary(METHOD, b"")
    assert [level for level, _, _ in found] == ["ERROR", "DEBUG", "DEBUG", "ERROR"]


@pytest.mark.covers("D2")
async def test_of_a_stream_only_the_opening_is_timed() -> None:
    with records() as (log, found):
        channel = InterceptedChannel(answering(Reply(b"")), (), [LatencyLog(log).stream])
        async with channel.stream(METHOD, b"") as incoming:
            assert [(level, message) for level, message, _ in found] == [("DEBUG", "Stream opened")]
            async for _ in incoming:
                pass
    assert len(found) == 1


class Slow:
    """Answers after so many seconds."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self._seconds = seconds
        self._error = error

    async def __call__(self, call: Invocation, proceed: Invoke) -> Reply:
        await asyncio.sleep(self._seconds)
        if self._error is not None:
            raise self._error
        return Reply(b"")


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("seconds", "error", "lines"),
    [
        (0.49, None, [("DEBUG", "RPC finished")]),
        (0.5, None, [("DEBUG", "RPC finished"), ("INFO", "Slow: RPC finished")]),
        (5, ConnectionLost("t", timed_out=True), [("DEBUG", "RPC failed"), ("INFO", "Slow: RPC failed")]),
        (5, RPCError(Code.INTERNAL, "i"), [("ERROR", "RPC failed")]),
    ],
)
async def test_a_slow_call_has_one_line_at_info(
    seconds: float, error: Exception | None, lines: list[tuple[str, str]]
) -> None:
    with records() as (log, found):
        unary: list[UnaryInterceptor] = [LatencyLog(log, "unix:///a.sock").unary, Slow(seconds, error)]
        with suppress(RPCError, ConnectionLost):
            await InterceptedChannel(answering(Reply(b"")), unary).unary(METHOD, b"")
    assert [(level, message) for level, message, _ in found] == lines
    assert {fields["duration"] for *_, fields in found} == {seconds}
    assert {(fields["grpc.method"], fields["grpc.target"]) for *_, fields in found} == {(METHOD, "unix:///a.sock")}


@pytest.mark.virtual_time
@pytest.mark.parametrize(("slow_seconds", "lines"), [(0.0, 1), (10.0, 1), (1.0, 2)])
async def test_what_counts_as_slow_can_be_chosen(slow_seconds: float, lines: int) -> None:
    with records() as (log, found):
        unary: list[UnaryInterceptor] = [LatencyLog(log, slow_seconds=slow_seconds).unary, Slow(2)]
        await InterceptedChannel(answering(Reply(b"")), unary).unary(METHOD, b"")
    assert len(found) == lines


async def test_debugging_the_client_shows_its_calls_and_nothing_of_the_libraries_below(tmp_path: Path) -> None:
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    configure_logging("debug", stream, json=False)
    try:
        async with DeviceServer(server_options(tmp_path)) as server, device.connect(server.target) as devices:
            await devices.v1alpha1.gpus.list()
    finally:
        configure_logging()  # forgets the levels of single loggers
        root.handlers[:] = handlers
        root.setLevel(level)
    lines = stream.getvalue().splitlines()
    [line] = [line for line in lines if "ListGpus" in line]
    assert re.search(
        rf"DEBUG   pilotage\.device RPC finished grpc\.target=unix://{tmp_path}/device\.sock "
        r"grpc\.method=/nvidia\.nvsentinel\.v1alpha1\.GpuService/ListGpus duration=[0-9.e-]+ code=0$",
        line,
    )
    assert all(line.split()[2].startswith("pilotage") for line in lines), lines
