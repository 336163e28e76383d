"""The health endpoint on the supervisor's loop. The program's loop runs the checks; while it is blocked, the supervisor
answers the probe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.http.health import HealthHandler, text_response
from pilotage.http.messages import HTTPRequest, HTTPResponse

EVENT_LOOP = "eventLoop"
"""The check that the event loop is not blocked."""

BLOCKED_SECONDS = 0.5
"""How long the supervisor waits for the loop before it answers the probe itself: a kubelet waits for one second."""

_LOOK_SECONDS = 0.1


class SupervisedHealth:
    """Passes a probe to the handler on the program's loop.

    While that loop is blocked, the checks have the results of the last probe, and `eventLoop` has the result of `holds`
    for the seconds that the loop has been blocked.
    """

    def __init__(
        self, handler: HealthHandler, blocked_seconds: Callable[[], float], holds: Callable[[float], bool]
    ) -> None:
        self._handler = handler
        self._blocked_seconds = blocked_seconds
        self._holds = holds
        self._loop = asyncio.get_running_loop()

    async def __call__(self, request: HTTPRequest) -> HTTPResponse:
        """Called on the supervisor's loop."""
        handling = self._handler(request)
        try:
            answer = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(handling, self._loop))
        except RuntimeError:  # that loop is closed
            handling.close()
            return text_response(503, "the program is ending")
        while not answer.done():
            if (seconds := self._blocked_seconds()) >= BLOCKED_SECONDS:
                # Else the checks of all probes that arrive meanwhile would run when the loop is free again.
                answer.cancel()
                return self._handler.last_answer(request, {EVENT_LOOP: self._holds(seconds)})
            await asyncio.wait([answer], timeout=_LOOK_SECONDS)
        return answer.result()
