"""The provider of recorded GPUs: the NVML provider with a library that replays a recording."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pilotage.device.providers.nvml.library import Answer, DeviceEvent, NVMLError, Return
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.provider import NVMLProvider
from pilotage.device.providers.nvml.worker import Inline
from pilotage.device.providers.recording import Recording, load


class ReplayLibrary:
    """A `Library` that replays a recording by `clock` (seconds), from when it is first opened.

    After the end the last results stay valid; with `loop` it starts again.
    """

    def __init__(
        self, recording: Recording, *, clock: Callable[[], float] = time.monotonic, loop: bool = False
    ) -> None:
        self._recording = recording
        self._clock = clock
        self._loop = loop and recording.seconds > 0
        self._start: float | None = None
        self._opened = False
        self._next = 0
        self._subscribed: set[int] = set()

    def open(self) -> None:
        if self._start is None:
            self._start = self._clock()
        if self._recording.answer("open", -1, 0.0) is not None:
            self._answer("open", -1)
        self._opened = True

    def close(self) -> None:
        self._opened = False
        self._subscribed.clear()

    def ask(self, call: str, device: int = -1) -> Answer:
        if not self._opened:
            raise NVMLError(Return.UNINITIALIZED, "the library is not open")
        return self._answer(call, device)

    def subscribe(self, device: int, types: int) -> int:
        supported = self._recording.subscribed.get(str(device), 0) & types
        if supported:
            self._subscribed.add(device)
        return supported

    def wait(self, seconds: float) -> DeviceEvent | None:
        event = self._take_event()
        if event is None and seconds > 0:
            time.sleep(seconds)
            event = self._take_event()
        return event

    def _take_event(self) -> DeviceEvent | None:
        """The next event that has happened by now."""
        events = self._recording.events
        while events and (self._loop or self._next < len(events)):
            turn, position = divmod(self._next, len(events))
            at, event = events[position]
            if at + turn * self._recording.seconds > self._elapsed():
                return None
            self._next += 1
            if event.device in self._subscribed:
                return DeviceEvent(event.device, event.type, event.data)
        return None

    def _answer(self, call: str, device: int) -> Answer:
        at = self._elapsed()
        found = self._recording.answer(call, device, at % self._recording.seconds if self._loop else at)
        if found is None:
            raise NVMLError(Return.NOT_SUPPORTED, f"the recording has no result of {call}")
        return found.result()

    def _elapsed(self) -> float:
        return 0.0 if self._start is None else self._clock() - self._start


def replay_provider(
    recording: Recording | str | Path,
    options: NVMLOptions | None = None,
    *,
    loop: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> NVMLProvider:
    """The NVML provider with a recording, or the file of one."""
    if not isinstance(recording, Recording):
        recording = load(recording)
    library = ReplayLibrary(recording, clock=clock, loop=loop)
    return NVMLProvider(options, worker=lambda: Inline(library), name="replay")
