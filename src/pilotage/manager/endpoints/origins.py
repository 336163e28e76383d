"""The check of the debug server: no page of another site reads it.

The servers of metrics and of probes have no such check. They answer under any name, as Prometheus and the kubelet ask,
and have no names of objects; a filter decides who reads metrics.
"""

from __future__ import annotations

from pilotage.http.health import text_response
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.origins import foreign, is_address


def without_foreign_pages(handler: Handler) -> Handler:
    """The handler, which answers requests to an IP address or `localhost` alone, and none of other sites' pages."""

    async def answer(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        if reason := foreign(request, is_address):
            return text_response(403, f"{reason}: use an IP address, or localhost through a port-forward")
        return await handler(request)

    return answer
