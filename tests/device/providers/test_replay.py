from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pilotage.device import providers
from pilotage.device.providers.nvml.library import EventType, NVMLError, Return
from pilotage.device.providers.nvml.metrics import XIDS
from pilotage.device.providers.nvml.opening import open_library
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.readings import read
from pilotage.device.providers.record import main, record
from pilotage.device.providers.recording import RecordedEvent, RecordedResult, Recording, RecordingLibrary, load
from pilotage.device.providers.replay import ReplayLibrary, replay_provider
from pilotage.errors import DecodeError
from tests.clocks import Seconds

from .fakes import MockLibrary, device_api, uuid_of

FOLDERS = (Path(__file__).parent, Path(providers.__file__).parent)
RECORDINGS = sorted(file for folder in FOLDERS for file in (folder / "recordings").glob("*.json"))


def recorded(library: MockLibrary, happenings: dict[str, Callable[[], None]] | None = None) -> Recording:
    """A minute in which something happens every ten seconds."""
    library.telling = 0
    clock = Seconds(100.0)
    happenings = happenings or {}
    marks = [(10.0 * number, name) for number, name in enumerate(happenings)]
    recording = record(
        library, 60, 1.0, marks=marks, at_mark=lambda name: happenings[name](), clock=clock, sleep=clock.sleep
    )
    recording.subscribed = {"0": 8}
    return recording


def test_recording_holds_each_answer_once_until_it_changes() -> None:
    library = MockLibrary()
    gpu = library.gpus[0]
    recording = recorded(
        library,
        {"rest": lambda: None, "warm": lambda: gpu.update(temperature=40), "hot": lambda: gpu.update(margin=-9)},
    )
    assert recording.answers["0"]["temperature"] == [(0.0, RecordedResult(31)), (10.0, RecordedResult(40))]
    assert recording.answers["0"]["margin"] == [(0.0, RecordedResult(55)), (20.0, RecordedResult(-9))]
    assert recording.answers["0"]["retired_pages"] == [(0.0, RecordedResult(code=3, error="Not Supported"))]
    assert recording.answers["-1"]["count"] == [(0.0, RecordedResult(1))]
    assert recording.marks == [(0.0, "rest"), (10.0, "warm"), (20.0, "hot")]
    assert recording.seconds == 60.0
    assert not library.is_open


def test_recording_names_no_machine() -> None:
    library = MockLibrary(2)
    library.gpus[1] |= {"uuid": "GPU-secret", "serial": "secret"}
    assert b"secret" not in msgspec.json.encode(recorded(library))


def test_recording_survives_a_file(tmp_path: Path) -> None:
    recording = recorded(MockLibrary(2))
    file = tmp_path / "recording.json"
    file.write_bytes(msgspec.json.encode(recording))
    assert load(file) == recording


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"answers": {"0": 5}}'])
def test_file_that_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "recording.json"
    file.write_text(text)
    with pytest.raises(DecodeError, match="is not a recording of NVML"):
        load(file)


def test_replay_gives_the_readings_of_the_time() -> None:
    library = MockLibrary()
    expected = [read(library, 0)]
    gpu = library.gpus[0]
    recording = recorded(library, {"rest": lambda: None, "hot": lambda: gpu.update(margin=-9, power=700_000)})
    expected.append(read(library, 0))
    clock = Seconds(100.0)
    replay = ReplayLibrary(recording, clock=clock)
    assert [identity.uuid for identity in open_library(replay).identities] == [uuid_of(0)]
    assert read(replay, 0) == expected[0]
    clock.now += 10
    assert read(replay, 0) == expected[1]
    clock.now += 1000
    assert read(replay, 0) == expected[1]


def test_replay_that_loops_begins_again() -> None:
    library = MockLibrary()
    gpu = library.gpus[0]
    recording = recorded(library, {"rest": lambda: None, "hot": lambda: gpu.update(temperature=90)})
    recording.events = [(5.0, RecordedEvent(0, 8, 31))]
    clock = Seconds(100.0)
    replay = ReplayLibrary(recording, clock=clock, loop=True)
    open_library(replay)
    seen = []
    for _ in range(12):
        clock.now += 10
        event = replay.wait(0)
        seen.append((replay.ask("temperature", 0), event.data if event else None))
    assert seen == [(90, 31), (90, None), (90, None), (90, None), (90, None), (31, None)] * 2


def test_replay_knows_no_more_than_was_recorded() -> None:
    replay = ReplayLibrary(Recording(answers={"-1": {"count": [(0.0, RecordedResult(1))]}}))
    with pytest.raises(NVMLError) as raised:
        replay.ask("count")
    assert raised.value.code == Return.UNINITIALIZED
    replay.open()
    assert replay.ask("count") == 1
    with pytest.raises(NVMLError) as raised:
        replay.ask("uuid", 0)
    assert raised.value.code == Return.NOT_SUPPORTED


def test_library_that_could_not_be_opened_cannot_be_in_the_replay_either() -> None:
    broken = MockLibrary()
    broken.open_error = NVMLError(Return.DRIVER_NOT_LOADED, "Driver Not Loaded")
    recorder = RecordingLibrary(broken, Seconds(100.0))
    with pytest.raises(NVMLError):
        recorder.open()
    with pytest.raises(NVMLError) as raised:
        ReplayLibrary(recorder.finish()).open()
    assert raised.value.driver_gone


def test_events_are_recorded_with_their_time() -> None:
    library = MockLibrary()
    clock = Seconds(100.0)
    recorder = RecordingLibrary(library, clock)
    recorder.subscribe(0, EventType.XID)
    clock.sleep(3)
    library.xid(79)
    recorder.wait(0)
    assert recorder.recording.subscribed == {"0": 8}
    [(at, event)] = recorder.recording.events
    assert (at, event.data) == (3.0, 79)


@pytest.mark.virtual_time
async def test_recorded_trouble_takes_the_same_way_through_the_provider() -> None:
    library = MockLibrary()
    gpu = library.gpus[0]
    recording = recorded(
        library,
        {
            "rest": lambda: None,
            "hot": lambda: gpu.update(margin=-9),
            "cool": lambda: gpu.update(margin=50),
            "broken": lambda: gpu.update(recovery_action=1),
            "mended": lambda: gpu.update(recovery_action=0),
        },
    )
    recording.events = [(33.0, RecordedEvent(0, 8, 95))]
    provider = replay_provider(recording, NVMLOptions(poll_seconds=2), clock=asyncio.get_running_loop().time)
    seen = []
    async with device_api() as api, api.running(provider):
        for _ in range(5):
            await asyncio.sleep(9)
            states = await api.states()
            seen.append([states["Degraded"], states["ResetRequired"], states["Ready"]])
            await asyncio.sleep(1)
    well = ["False NotDegraded", "False ResetNotRequired", "True DriverReady"]
    assert seen == [
        well,
        ["True ThermalSlowdown", *well[1:]],
        well,
        [well[0], "True UncontainedMemoryError", "False UncontainedMemoryError"],
        well,
    ]


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
@pytest.mark.virtual_time
async def test_gpus_of_a_recorded_machine_are_well_all_the_time(file: Path) -> None:
    recording = load(file)
    loop = asyncio.get_running_loop()
    provider = replay_provider(recording, NVMLOptions(poll_seconds=1), clock=loop.time)
    async with device_api() as api, api.running(provider):
        await asyncio.sleep(2)
        first = await api.gpus()
        assert len(first) == recording.answers["-1"]["count"][0][1].value
        assert {gpu.status.conditions[0].status for gpu in first} == {"True"}
        await asyncio.sleep(recording.seconds)
        assert await api.gpus() == first  # nothing was worth a write


@pytest.mark.parametrize(
    ("xid", "resetting"),
    [(31, []), (95, ["True UncontainedMemoryError"])],
    ids=["as it was", "as if it had been worse"],
)
@pytest.mark.virtual_time
async def test_xid_that_a_real_gpu_reported_is_counted_and_classified(xid: int, resetting: list[str]) -> None:
    """An H200 on which a program accessed invalid memory: XID 31, an error of the program and not of the node."""
    recording = load(Path(__file__).parent / "recordings" / "h200-xid-31.json")
    [(at, event)] = recording.events
    assert (event.type, event.data) == (EventType.XID, 31)
    recording.events = [(at, RecordedEvent(event.device, event.type, xid))]
    loop = asyncio.get_running_loop()
    provider = replay_provider(recording, NVMLOptions(poll_seconds=1), clock=loop.time)
    seen: list[str] = []
    async with device_api() as api, api.running(provider):
        await asyncio.sleep(2)
        [gpu] = await api.gpus()
        counted = XIDS.labels(gpu.metadata.name, gpu.spec.uuid, str(xid))
        before, first = counted.value, (await api.states())["ResetRequired"]
        for _ in range(20):
            await asyncio.sleep(1)
            seen.append((await api.states())["ResetRequired"])
        assert counted.value == before + 1
    changes = [now for was, now in itertools.pairwise([first, *seen]) if was != now]
    assert changes == resetting


def test_there_is_a_recording_of_a_real_gpu() -> None:
    assert "h200" in {file.stem for file in RECORDINGS}


def test_recorder_reports_that_there_is_nothing_to_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "lib"
    root.mkdir()
    (root / "libnvidia-ml.so.1").write_text("no library")
    assert main([str(tmp_path / "recording.json"), "--driver-root", str(tmp_path)]) == 1
    assert "cannot record" in capsys.readouterr().err
