"""The parent of several processes: passes signals on, answers probes, and ends when they have ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

from pilotage.errors import PilotageError
from pilotage.http.health import text_response
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.manager.endpoints.server import Routes, Server
from pilotage.manager.processes import aggregation, child
from pilotage.manager.processes.child import Main
from pilotage.meta.bounds.amounts import count
from pilotage.net.sockets import address_text, parse_bind_address
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import CONTENT_TYPE, METRICS_PATH

log = logger("pilotage.processes")

ANSWER_SECONDS = 5.0
"""How long the parent waits for the answer of a process; one that takes longer counts as hung."""


class ProcessFailed(PilotageError):
    """One of several processes ended with an error, which it has logged itself. The others were shut down."""


def run_processes(
    main: Main, processes: int = 0, *, metrics_bind_address: str = "0", health_probe_bind_address: str = ""
) -> None:
    """Run `asyncio.run(main())` in several processes as one program, until all have ended.

    Call it first in the program: before threads and event loops are started. `processes` is their number; 0: one for
    each CPU core that this program may use. They share the work if the managers in `main` have `shards`.

    SIGTERM and SIGINT are passed on to each process. A process that fails ends the others in order, and ProcessFailed
    is raised. Every log line has the field `process`. `metrics_bind_address` serves the metrics of all processes
    together, and `health_probe_bind_address` serves `/healthz` and `/readyz`, which pass if they pass in all managers.
    The managers themselves are given no address.
    """
    count(processes, "processes")
    for address in (metrics_bind_address, health_probe_bind_address):
        parse_bind_address(address)
    children = _start(main, processes or len(os.sched_getaffinity(0)))
    asyncio.run(_Parent(children).run(metrics_bind_address, health_probe_bind_address))


@dataclass(slots=True, eq=False)
class _Child:
    number: int
    process: multiprocessing.process.BaseProcess
    channel: socket.socket
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a request to the process is not answered."""
    exchange: asyncio.Task[bytes | None] | None = None
    """The number of the last request."""

    async def ask(self, question: bytes) -> bytes | None:
        """The answer of the process; None if it has ended or hangs."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self.lock.acquire()
                # An exchange ends even if its caller is cancelled: else its answer would be taken for the next one.
                self.exchange = asyncio.create_task(self._exchange(question), name=f"question to process {self.number}")
                return await asyncio.shield(self.exchange)
        except TimeoutError:
            return None

    async def _exchange(self, question: bytes) -> bytes | None:
        try:
            await asyncio.get_running_loop().sock_sendall(self.channel, question)
            (length,) = child.LENGTH.unpack(await self._read(child.LENGTH.size))
            return await self._read(length)
        except (OSError, EOFError):
            return None
        finally:
            self.lock.release()

    async def _read(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            data = await asyncio.get_running_loop().sock_recv(self.channel, count - len(found))
            if not data:
                raise EOFError
            found += data
        return bytes(found)


def _start(main: Main, count: int) -> list[_Child]:
    """Fork: the processes have what the program has imported and prepared, and share its memory."""
    context = multiprocessing.get_context("fork")
    children: list[_Child] = []
    for number in range(1, count + 1):
        ours, theirs = socket.socketpair()
        others = [ours, *(one.channel for one in children)]
        process = context.Process(target=child.run, args=(main, number, theirs, others), name=f"process {number}")
        process.start()
        theirs.close()
        ours.setblocking(False)
        children.append(_Child(number, process, ours))
    return children


_STOPPED = (128 + signal.SIGINT, -signal.SIGINT, -signal.SIGTERM)
"""How a process ends that has not begun its work: interrupted, or before it handles signals."""


class _Parent:
    def __init__(self, children: Sequence[_Child]) -> None:
        self._children = children
        self._running = set(children)
        self._failed: list[str] = []
        self._stopping = False
        self._ended = asyncio.Event()

    async def run(self, metrics_bind_address: str, health_probe_bind_address: str) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, number)
        for one in self._children:
            loop.add_reader(one.process.sentinel, self._on_end, one)
        log.info("Started processes", processes=len(self._children))
        try:
            async with AsyncExitStack() as stack:
                if parse_bind_address(metrics_bind_address) is not None:
                    routes = Routes({METRICS_PATH: self._metrics})
                    await self._serve(stack, Server("metrics server", routes, metrics_bind_address))
                if parse_bind_address(health_probe_bind_address) is not None:
                    questions = {"/healthz": child.HEALTHZ, "/readyz": child.READYZ}
                    routes = Routes({path: partial(self._probe, asked) for path, asked in questions.items()})
                    await self._serve(stack, Server("health probe server", routes, health_probe_bind_address))
                await self._ended.wait()
        finally:
            self._stop(signal.SIGTERM)
            await self._ended.wait()
        if self._failed:
            raise ProcessFailed("; ".join(self._failed))

    async def _serve(self, stack: AsyncExitStack, server: Server) -> None:
        await server.open()
        stack.push_async_callback(server.close)
        log.info(f"Starting {server.name}", bind_address=address_text(*server.address))

    def _stop(self, number: signal.Signals) -> None:
        self._stopping = True
        for one in self._running:
            if one.process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(one.process.pid, number)

    def _on_end(self, one: _Child) -> None:
        asyncio.get_running_loop().remove_reader(one.process.sentinel)
        one.process.join()
        one.channel.close()
        self._running.discard(one)
        code = one.process.exitcode
        # One that the signal has reached before its work began ends as a single program does, which is no failure.
        if code and not (self._stopping and code in _STOPPED):
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            self._failed.append(f"process {one.number} {how}")
            log.error("A process has failed", process=one.number, reason=how)
            if not self._stopping:
                self._stop(signal.SIGTERM)
        if not self._running:
            self._ended.set()

    async def _metrics(self, _: HTTPRequest) -> HTTPResponse:
        children = list(self._running)
        answers = await asyncio.gather(*(one.ask(child.METRICS) for one in children))
        collected = {
            str(one.number): aggregation.decode(answer)
            for one, answer in zip(children, answers, strict=True)
            if answer is not None
        }
        return HTTPResponse(200, [("content-type", CONTENT_TYPE)], aggregation.aggregate(collected).encode())

    async def _probe(self, question: bytes, _: HTTPRequest) -> HTTPResponse:
        answers = await asyncio.gather(*(one.ask(question) for one in self._children))
        bad = [one.number for one, answer in zip(self._children, answers, strict=True) if answer != child.YES]
        if not bad:
            return text_response(200, "ok")
        return text_response(500, f"processes that fail the check: {', '.join(map(str, bad))}\n")
