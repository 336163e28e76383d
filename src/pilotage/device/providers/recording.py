"""A recording of the results of NVIDIA's management library, as JSON.

    {"format": 1, "recorded": "2026-01-01T00:00:00Z", "seconds": 60.0,
     "subscribed": {"0": 10},
     "answers": {"-1": {"count": [[0.0, {"value": 1}]]},
                 "0": {"temperature": [[0.0, {"value": 31}], [12.5, {"value": 32}]],
                       "numa": [[0.0, {"code": 3, "error": "Not Supported"}]]}},
     "events": [[30.0, {"device": 0, "type": 8, "data": 31}]],
     "marks": [[0.0, "idle"], [20.0, "load"]]}

Times are seconds since the beginning. A result is valid until the next one; only changes are recorded. The index -1 is
for calls of the library itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from pilotage.device.providers.nvml.library import Answer, DeviceEvent, Library, NVMLError
from pilotage.errors import DecodeError

MAX_BYTES = 64 * 1024 * 1024


class RecordedResult(msgspec.Struct, omit_defaults=True):
    """One result: a value, or the code and text of an error."""

    value: Any = None
    code: int = 0
    error: str = ""

    def result(self) -> Answer:
        """The value; raises NVMLError for an error."""
        if self.code:
            raise NVMLError(self.code, self.error)
        answer: Answer = self.value
        return answer


class RecordedEvent(msgspec.Struct):
    """An event of a GPU."""

    device: int
    type: int
    data: int


Answers: TypeAlias = dict[str, dict[str, list[tuple[float, RecordedResult]]]]


class Recording(msgspec.Struct):
    """The results with their times."""

    format: Literal[1] = 1
    recorded: str = ""
    seconds: float = 0.0
    subscribed: dict[str, int] = {}
    answers: Answers = {}
    events: list[tuple[float, RecordedEvent]] = []
    marks: list[tuple[float, str]] = []

    def answer(self, call: str, device: int, at: float) -> RecordedResult | None:
        """The result at a time, or the first one if there was none yet; None if the call was never made."""
        found = self.answers.get(str(device), {}).get(call)
        if not found:
            return None
        return found[max(bisect_right(found, at, key=lambda entry: entry[0]) - 1, 0)][1]


def load(path: str | Path) -> Recording:
    """Read a recording from a file. Raises DecodeError."""
    data = Path(path).read_bytes()
    if len(data) > MAX_BYTES:
        raise DecodeError(f"the recording {path} has {len(data)} bytes, and the limit is {MAX_BYTES}")
    try:
        return msgspec.json.decode(data, type=Recording)
    except msgspec.DecodeError as error:
        raise DecodeError(f"{path} is not a recording of NVML: {error}") from error


def shipped() -> Recording:
    """The recording that ships with Pilotage: an NVIDIA H200 at rest, under load and at rest again."""
    data = (resources.files("pilotage.device.providers") / "recordings" / "h200.json").read_bytes()
    return msgspec.json.decode(data, type=Recording)


def anonymous(recording: Recording) -> Recording:
    """The same recording with made-up UUIDs and serial numbers."""
    for device, calls in recording.answers.items():
        for call, value in (("uuid", f"GPU-{device:0>8}-0000-4000-8000-000000000000"), ("serial", f"{device:0>13}")):
            calls[call] = [(at, found if found.code else RecordedResult(value)) for at, found in calls.get(call, ())]
    return recording


class RecordingLibrary:
    """A `Library` that records the results of another one. `clock` returns seconds."""

    def __init__(self, library: Library, clock: Callable[[], float]) -> None:
        self.recording = Recording()
        self._library = library
        self._clock = clock
        self._start = clock()

    def mark(self, text: str) -> None:
        """Add a mark at the current time."""
        self.recording.marks.append((self._now(), text))

    def finish(self) -> Recording:
        """The recording up to now."""
        self.recording.seconds = self._now()
        return self.recording

    def open(self) -> None:
        self._noted("open", -1, self._library.open)

    def close(self) -> None:
        self._library.close()

    def ask(self, call: str, device: int = -1) -> Answer:
        return self._noted(call, device, lambda: self._library.ask(call, device))

    def subscribe(self, device: int, types: int) -> int:
        supported = self._library.subscribe(device, types)
        self.recording.subscribed[str(device)] = supported
        return supported

    def wait(self, seconds: float) -> DeviceEvent | None:
        event = self._library.wait(seconds)
        if event is not None:
            self.recording.events.append((self._now(), RecordedEvent(event.device, event.type, event.data)))
        return event

    def _noted(self, call: str, device: int, ask: Callable[[], Answer]) -> Answer:
        try:
            answer = ask()
        except NVMLError as error:
            self._note(call, device, RecordedResult(code=error.code, error=str(error)))
            raise
        self._note(call, device, RecordedResult(value=answer))
        return answer

    def _note(self, call: str, device: int, found: RecordedResult) -> None:
        answers = self.recording.answers.setdefault(str(device), {}).setdefault(call, [])
        if not answers or answers[-1][1] != found:
            answers.append((self._now(), found))

    def _now(self) -> float:
        return round(self._clock() - self._start, 3)
