"""A server that answers with given bytes, connection by connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.http.raw import until

HOLD = b"<hold>"
"""Instead of an answer: send nothing more, and keep the connection open."""
CLOSE = b"<close>"
"""Instead of an answer: close the connection after the request."""


@dataclass
class Scripted:
    """Where it listens, and the request lines of each connection so far."""

    port: int = 0
    seen: list[list[str]] = field(default_factory=list)
    ended: int = 0


@asynccontextmanager
async def scripted(*connections: Sequence[bytes]) -> AsyncIterator[Scripted]:
    """Serve: the n-th connection gives the n-th list of answers, one to each request, then closes."""
    state = Scripted()
    release = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(state.seen)
        state.seen.append([])
        try:
            for answer in connections[number]:
                head = await reader.readuntil(b"\r\n\r\n")
                state.seen[number].append(head.partition(b" HTTP")[0].decode())
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                if answer == CLOSE:
                    return
                if answer == HOLD:
                    await release.wait()
                    return
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            state.ended += 1
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        release.set()
        server.close()
        await until(lambda: state.ended == len(state.seen))
