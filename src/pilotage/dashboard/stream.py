"""What the page is sent while it is open: encoded once for all viewers, at a bounded rate, and never buffered.

Each sort of event has the last frame alone. A viewer that reads too slowly does not get the frames between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from pilotage.dashboard.values import Changed, Overview, Summaries, Summary, encode
from pilotage.history.records import Run

TICK = 0.25
"""Seconds between two looks at the history."""
TICKS_OF_OVERVIEW = 4
HEARTBEAT = 5.0
ROWS = 25
"""Reconciles of one tick that are sent; of more, the newest."""
MOST_VIEWERS = 16
_COMMENT = b": alive\n\n"


class Frames:
    """The last frame of each sort of event, with its number."""

    def __init__(self) -> None:
        self._frames: dict[str, tuple[int, bytes]] = {}
        self._number = 0
        self._changed = asyncio.Event()

    @property
    def number(self) -> int:
        return self._number

    def put(self, event: str, body: bytes) -> None:
        """Replace the frame of a sort of event."""
        self._number += 1
        frame = b"event: %b\nid: %d\ndata: %b\n\n" % (event.encode(), self._number, body)
        self._frames[event] = self._number, frame
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def since(self, number: int) -> bytes:
        """The frames after one, in their order."""
        newer = sorted(frame for frame in self._frames.values() if frame[0] > number)
        return b"".join(frame for _, frame in newer)

    async def wait(self, seconds: float) -> bool:
        """Wait for the next frame; False if none came in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


class Stream:
    """Sends what is new while there are viewers. `look` returns the runs that have ended since its last call, and the
    number of objects that have changed; `show` the overview without series, and `row` the row of a run."""

    def __init__(
        self,
        look: Callable[[], tuple[Sequence[Run], int]],
        show: Callable[[], Overview],
        row: Callable[[Run], Summary],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._look = look
        self._show = show
        self._row = row
        self._sleep = sleep
        self._frames = Frames()
        self._came = asyncio.Event()
        self._shown: Overview | None = None
        self.viewers = 0

    @property
    def has_room(self) -> bool:
        return self.viewers < MOST_VIEWERS

    async def run(self) -> None:
        """Look at the history while there are viewers, until cancelled."""
        ticks = 0
        while True:
            if not self.viewers:
                await self._came.wait()
                ticks = 0
                self._look()  # what happened before is in the answers to requests
            self.tick(with_overview=ticks % TICKS_OF_OVERVIEW == 0)
            ticks += 1
            await self._sleep(TICK)

    def tick(self, *, with_overview: bool) -> None:
        """Make the frames of what is new."""
        ended, changed = self._look()
        if ended:
            rows = tuple(self._row(run) for run in ended[-ROWS:])
            self._frames.put("summaries", encode(Summaries(rows, len(ended) - len(rows))))
        if changed:
            self._frames.put("objects", encode(Changed(changed)))
        if with_overview:
            self._put_overview(self._show())

    async def chunks(self) -> AsyncIterator[bytes]:
        """What one viewer is sent."""
        self.viewers += 1
        self._came.set()
        number = self._frames.number
        self._shown = None  # it gets an overview at the next tick
        try:
            yield b"retry: 1000\n\n"
            while True:
                newest = self._frames.number
                if newest > number:
                    found, number = self._frames.since(number), newest
                    yield found
                elif not await self._frames.wait(HEARTBEAT):
                    yield _COMMENT
        finally:
            self.viewers -= 1
            if not self.viewers:
                self._came.clear()

    def _put_overview(self, overview: Overview) -> None:
        """Send an overview that differs in more than the time."""
        watches = tuple(msgspec.structs.replace(each, fresh=None) for each in overview.watches)
        timeless = msgspec.structs.replace(overview, now=overview.program.started, watches=watches)
        if timeless != self._shown:
            self._shown = timeless
            self._frames.put("overview", encode(overview))
