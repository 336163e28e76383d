"""The typed client of the GPUs of a node."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

from pilotage.client.client import Client
from pilotage.client.watching import WatchedEvent
from pilotage.client.writer import AnyPatch
from pilotage.device.client.listerwatcher import DeviceListerWatcher
from pilotage.device.client.telemetry import TelemetryClient
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU
from pilotage.meta.bounds.amounts import Seconds
from pilotage.meta.forms import reader_of
from pilotage.meta.objectlist import ObjectList
from pilotage.meta.selectors.selection import Fields, Labels, field_text, selector_text
from pilotage.reflector.events import watch_events
from pilotage.reflector.reflector import ReflectorOptions
from pilotage.rest import Form, ListOptions
from pilotage.telemetry.logs import Logger


class GPUs:
    """`devices.v1alpha1.gpus`. It is a source of informers: `Informer(gpus, InformerOptions(GPU))`."""

    def __init__(self, client: Client, transport: DeviceTransport, logger: Logger, provider_id: str = "") -> None:
        self._client = client
        self._transport = transport
        self._telemetry = TelemetryClient(transport)
        self._log = logger
        self._provider_id = provider_id

    # Reading

    async def get(self, name: str, *, resource_version: str = "") -> GPU:
        """The GPU; raises NotFound. With a `resource_version`, not older than that."""
        return await self._client.get(GPU, name, resource_version=resource_version)

    async def find(self, name: str) -> GPU | None:
        """The GPU, or None if it does not exist."""
        return await self._client.find(GPU, name)

    async def list(
        self,
        *,
        labels: Labels = None,
        fields: Fields = None,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
    ) -> ObjectList[GPU]:
        """The GPUs of this node, as one snapshot. Fields are `metadata.name` and `spec.uuid`.

        With a `limit` it is one page; pass its `continue_token` for the next one, which is of the same snapshot.
        NVIDIA's servers have no pages and return all GPUs; a selector that the server does not support raises
        BadRequest.
        """
        return await self._client.list(
            GPU,
            labels=labels,
            fields=fields,
            limit=limit,
            continue_token=continue_token,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
        )

    def watch(
        self,
        *,
        labels: Labels = None,
        fields: Fields = None,
        resource_version: str = "",
        allow_bookmarks: bool = False,
        timeout_seconds: Seconds | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchedEvent[GPU]]]:
        """Changes after `resource_version` (a list's), for the length of the block; without one, ADDED for each GPU
        first.

        It is one stream: the iterator ends when the server ends it, and raises when it breaks (ConnectionLost) or when
        the version has expired (Gone). `follow` continues after all of these.
        """
        return self._client.watch(
            GPU,
            labels=labels,
            fields=fields,
            resource_version=resource_version,
            allow_bookmarks=allow_bookmarks,
            timeout_seconds=timeout_seconds,
        )

    @asynccontextmanager
    async def follow(
        self, *, labels: Labels = None, fields: Fields = None
    ) -> AsyncIterator[AsyncIterator[WatchedEvent[GPU]]]:
        """Every GPU as ADDED, then each change once, for the length of the block, across restarts of the server.

        After a restart the watch resumes where it stopped. Where the version has expired, the GPUs are listed, and the
        difference comes as ADDED, MODIFIED and DELETED. Raises only what a retry does not fix, such as Forbidden, and
        ConnectionLost once the Devices are closed.
        """
        selection = ListOptions(label_selector=selector_text(labels), field_selector=field_text(fields))
        async with aclosing(self._events(selection)) as events:
            yield events

    async def telemetry(self, name: str) -> Telemetry:
        """The current readings of the GPU: temperature, power, utilisation, memory, clocks, ECC and XID counts.

        The reading is at most one second old if the provider runs in the server, and as old as the provider's last poll
        if it runs in another process; `time` is when it was read. Raises NotFound, ServiceUnavailable with the reason
        if the GPU cannot be read, and MethodNotSupported if the server is not one of Pilotage's.
        """
        return await self._telemetry.get(name)

    async def list_telemetry(self) -> Sequence[Telemetry]:
        """The current readings of all GPUs, sorted by name. One that cannot be read has the reason in `unavailable`."""
        return await self._telemetry.list()

    def lister_watcher(self, form: Form = Form.OBJECT) -> DeviceListerWatcher:
        """The lister-watcher for an informer."""
        return DeviceListerWatcher(self._transport, form)

    # Writing

    async def create(self, gpu: GPU) -> GPU:
        """Create the GPU; raises AlreadyExists, and MethodNotSupported if the server is read-only."""
        return await self._client.create(gpu)

    async def update(self, gpu: GPU) -> GPU:
        """Write all but the status; raises Conflict if it was written since it was read."""
        return await self._client.update(gpu)

    async def update_status(self, gpu: GPU) -> GPU:
        """Write the status: this provider's conditions. Those of other providers stay."""
        return await self._client.update_status(gpu)

    async def patch(self, gpu: GPU | str, patch: AnyPatch, *, subresource: str = "") -> GPU:
        """Change a part of a GPU, or of the one with this name. A mapping is a merge patch, a list a JSON patch."""
        if isinstance(gpu, str):
            return await self._client.patch(GPU, patch, name=gpu, subresource=subresource)
        return await self._client.patch(gpu, patch, subresource=subresource)

    async def patch_status(self, gpu: GPU | str, patch: AnyPatch) -> GPU:
        """Change a part of the status: `patch_status("gpu-0", {"status": {"recommendedAction": "RESTART_BM"}})`."""
        return await self.patch(gpu, patch, subresource="status")

    async def delete(self, gpu: GPU | str, *, uid: str = "", resource_version: str = "") -> None:
        """Delete a GPU, or the one with this name; raises NotFound. `uid` and `resource_version` are conditions, and
        raise Conflict if they do not match."""
        if isinstance(gpu, str):
            await self._client.delete(GPU, gpu, uid=uid, resource_version=resource_version)
        else:
            await self._client.delete(gpu, uid=uid, resource_version=resource_version)

    async def heartbeat(self, names: Sequence[str]) -> bool:
        """Send a heartbeat as the provider of these GPUs. Without heartbeats its conditions become Unknown.

        False if the provider was lost, or one of the GPUs does not exist: register and write all GPUs again.
        """
        return await self._transport.heartbeat(self._provider_id, names)

    async def report_telemetry(self, items: Sequence[Telemetry]) -> None:
        """Report readings as a provider; each replaces the last one of its GPU. They are not stored."""
        await self._telemetry.report(self._provider_id, items)

    async def _events(self, selection: ListOptions) -> AsyncGenerator[WatchedEvent[GPU], None]:
        read, options = reader_of(GPU), ReflectorOptions(selection, GPU.__resource__.gvk)
        stream = watch_events(self.lister_watcher(), options, self._log, closed=lambda: self._transport.closed)
        async with aclosing(stream) as batches:
            async for batch in batches:
                for event in batch:
                    yield WatchedEvent(event, read)
