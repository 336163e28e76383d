"""The lister-watcher of GPUs, for informers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from pilotage.device.client.announced import VersionOrigin
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.wire.generation import RESOURCE
from pilotage.rest import APIRequest, Page, Verb, WatchEvent
from pilotage.rest.listing import EMBEDDED_SILENCE_SECONDS, BackoffOptions
from pilotage.rest.request import Form, ListOptions

_MISSED = 3.0
"""How many bookmarks may be missing before a watch is considered dead."""

NO_BOOKMARKS_SILENCE_SECONDS = 24 * 3600.0
"""How long a watch may be silent if the server sends no bookmarks: GPUs may not change for hours. The connection
reports the end of the server."""

BACKOFF = BackoffOptions(
    first=0.05,
    limit=0.25,
    jitter=0.5,
    reset_after=10.0,
    relist=BackoffOptions(first=1.0, limit=10.0, jitter=0.5, reset_after=10.0),
)
"""A local socket: a server that was restarted is found within a second. One that answers every watch with OUT_OF_RANGE,
as NVIDIA's with memory storage do, is listed every ten seconds: no watch reports its changes."""


class DeviceListerWatcher:
    """Lists and watches the GPUs of a node; each reflector has its own."""

    streaming = False
    """List, then watch: every server supports it, and over a local socket it is as cheap as a streaming list."""
    backoff = BACKOFF

    def __init__(self, transport: DeviceTransport, form: Form = Form.OBJECT) -> None:
        self.transport = transport
        self.form = form
        self._listed: VersionOrigin | None = None
        """The origin of the version of the last list."""

    @property
    def silence_seconds(self) -> float:
        seconds = self.transport.announced.bookmark_seconds
        return max(EMBEDDED_SILENCE_SECONDS, _MISSED * seconds) if seconds else NO_BOOKMARKS_SILENCE_SECONDS

    @property
    def recounts(self) -> bool:
        """Whether resource versions may start again after a restart. Pilotage's server announces that they do not."""
        return self._listed is None or not self._listed.storage

    async def list(self, options: ListOptions) -> Page:
        if self._listed is not None and self.recounts:
            # The newest state of the server: after a restart its versions may be smaller.
            options = replace(options, resource_version="", resource_version_match="")
        page, self._listed = await self.transport.list_with_origin(self._request(Verb.LIST, options))
        return page

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self.transport.watch(self._request(Verb.WATCH, options), self._listed)

    def _request(self, verb: Verb, options: ListOptions) -> APIRequest:
        return APIRequest(verb, RESOURCE, form=self.form, options=options)
