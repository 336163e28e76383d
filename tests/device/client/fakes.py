"""Fake Device API servers: one with all parts in this process, and one that sends configured messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC

from msgspec.structs import replace

from pilotage.cluster import Cluster
from pilotage.device import codes
from pilotage.device.codes import STATUS_METADATA
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.device.wire.generation import RESOURCE, Generation
from pilotage.device.wire.options import BOOKMARK_SECONDS, STORAGE, UNDERSTOOD, UNDERSTOOD_OPTIONS
from pilotage.device.wire.providerservice import Acknowledged
from pilotage.device.wire.server import decode_request, encode_event, encode_page, encode_response
from pilotage.errors import ApiError, ConnectionLost
from pilotage.grpc.rpc import Code, Incoming, Reply, RPCError
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.meta.scalars.times import Time
from pilotage.rest import APIRequest, Transport, Verb, WatchEvent

SOMETIME = Time(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def gpu(name: str, *, ready: bool = True, **labels: str) -> GPU:
    condition = Condition(
        type="Ready", status="True" if ready else "False", reason="DriverReady", last_transition_time=SOMETIME
    )
    return GPU(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=GPUSpec(uuid=f"GPU-{name}"),
        status=GPUStatus(conditions=[condition]),
    )


@dataclass
class Sent:
    """A call as the server got it."""

    method: str
    metadata: Mapping[str, str]
    timeout: float | None = None


@dataclass
class Messages:
    """The receiving half of a stream, from an iterator."""

    messages: AsyncIterator[bytes]
    metadata: Mapping[str, str] = field(default_factory=dict)
    connection_number: int = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.messages


ANNOUNCED = {UNDERSTOOD: UNDERSTOOD_OPTIONS, STORAGE: "storage-1", BOOKMARK_SECONDS: "3"}
"""The initial metadata of our server."""


class RegistryChannel:
    """A server of one wire generation over an embedded API server. It can be down, and can break what is open."""

    def __init__(self, transport: Transport, generation: Generation = Generation.V6, *, knows_options: bool = True):
        self._transport = transport
        self._generation = generation
        self._metadata = dict(ANNOUNCED) if knows_options else {}
        self.connection = 1
        """Its number; another one after the streams broke."""
        self.sent: list[Sent] = []
        self.down = False
        self.failures: list[Exception] = []
        """Raised by the next calls, one each."""
        self.closed = False
        self.frozen = False
        """Whether streams send nothing any more."""
        self.deaf_to_timeouts = False
        self.streams = 0
        self._broken = asyncio.Event()

    def announces(self, *, storage: str) -> None:
        """Have another storage from now on, where anything is announced."""
        if self._metadata:
            self._metadata[STORAGE] = storage

    @property
    def methods(self) -> list[str]:
        return [one.method.rpartition("/")[2] for one in self.sent]

    def break_streams(self, *, down: bool = False) -> None:
        """End all streams as if the server had died; with `down`, no server listens any more."""
        self.down = down
        self.connection += 1
        broken, self._broken = self._broken, asyncio.Event()
        broken.set()

    async def unary(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Reply:
        self._begin(method, metadata, timeout)
        name = method.rpartition("/")[2]
        if name == "Heartbeat":
            return Reply(Acknowledged().encode())
        with _coded():
            request = decode_request(self._generation, name, message, metadata)
            if request.verb is Verb.LIST:
                return Reply(
                    encode_page(self._generation, await self._transport.list(request)),
                    self._metadata,
                    self.connection,
                )
            response = await self._transport.call(request)
            return Reply(encode_response(self._generation, name, response.body), self._metadata, self.connection)

    @asynccontextmanager
    async def stream(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None
    ) -> AsyncIterator[Incoming]:
        self._begin(method, metadata, None)
        with _coded():
            request = decode_request(self._generation, method.rpartition("/")[2], message, metadata)
            if self.deaf_to_timeouts:
                request = replace(request, options=replace(request.options, timeout_seconds=None))
            async with self._transport.watch(request) as events:
                self.streams += 1
                try:
                    yield Messages(self._told(events), self._metadata, self.connection)
                finally:
                    self.streams -= 1

    async def close(self) -> None:
        self.closed = True

    def _begin(self, method: str, metadata: Mapping[str, str] | None, timeout: float | None) -> None:
        self.sent.append(Sent(method, dict(metadata or {}), timeout))
        if self.down:
            raise ConnectionLost("nobody listens", sent=False)
        if self.failures:
            raise self.failures.pop(0)

    async def _told(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[bytes]:
        broken = asyncio.ensure_future(self._broken.wait())
        coming: asyncio.Future[WatchEvent | None] = asyncio.get_running_loop().create_future()
        try:
            while True:
                if self.frozen:
                    await broken
                coming = asyncio.ensure_future(anext(events, None))
                await asyncio.wait([coming, broken], return_when=asyncio.FIRST_COMPLETED)
                if broken.done():
                    raise ConnectionLost("the connection broke")
                event = coming.result()
                if event is None:
                    return
                if event.type == "ERROR":
                    raise RPCError(Code.OUT_OF_RANGE, "too old", trailers={STATUS_METADATA: bytes(event.object)})
                yield encode_event(self._generation, event)
        finally:
            for task in (broken, coming):
                task.cancel()
            await asyncio.wait([coming])


@contextmanager
def _coded() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise codes.rpc_error(error) from error


@asynccontextmanager
async def device_server(*gpus: GPU, **options: object) -> AsyncIterator[RegistryChannel]:
    """A server with these GPUs."""
    async with Cluster.embedded() as cluster:
        await cluster.install(GPU)
        for one in gpus:
            status = one.status
            await cluster.client.create(one)
            one.status = status
            await cluster.client.update_status(one)
        yield RegistryChannel(cluster.registry, **options)  # type: ignore[arg-type]


class ScriptedChannel:
    """Answers by functions: for each call, and for each stream."""

    def __init__(
        self,
        answer: Callable[[str, bytes], Reply] | None = None,
        streams: Sequence[tuple[Sequence[bytes | Exception], Mapping[str, str]]] = (),
    ) -> None:
        self._answer = answer
        self._streams = list(streams)
        self.sent: list[Sent] = []

    async def unary(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Reply:
        self.sent.append(Sent(method, dict(metadata or {}), timeout))
        assert self._answer is not None
        return self._answer(method.rpartition("/")[2], message)

    @asynccontextmanager
    async def stream(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None
    ) -> AsyncIterator[Incoming]:
        self.sent.append(Sent(method, dict(metadata or {})))
        messages, answered = self._streams.pop(0)
        incoming = Messages(_scripted(messages))
        incoming.metadata = answered
        yield incoming

    async def close(self) -> None:
        pass


async def _scripted(messages: Sequence[bytes | Exception]) -> AsyncIterator[bytes]:
    for message in messages:
        if isinstance(message, Exception):
            raise message
        yield message


GET = APIRequest(Verb.GET, RESOURCE, name="gpu-0")
LIST = APIRequest(Verb.LIST, RESOURCE)
WATCH = APIRequest(Verb.WATCH, RESOURCE)
