"""Device servers for tests, and short functions for requests to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from pilotage.client.retries import Retries
from pilotage.device.client.target import Target
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.server.registry import Caller, DeviceRegistry, RegistryOptions
from pilotage.device.wire.generation import RESOURCE
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.rpc import Code, RPCError
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.rest import APIRequest, DeleteOptions, ListOptions, PatchType, Transport, Verb, WatchEvent
from pilotage.storage.memory import MemoryStorage

FIRST = 1_700_000_000_000_000
"""A version to begin with that is as long as a real one."""


def gpu(name: str = "gpu-0", **more: Any) -> Document:
    """A GPU as a caller sends it."""
    metadata = {"name": name} | more.pop("metadata", {})
    document = {"apiVersion": "device.nvidia.com/v1alpha1", "kind": "GPU", "metadata": metadata}
    return document | {"spec": {"uuid": f"GPU-{name}"}} | more


def condition(kind: str = "Ready", status: str = "True", **more: str) -> Document:
    return {"type": kind, "status": status, "reason": "Tested", "message": ""} | more


def status(*conditions: Document, action: str = "") -> Document:
    return {"conditions": list(conditions)} | ({"recommendedAction": action} if action else {})


class Api:
    """A transport with shorter calls."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def create(self, document: Document) -> Document:
        return await self.call(Verb.CREATE, body=document)

    async def get(self, name: str = "gpu-0", version: str = "") -> Document:
        return await self.call(Verb.GET, name=name, options=ListOptions(resource_version=version))

    async def update(self, document: Document) -> Document:
        return await self.call(Verb.UPDATE, name=document["metadata"]["name"], body=document)

    async def update_status(self, document: Document) -> Document:
        return await self.call(Verb.UPDATE, name=document["metadata"]["name"], subresource="status", body=document)

    async def set_status(self, name: str, *conditions: Document, action: str = "") -> Document:
        """Write a status without having read it."""
        return await self.update_status(gpu(name, status=status(*conditions, action=action)))

    async def patch(
        self, name: str, patch: object, kind: PatchType = PatchType.MERGE, subresource: str = ""
    ) -> Document:
        return await self.call(Verb.PATCH, name=name, body=patch, content_type=kind.value, subresource=subresource)

    async def delete(self, name: str = "gpu-0", *, uid: str = "", resource_version: str = "") -> Document:
        conditions = DeleteOptions(uid=uid or None, resource_version=resource_version or None)
        return await self.call(Verb.DELETE, name=name, delete=conditions)

    async def call(self, verb: Verb, body: object = None, **more: Any) -> Document:
        data = b"" if body is None else json.dumps(body).encode()
        document: Document = json.loads((await self.transport.call(APIRequest(verb, RESOURCE, body=data, **more))).body)
        return document

    async def list(self, **options: Any) -> tuple[Sequence[Document], str]:
        page = await self.transport.list(APIRequest(Verb.LIST, RESOURCE, options=ListOptions(**options)))
        return [json.loads(bytes(item)) for item in page.items], page.resource_version

    async def names(self, **options: Any) -> Sequence[str]:
        return [document["metadata"]["name"] for document in (await self.list(**options))[0]]

    @asynccontextmanager
    async def watch(self, **options: Any) -> AsyncIterator[AsyncIterator[tuple[str, Document]]]:
        request = APIRequest(Verb.WATCH, RESOURCE, options=ListOptions(**options))
        async with self.transport.watch(request) as events:
            yield ((kind, json.loads(bytes(data))) async for kind, data in events)


def virtual_clock() -> times.Time:
    """The wall clock of a loop whose time is virtual."""
    return asyncio.get_running_loop().now()  # type: ignore[attr-defined, no-any-return]


@asynccontextmanager
async def registry(
    storage: MemoryStorage | None = None, *, clock: times.Clock = times.system_clock, **options: Any
) -> AsyncIterator[DeviceRegistry]:
    """A registry whose gate is open, unless it is asked to be shut."""
    chosen = RegistryOptions(**{"gate_seconds": 0, **options})
    made = DeviceRegistry(storage or MemoryStorage(first_revision=FIRST), chosen, clock=clock)
    async with made as opened:
        yield opened


def api(opened: DeviceRegistry, provider: str = "nvml") -> Api:
    return Api(opened.transport(Caller(provider)))


class Node:
    """A Device API that tests can call as any provider: in this process, or over a socket."""

    def __init__(self, opened: DeviceRegistry, connect: Any, server: DeviceServer | None = None) -> None:
        self.registry = opened
        self._connect = connect
        self._server = server

    @property
    def server(self) -> DeviceServer:
        assert self._server is not None, "this one is in the process, without a server"
        return self._server

    def api(self, provider: str = "nvml") -> Api:
        return Api(self._connect(provider))


@asynccontextmanager
async def in_process(folder: Path) -> AsyncIterator[Node]:
    async with registry() as opened:
        yield Node(opened, lambda provider: opened.transport(Caller(provider)))


@asynccontextmanager
async def over_socket(folder: Path, **options: Any) -> AsyncIterator[Node]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(DeviceServer(server_options(folder, **options)))
        channel = GRPCChannel(server.target)
        stack.push_async_callback(channel.close)

        def connect(provider: str) -> DeviceTransport:
            return DeviceTransport(channel, metadata={"provider-id": provider}, retries=Retries(tries=0))

        yield Node(server.registry, connect, server)


def server_options(folder: Path, **options: Any) -> DeviceServerOptions:
    """On a socket in the folder, open at once, with a short shutdown."""
    target = Target(path=str(folder / "device.sock"))
    fast = ServerOptions(requests_per_second=0)
    chosen = {"targets": (target,), "gate_seconds": 0, "grpc": fast, "shutdown_grace": 1.0, **options}
    return DeviceServerOptions(**chosen)


class Out:
    """The sending half of a stream with a buffer of so many bytes."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room
        self.frames: list[bytes] = []
        self.writes = 0
        self.metadata: Mapping[str, str] | None = None
        self.opened = asyncio.Event()
        self.gone = False
        self.wrote = asyncio.Event()
        self._more = asyncio.Event()
        self._drained = asyncio.Event()

    async def open(self, metadata: Mapping[str, str] | None = None) -> None:
        self.metadata = metadata
        self.opened.set()

    def write(self, frames: Sequence[bytes]) -> bool:
        if self.gone:
            raise RPCError(Code.CANCELLED, "gone")
        size = sum(map(len, frames))
        if size > self.room:
            self._drained.clear()
            return False
        self.room -= size
        self.writes += 1
        self.frames += frames
        self.wrote.set()
        self._more.set()
        return True

    async def wait_drained(self) -> None:
        await self._drained.wait()

    async def wait_closed(self) -> None:
        await asyncio.Event().wait()

    def drain(self, room: int = 1 << 30) -> None:
        """The other end has read."""
        self.room = room
        self._drained.set()

    def events(self) -> list[tuple[str, Document]]:
        """What was sent, where messages are `TYPE JSON`."""
        found, data = [], b"".join(self.frames)
        while data:
            length = int.from_bytes(data[1:5], "big")
            kind, _, text = data[5 : 5 + length].partition(b" ")
            found.append((kind.decode(), json.loads(text)))
            data = data[5 + length :]
        return found

    async def until(self, count: int) -> list[tuple[str, Document]]:
        """The events, once there are so many."""
        while len(self.events()) < count:
            self._more.clear()
            await self._more.wait()
        return self.events()


def plain_encode(generation: str, event: WatchEvent) -> bytes:
    """`TYPE JSON`: a wire that tests can read."""
    return event.type.encode() + b" " + bytes(event.object)
