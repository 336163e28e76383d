"""An API server on a loop and a thread of its own, so that it answers while a test blocks the test's loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from pilotage.cluster import Cluster
from pilotage.http.limits import HTTPLimits
from pilotage.http.server import serve
from pilotage.server.http.handler import HTTPHandler

T = TypeVar("T")
TOKEN = "secret"


class ApiServer:
    def __init__(self) -> None:
        self.cluster = Cluster.embedded()
        self.url = ""
        self._loop: asyncio.AbstractEventLoop
        self._ready = threading.Event()
        self._stop: asyncio.Event

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the server's thread and block until it has ended."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with (
            self.cluster,
            serve(HTTPHandler(self.cluster.registry, TOKEN), limits=HTTPLimits(grace_seconds=0)) as server,
        ):
            self.url = f"http://127.0.0.1:{server.port}"
            self._ready.set()
            await self._stop.wait()

    def wait_ready(self) -> None:
        assert self._ready.wait(60)

    def stop(self) -> None:
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._stop.set)


@contextmanager
def api_server() -> Iterator[ApiServer]:
    server = ApiServer()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    server.wait_ready()
    try:
        yield server
    finally:
        server.stop()
        thread.join(60)
