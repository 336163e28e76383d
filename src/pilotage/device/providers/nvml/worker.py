"""Workers that call the library: in a separate thread, so that a driver that hangs does not block the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from pilotage.device.providers.nvml.library import DeviceEvent, Library
from pilotage.errors import PilotageError

T = TypeVar("T")

CLOSE_SECONDS = 3.0
GRACE_SECONDS = 5.0
"""How much longer than its timeout a wait for an event may take."""


class DriverHangs(PilotageError):
    """The driver did not respond in time. No other call can be made until this one returns."""


class NVMLWorker(Protocol):
    """Calls the library, one call at a time."""

    async def run(self, work: Callable[[Library], T], *, timeout: float) -> T:
        """Run `work` and return its result. Raises its errors, and DriverHangs."""

    async def wait(self, seconds: float) -> DeviceEvent | None:
        """The next event, or None after the timeout."""

    async def close(self) -> None:
        """Close the library and stop, waiting for a moment at most."""


class WorkerThread:
    """Calls the library in a daemon thread, which ends with the process even if the driver hangs."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: asyncio.Future[Any] | None = None

    async def run(self, work: Callable[[Library], T], *, timeout: float) -> T:
        await self._free(timeout)
        return await self._call(work, timeout)

    async def wait(self, seconds: float) -> DeviceEvent | None:
        return await self.run(lambda library: library.wait(seconds), timeout=seconds + GRACE_SECONDS)

    async def close(self) -> None:
        if self._thread is None:
            return
        done = self._submit(lambda library: library.close())
        self._jobs.put(None)
        self._thread = None
        await asyncio.wait({done}, timeout=CLOSE_SECONDS)

    async def _free(self, timeout: float) -> None:
        """Wait until the previous call has returned; its caller may have timed out."""
        if self._last is not None and not self._last.done():
            await asyncio.wait({self._last}, timeout=timeout)
            if not self._last.done():
                raise _hanging(timeout)

    async def _call(self, work: Callable[[Library], T], timeout: float) -> T:
        result = self._submit(work)
        self._last = result
        await asyncio.wait({result}, timeout=timeout)
        if not result.done():
            raise _hanging(timeout)
        return await result

    def _submit(self, work: Callable[[Library], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                value = work(self._library)
            except BaseException as error:
                _call_soon(loop, _fail, result, error)
            else:
                _call_soon(loop, _succeed, result, value)

        if self._thread is None:
            self._thread = threading.Thread(target=_work, args=(self._jobs,), name="pilotage-nvml", daemon=True)
            self._thread.start()
        self._jobs.put(job)
        return result


class Inline:
    """Calls the library directly: for one that never blocks, such as a recording."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def run(self, work: Callable[[Library], T], *, timeout: float) -> T:
        return work(self._library)

    async def wait(self, seconds: float) -> DeviceEvent | None:
        event = self._library.wait(0)
        if event is None:
            await asyncio.sleep(seconds)
            event = self._library.wait(0)
        return event

    async def close(self) -> None:
        self._library.close()


def _work(jobs: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(callback, *arguments)


def _succeed(result: asyncio.Future[T], value: T) -> None:
    if not result.done():
        result.set_result(value)


def _fail(result: asyncio.Future[Any], error: BaseException) -> None:
    if not result.done():
        result.set_exception(error)
        result.exception()  # its caller has timed out: the error is not needed


def _hanging(timeout: float) -> DriverHangs:
    return DriverHangs(f"the NVIDIA driver has not responded for {timeout:g} s")
