"""What the page is sent while it is open: encoded once for all viewers, at a bounded rate, and never buffered.

Each sort of event has the last frame alone. A viewer that reads too slowly does not get the frames between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from pilotage.dashboard.values import Changed, Overview, Summaries, Summary, encode
from pilotage.history.runs import Run

TICK = 0.25
"""Seconds between two looks at the history."""
TICKS_OF_OVERVIEW = 4
_MARGIN = 0.8
"""Of a tick: the next viewer that wakes after this part of it looks again."""
HEARTBEAT = 5.0
ROWS = 25
"""Reconciles of one tick that are sent."""
ROWS_OF_MORE = 8
"""Of more, only the newest are: a reader sees no others, and a row costs more than all else of a reconcile."""
MOST_VIEWERS = 16
_COMMENT = b": alive\n\n"
_BEGIN = b"retry: 1000\n\n"


class Frames:
    """The last frame of each sort of event, with its number."""

    def __init__(self) -> None:
        self._frames: dict[str, tuple[int, bytes]] = {}
        self._number = 0

    @property
    def number(self) -> int:
        return self._number

    def put(self, event: str, body: bytes) -> None:
        """Replace the frame of a sort of event."""
        self._number += 1
        frame = b"event: %b\nid: %d\ndata: %b\n\n" % (event.encode(), self._number, body)
        self._frames[event] = self._number, frame

    def since(self, number: int) -> bytes:
        """The frames after one, in their order."""
        newer = sorted(frame for frame in self._frames.values() if frame[0] > number)
        return b"".join(frame for _, frame in newer)


class Stream:
    """Sends what is new to its viewers. The first of them that wakes looks for all; without viewers nothing runs.

    `look` returns the runs that have ended since its last call, and the number of objects that have changed; `show` the
    overview without series, and `row` the row of a run.
    """

    def __init__(
        self,
        look: Callable[[], tuple[Sequence[Run], int]],
        show: Callable[[], Overview],
        row: Callable[[Run], Summary],
        now: Callable[[], float],
    ) -> None:
        self._look = look
        self._show = show
        self._row = row
        self._now = now
        self._frames = Frames()
        self._shown: Overview | None = None
        self._next_tick = 0.0
        self._ticks = 0
        self.viewers = 0

    @property
    def has_room(self) -> bool:
        return self.viewers < MOST_VIEWERS

    def tick(self, *, with_overview: bool) -> None:
        """Make the frames of what is new."""
        ended, changed = self._look()
        if ended:
            shown = ended if len(ended) <= ROWS else ended[-ROWS_OF_MORE:]
            rows = tuple(self._row(run) for run in shown)
            self._frames.put("summaries", encode(Summaries(rows, len(ended) - len(rows))))
        if changed:
            self._frames.put("objects", encode(Changed(changed)))
        if with_overview:
            self._put_overview(self._show())

    async def chunks(self) -> AsyncIterator[bytes]:
        """What one viewer is sent."""
        if not self.viewers:
            self._look()  # what happened before is in the answers to requests
        self.viewers += 1
        self._shown = None  # it gets an overview at the next tick
        number, sent = self._frames.number, self._now()
        try:
            yield _BEGIN
            while True:
                await asyncio.sleep(TICK)
                self._tick_when_due()
                newest = self._frames.number
                if newest > number:
                    found, number, sent = self._frames.since(number), newest, self._now()
                    yield found
                elif self._now() - sent >= HEARTBEAT:
                    sent = self._now()
                    yield _COMMENT
        finally:
            self.viewers -= 1

    def _tick_when_due(self) -> None:
        now = self._now()
        if now < self._next_tick:
            return
        self._next_tick = now + TICK * _MARGIN  # viewers wake at different moments
        self.tick(with_overview=self._ticks % TICKS_OF_OVERVIEW == 0 or self._shown is None)
        self._ticks += 1

    def _put_overview(self, overview: Overview) -> None:
        """Send an overview that differs in more than the time."""
        watches = tuple(msgspec.structs.replace(each, fresh=None) for each in overview.watches)
        timeless = msgspec.structs.replace(overview, now=overview.program.started, watches=watches)
        if timeless != self._shown:
            self._shown = timeless
            self._frames.put("overview", encode(overview))
