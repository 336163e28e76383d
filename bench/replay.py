"""A server that replays a list and then a watch, rendered beforehand, so that only the reader's work is measured. It
answers discovery too.

Run as a process of its own: `python -m bench.replay OBJECTS EVENTS`; it prints its port. The watch begins to flow when
`/start` is asked for.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import msgspec

from bench.objects import Widget, widget
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.negotiation import AGGREGATED_DISCOVERY
from pilotage.server.http import discovery

JSON = [("content-type", "application/json")]
_CHUNK = 64
_GVK = Widget.__resource__.gvk
_SERVED = RESTMapping(
    gvk=_GVK,
    resource=GroupVersionResource(*_GVK.group_version, Widget.__resource__.plural),
    namespaced=True,
    verbs=("list", "watch"),
)


def rendered(number: int, version: int) -> bytes:
    """A stored object as a server writes it."""
    made = widget(number)
    made.metadata.uid = f"00000000-0000-4000-8000-{number:012}"
    made.metadata.resource_version = str(version)
    return objects.encode(made)


class Replay:
    """Answers a list with `count` objects, and a watch with `events` changes over them."""

    def __init__(self, count: int, events: int) -> None:
        items = b",".join(rendered(number, number + 1) for number in range(count))
        kind = (
            b'{"kind":"WidgetList","apiVersion":"bench.pilotage.dev/v1","metadata":{"resourceVersion":"%d"},"items":['
        )
        self._list = kind % count + items + b"]}"
        lines = [
            b'{"type":"MODIFIED","object":%b}\n' % rendered(number % count, count + number + 1)
            for number in range(events)
        ]
        self._chunks = [b"".join(lines[at : at + _CHUNK]) for at in range(0, len(lines), _CHUNK)]
        self._start = asyncio.Event()

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        if request.target.startswith("/start"):
            self._start.set()
            return HTTPResponse(200, JSON, b"{}")
        if request.target in ("/api", "/apis"):
            served = discovery.aggregated([_SERVED], core=request.target == "/api")
            return HTTPResponse(200, [("content-type", AGGREGATED_DISCOVERY)], msgspec.json.encode(served))
        if "sendInitialEvents" in request.target:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}
            return HTTPResponse(
                422, JSON, msgspec.json.encode(status | {"message": "streaming lists are not for replay"})
            )
        if "watch=true" in request.target:
            return StreamingResponse(200, JSON, self._events())
        return HTTPResponse(200, JSON, self._list)

    async def _events(self) -> AsyncIterator[bytes]:
        await self._start.wait()
        for chunk in self._chunks:
            yield chunk
        await asyncio.Event().wait()


async def main() -> None:
    count, events = int(sys.argv[1]), int(sys.argv[2])
    async with serve(Replay(count, events)) as server:
        print(server.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)  # until the parent process exits


if __name__ == "__main__":
    asyncio.run(main())
