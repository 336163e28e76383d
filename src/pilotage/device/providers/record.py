"""Record the results of NVIDIA's management library: `python -m pilotage.device.providers.record FILE --seconds 60`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pilotage.device.providers.nvml.bindings import BoundLibrary
from pilotage.device.providers.nvml.calls import IDENTITY_CALLS
from pilotage.device.providers.nvml.library import Library, NVMLError
from pilotage.device.providers.nvml.opening import explanation, open_library
from pilotage.device.providers.nvml.readings import read
from pilotage.device.providers.recording import Recording, RecordingLibrary, anonymous
from pilotage.errors import MissingExtra
from pilotage.meta.scalars import times


def record(
    library: Library,
    seconds: float,
    interval: float,
    *,
    marks: Sequence[tuple[float, str]] = (),
    at_mark: Callable[[str], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Recording:
    """Poll all GPUs and record the results and the events.

    At each of `marks` (seconds, text) `at_mark` is called, for example to start a load. The recording contains UUIDs
    and serial numbers. Raises NVMLError if the library cannot be opened.
    """
    recorder = RecordingLibrary(library, clock)
    shown = open_library(recorder)
    try:
        for identity in shown.identities:
            for call in IDENTITY_CALLS:
                _tried(recorder, call, identity.index)
        start = clock()
        waiting = list(marks)
        while (elapsed := clock() - start) < seconds:
            while waiting and waiting[0][0] <= elapsed:
                recorder.mark(waiting[0][1])
                if at_mark is not None:
                    at_mark(waiting[0][1])
                del waiting[0]
            for identity in shown.identities:
                read(recorder, identity.index)
            _listen(recorder, bool(shown.event_gpus), interval, sleep)
    finally:
        recorder.close()
    recording = anonymous(recorder.finish())
    recording.recorded = times.format(times.system_clock())
    return recording


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pilotage.device.providers.record", description=__doc__)
    parser.add_argument("file", type=Path, help="where to write the recording")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to record (60)")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two polls (1)")
    parser.add_argument("--driver-root", default="", help="the root of the driver, if it is not the root of the system")
    options = parser.parse_args(arguments)
    try:
        recording = record(BoundLibrary(options.driver_root), options.seconds, options.interval)
    except (NVMLError, MissingExtra) as error:
        print(f"cannot record: {explanation(error)}", file=sys.stderr)
        return 1
    options.file.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1))
    print(f"{options.file}: {recording.seconds:.0f} s, {len(recording.events)} events")
    return 0


def _listen(library: RecordingLibrary, has_events: bool, seconds: float, sleep: Callable[[float], None]) -> None:
    try:
        if has_events:
            library.wait(seconds)
            return
    except NVMLError as error:
        print(f"cannot wait for events: {error}", file=sys.stderr)
    sleep(seconds)


def _tried(library: RecordingLibrary, call: str, device: int) -> None:
    with suppress(NVMLError):  # errors are recorded too
        library.ask(call, device)


if __name__ == "__main__":
    sys.exit(main())
