"""Calls: unary, streams of one side and of both, deadlines, cancellation, and errors."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from hack.device.attacks import MESSAGE, literal
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.rpc import Call, Code, Handlers, Outgoing, Reply, RPCError, frame

from . import raw
from .ground import BREAK, COUNT, ECHO, FAIL, HANG, LARGE, SHOUT, UNLIMITED, WATCH, Service, channel, served


async def test_a_unary_call_gives_message_and_metadata_both_ways() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        reply = await calling.unary(ECHO, b"hello", metadata={"provider-id": "nvml"})
    assert reply == Reply(b"hello", {"x-method": "Echo"})
    assert service.calls[0].method == ECHO
    assert service.calls[0].metadata["provider-id"] == "nvml"
    assert service.calls[0].metadata["user-agent"].startswith("grpc-python-pilotage/")


@pytest.mark.parametrize("size", [0, 1, 16379, 16380, 70_000, 3_000_000])
async def test_messages_of_any_size_go_there_and_back(size: int) -> None:
    message = bytes(index & 255 for index in range(256)) * (size // 256) + bytes(size % 256)
    async with served() as listening, channel(listening) as calling:
        assert (await calling.unary(ECHO, message)).message == message


async def test_an_error_arrives_with_code_text_and_status() -> None:
    async with served() as listening, channel(listening) as calling:
        with pytest.raises(RPCError) as caught:
            await calling.unary(FAIL, b"")
    assert (caught.value.code, caught.value.message) == (Code.NOT_FOUND, "no such thing: 100% größer\n")
    assert caught.value.trailers == {"details-bin": b'{"code":404}'}


async def test_a_handler_that_fails_is_logged_and_its_text_is_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as listening, channel(listening) as calling:
        with pytest.raises(RPCError) as caught:
            await calling.unary(BREAK, b"")
    assert caught.value.code is Code.INTERNAL
    assert "secret" not in caught.value.message
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is not None
    assert "a secret" in str(caplog.records[0].exc_info[1])


async def test_a_handler_that_cancels_itself_ends_its_call() -> None:
    async def give_up(call: Call, message: bytes) -> Reply:
        raise asyncio.CancelledError

    async with served(Handlers({ECHO: give_up}, {})) as listening, channel(listening) as calling:
        with pytest.raises(RPCError) as caught:
            await calling.unary(ECHO, b"", timeout=60)
        assert caught.value.code is Code.CANCELLED
        assert listening.statistics().streams == 0


async def test_an_unknown_method_is_unimplemented() -> None:
    async with served() as listening, channel(listening) as calling:
        with pytest.raises(RPCError, match="unknown method /test") as caught:
            await calling.unary("/test.Service/Nothing", b"")
    assert caught.value.code is Code.UNIMPLEMENTED


@pytest.mark.parametrize("method", [HANG, WATCH])
async def test_the_callers_deadline_ends_the_handler(method: str) -> None:
    service = Service()
    call = raw.request(method.encode(), literal(b"grpc-timeout", b"50m"))
    async with served(service.handlers()) as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 4, 1, call) + raw.frame(frames.DATA, 1, 1, MESSAGE))
        fields = b""
        while b"grpc-status" not in fields:
            _, fields = await client.until(frames.HEADERS, 1)
        assert b"grpc-status: 4\n" in fields
        await service.until(cancelled=1)


async def test_a_caller_who_gives_up_cancels_the_handler() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        call = asyncio.ensure_future(calling.unary(HANG, b""))
        await service.until(hanging=1)
        call.cancel()
        await service.until(cancelled=1)
        assert listening.statistics().streams == 0
        assert (await calling.unary(ECHO, b"still there")).message == b"still there"


async def test_a_deadline_passes_on_the_callers_side_too() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        with pytest.raises(RPCError, match=r"within 0\.05 s") as caught:
            await calling.unary(HANG, b"", timeout=0.05)
        assert caught.value.code is Code.DEADLINE_EXCEEDED


@pytest.mark.parametrize(
    ("extra", "status", "text"),
    [
        (literal(b"grpc-encoding", b"gzip"), b"grpc-status: 12", b"with identity"),
        (literal(b"grpc-timeout", b"soon"), b"grpc-status: 3", b"grpc-timeout"),
        (literal(b"content-type", b"application/json"), b":status: 415", b"application/grpc"),
    ],
)
async def test_headers_that_make_no_call_are_refused_with_a_reason(extra: bytes, status: bytes, text: bytes) -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 5, 1, raw.request(ECHO.encode(), extra)))
        flags, fields = await client.until(frames.HEADERS, 1)
        assert flags & frames.END_STREAM
        assert status in fields
        assert text in fields


async def test_what_is_not_posted_is_refused_with_a_reason() -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        get = raw.request(ECHO.encode()).replace(b"\x04POST", b"\x03GET")
        await client.send(raw.frame(frames.HEADERS, 5, 1, get))
        assert b":status: 405" in (await client.until(frames.HEADERS, 1))[1]


PATH = literal(b":path", b"/a/B")


@pytest.mark.parametrize(
    "block",
    [
        literal(b":method", b"POST") + literal(b":scheme", b"http"),
        literal(b":method", b"POST") + PATH,
        literal(b":scheme", b"http") + PATH,
        literal(b":method", b"POST") + literal(b":scheme", b"http") + literal(b":path", b""),
        raw.request(ECHO.encode(), PATH),
        raw.request(ECHO.encode(), literal(b":odd", b"")),
        literal(b":odd", b"") + raw.request(ECHO.encode()),
        PATH + raw.request(ECHO.encode()),
        raw.request(ECHO.encode(), literal(b"Upper", b"")),
        raw.request(ECHO.encode(), literal(b"connection", b"close")),
        raw.request(ECHO.encode(), literal(b"te", b"gzip")),
        raw.request(ECHO.encode(), literal(b"", b"")),
        raw.request(ECHO.encode(), literal(b"a space", b"")),
        raw.request(ECHO.encode(), literal(b"x:y", b"")),
        raw.request(ECHO.encode(), literal("ü".encode(), b"")),
        raw.request(ECHO.encode(), literal(b"x", b"one\r\ntwo")),
        raw.request(ECHO.encode(), literal(b"x", b"\x00")),
        raw.request(ECHO.encode(), literal(b"content-length", b"-1")),
        raw.request(ECHO.encode(), literal(b"content-length", b"9" * 5000)),
    ],
)
async def test_headers_that_http2_does_not_allow_reset_the_stream(block: bytes) -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 5, 1, block))
        assert await client.until(frames.RST_STREAM, 1) == (0, b"\x00\x00\x00\x01")
        await client.send(raw.frame(frames.HEADERS, 4, 3, raw.request(ECHO.encode())) + raw.frame(0, 1, 3, MESSAGE))
        assert await client.until(frames.DATA, 3) == (0, MESSAGE)


@pytest.mark.parametrize(("said", "sent"), [(b"7", [MESSAGE]), (b"7", [MESSAGE[:3], MESSAGE[3:]]), (b"0", [b""])])
async def test_a_request_as_long_as_its_content_length_is_taken(said: bytes, sent: list[bytes]) -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 4, 1, _with_length(said)) + _pieces(sent))
        assert b":status: 200" in (await client.until(frames.HEADERS, 1))[1]


@pytest.mark.parametrize(("said", "sent"), [(b"8", [MESSAGE]), (b"6", [MESSAGE]), (b"8", [MESSAGE[:3], MESSAGE[3:]])])
async def test_a_request_not_as_long_as_its_content_length_ends_the_connection(said: bytes, sent: list[bytes]) -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 4, 1, _with_length(said)) + _pieces(sent))
        assert await client.goaway() == (
            ErrorCode.PROTOCOL_ERROR,
            "the body of stream 1 does not have the length of its content-length",
        )


def _with_length(said: bytes) -> bytes:
    return raw.request(ECHO.encode(), literal(b"content-length", said))


def _pieces(sent: list[bytes]) -> bytes:
    return b"".join(raw.frame(frames.DATA, int(piece is sent[-1]), 1, piece) for piece in sent)


@pytest.mark.parametrize("data", [b"", MESSAGE + MESSAGE, MESSAGE + b"\x00", MESSAGE[:-1]])
async def test_a_unary_call_takes_exactly_one_message(data: bytes) -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        call = raw.request(ECHO.encode())
        await client.send(raw.frame(frames.HEADERS, 4, 1, call) + raw.frame(frames.DATA, 1, 1, data))
        assert b"grpc-status: 12" in (await client.until(frames.HEADERS, 1))[1]


async def test_request_trailers_end_a_request() -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        call = raw.frame(frames.HEADERS, 4, 1, raw.request(ECHO.encode())) + raw.frame(frames.DATA, 0, 1, MESSAGE)
        await client.send(call + raw.frame(frames.HEADERS, 5, 1, literal(b"x", b"y")))
        assert await client.until(frames.DATA, 1) == (0, MESSAGE)


@pytest.mark.parametrize("trailer", [literal(b":path", b"/x"), literal(b"Upper", b""), literal(b"connection", b"")])
async def test_request_trailers_that_http2_does_not_allow_end_the_connection(trailer: bytes) -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        call = raw.frame(frames.HEADERS, 4, 1, raw.request(ECHO.encode())) + raw.frame(frames.DATA, 0, 1, MESSAGE)
        await client.send(call + raw.frame(frames.HEADERS, 5, 1, trailer))
        assert (await client.goaway())[0] is ErrorCode.PROTOCOL_ERROR


async def test_a_stream_is_open_before_its_first_message() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        async with calling.stream(WATCH, b"") as incoming:
            assert incoming.metadata == {"x-open": "yes"}
            (watcher,) = service.watchers
            assert watcher.write([frame(b"a"), frame(b"b")])
            assert watcher.write([])
            messages = aiter(incoming)
            assert [await anext(messages), await anext(messages)] == [b"a", b"b"]
        await service.until(cancelled=1)
        async with asyncio.timeout(60):
            await watcher.wait_closed()


@pytest.mark.parametrize(("number", "size"), [(1, 200_000), (3000, 1000), (0, 1), (5, 1_000_000)])
async def test_a_stream_of_any_size_arrives_whole_and_in_order(number: int, size: int) -> None:
    async with (
        served() as listening,
        channel(listening) as calling,
        calling.stream(COUNT, f"{number}:{size}".encode()) as incoming,
    ):
        received = [(int(message), len(message)) async for message in incoming]
    assert received == [(at, size) for at in range(number)]


async def test_a_reader_who_pauses_stops_the_writer_and_loses_nothing() -> None:
    service = Service()
    async with (
        served(service.handlers()) as listening,
        channel(listening) as calling,
        calling.stream(WATCH, b"") as incoming,
    ):
        (watcher,) = service.watchers
        sent = 0
        async with asyncio.timeout(60):
            while watcher.write([frame(sent.to_bytes(4, "big") * 2500)]):
                sent += 1
                if sent % 10 == 0:
                    await asyncio.sleep(0)
        assert 1 <= sent * 10_000 < 4 << 20
        full = asyncio.ensure_future(watcher.wait_drained())
        messages = aiter(incoming)
        for number in range(sent):
            assert await anext(messages) == number.to_bytes(4, "big") * 2500
        async with asyncio.timeout(60):
            await full
        assert watcher.write([frame(b"again")])
        assert await anext(messages) == b"again"


@pytest.mark.parametrize("size", [0, 300_000])
async def test_a_reader_who_pauses_is_not_sent_more_whatever_the_size_of_messages(size: int) -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling, calling.stream(WATCH, b""):
        (watcher,) = service.watchers
        sent, stalled = 0, 0
        many = [frame(bytes(size))] * (1 if size else 10_000)
        while stalled < 50:  # turns in which nothing went out
            stalled = 0 if watcher.write(many) else stalled + 1
            sent += len(many) * (size + 5) if not stalled else 0
            await asyncio.sleep(0)
        assert sent < 4 << 20


async def test_a_stream_may_end_with_an_error() -> None:
    async def fail(call: Call, message: bytes, outgoing: Outgoing) -> None:
        outgoing.write([frame(b"one")])
        raise RPCError(Code.OUT_OF_RANGE, "too old", trailers={"details-bin": b"{}"})

    async with (
        served(Handlers({}, {WATCH: fail})) as listening,
        channel(listening) as calling,
        calling.stream(WATCH, b"") as incoming,
    ):
        messages = aiter(incoming)
        assert await anext(messages) == b"one"
        with pytest.raises(RPCError, match="too old") as caught:
            await anext(messages)
    assert (caught.value.code, caught.value.trailers) == (Code.OUT_OF_RANGE, {"details-bin": b"{}"})


async def test_a_stream_that_is_refused_raises_when_the_block_is_entered() -> None:
    async def fail(call: Call, message: bytes, outgoing: Outgoing) -> None:
        raise RPCError(Code.PERMISSION_DENIED, "not you")

    async with served(Handlers({}, {WATCH: fail})) as listening, channel(listening) as calling:
        with pytest.raises(RPCError, match="not you"):
            async with calling.stream(WATCH, b""):
                raise AssertionError("entered")


async def test_a_stream_of_both_sides_answers_each_message_as_it_comes() -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 4, 1, raw.request(SHOUT.encode())))
        for word in (b"a", b"bc"):
            await client.send(raw.frame(frames.DATA, 0, 1, frame(word)))
            assert await client.until(frames.DATA, 1) == (0, frame(word.upper()))
        await client.send(raw.frame(frames.DATA, 1, 1))
        assert b"grpc-status: 0" in (await client.until(frames.HEADERS, 1))[1]


async def test_a_stream_of_both_sides_that_ends_within_a_message_is_an_error() -> None:
    async with served() as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 4, 1, raw.request(SHOUT.encode())))
        await client.send(raw.frame(frames.DATA, 1, 1, MESSAGE[:-1]))
        assert b"is incomplete" in (await client.until(frames.HEADERS, 1))[1]


async def test_many_messages_of_both_sides_hold_to_the_window() -> None:
    async def swallow(call: Call, messages: AsyncIterator[bytes], outgoing: Outgoing) -> None:
        total = 0
        async for message in messages:
            total += len(message)
        outgoing.write([frame(str(total).encode())])

    async with served(Handlers({}, {}, {SHOUT: swallow})) as listening, raw.connected(listening.address) as client:
        await client.send(raw.frame(frames.HEADERS, 4, 1, raw.request(SHOUT.encode())))
        for _ in range(300):  # far beyond one window: it is given back as messages are taken
            await client.send(raw.frame(frames.DATA, 0, 1, frame(bytes(16000))))
        await client.send(raw.frame(frames.DATA, 1, 1))
        assert await client.until(frames.DATA, 1) == (0, frame(b"4800000"))


async def test_a_large_answer_waits_for_a_small_window() -> None:
    async with served() as listening:
        greeting = raw.HELLO + raw.frame(frames.SETTINGS, 0, 0, struct.pack(">HL", 4, 10_000))
        async with raw.connected(listening.address, greeting) as client:
            call = raw.request(LARGE.encode())
            await client.send(raw.frame(frames.HEADERS, 4, 1, call) + raw.frame(frames.DATA, 1, 1, MESSAGE))
            received = 0
            while received < (1 << 20) + 5:
                _, payload = await client.until(frames.DATA, 1)
                received += len(payload)
                update = frames.window_update(1, len(payload)) + frames.window_update(0, len(payload))
                await client.send(update)
            assert received == (1 << 20) + 5
            assert b"grpc-status: 0" in (await client.until(frames.HEADERS, 1))[1]


async def test_metadata_that_headers_cannot_carry_fail_the_call_they_belong_to() -> None:
    async def bad(call: Call, message: bytes) -> Reply:
        metadata: Mapping[str, str] = {"Bad Key": "x"}
        return Reply(b"", metadata)

    async with served(Handlers({ECHO: bad}, {})) as listening, channel(listening) as calling:
        with pytest.raises(RPCError) as caught:
            await calling.unary(ECHO, b"")
        assert caught.value.code is Code.INTERNAL
        with pytest.raises(ValueError, match="printable ASCII"):
            await calling.unary(ECHO, b"", metadata={"x": "ü"})


async def test_what_waits_for_slow_readers_is_bounded_without_busy_waiting() -> None:
    service = Service()
    options = replace(UNLIMITED, buffer_bytes=100_000, total_buffer_bytes=100_000)
    greeting = raw.HELLO + raw.frame(frames.SETTINGS, 0, 0, struct.pack(">HL", 4, 10))
    async with served(service.handlers(), options) as listening, raw.connected(listening.address, greeting) as client:
        for stream in (1, 3):
            call = raw.request(WATCH.encode())
            await client.send(raw.frame(frames.HEADERS, 4, stream, call) + raw.frame(frames.DATA, 1, stream, MESSAGE))
        await service.until(hanging=2)
        first, second = service.watchers
        assert first.write([bytes(80_000)])
        assert not second.write([bytes(80_000)])
        async with asyncio.timeout(60):
            await second.wait_drained()  # comes back to try again, after a while: not at once
        assert not second.write([bytes(80_000)])
        await client.send(frames.reset(1, ErrorCode.CANCEL))
        await service.until(cancelled=1)
        assert second.write([bytes(80_000)])
        assert not second.write([b"x"])
