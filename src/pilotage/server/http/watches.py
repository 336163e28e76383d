"""Watches as HTTP writes them: a stream of events, or messages over WebSocket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial

from pilotage.http import messages as http
from pilotage.http import websocket
from pilotage.http.heads import Refusal
from pilotage.rest.negotiation import PROTOBUF
from pilotage.rest.response import WatchEvent
from pilotage.server.access.authentication import offered_protocols
from pilotage.server.http.rendering import Renderer

_FRAME_LENGTH = 4
"""Bytes of the length before an event in protobuf, which a message over WebSocket does not need."""


async def chunks(
    events: AsyncIterator[WatchEvent],
    renderer: Renderer,
    exits: AsyncExitStack,
    written: Callable[[WatchEvent], bytes],
) -> AsyncIterator[bytes]:
    """The events as `written` makes them bytes. `exits` closes with the stream."""
    async with exits:
        async for event in events:
            if not renderer.has_events:
                return
            yield written(event)


async def over_websocket(
    headers: http.Headers, events: AsyncIterator[WatchEvent], renderer: Renderer, exits: AsyncExitStack
) -> http.HTTPResponse | http.StreamingResponse:
    """The answer to a watch over WebSocket: each event is a message."""
    try:
        accepted = websocket.accept(headers, offered_protocols(headers))
    except Refusal as refusal:
        await exits.aclose()
        return http.HTTPResponse(refusal.status, [("sec-websocket-version", websocket.VERSION)], str(refusal).encode())
    messages = chunks(events, renderer, exits, partial(_message, renderer))
    return http.StreamingResponse(101, accepted, messages, endless=True, upgraded=websocket.WebSocket())


def _message(renderer: Renderer, event: WatchEvent) -> bytes:
    data = renderer.event(event)
    if renderer.media == PROTOBUF:
        return websocket.message(data[_FRAME_LENGTH:], binary=True)
    return websocket.message(data)
