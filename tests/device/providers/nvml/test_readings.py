from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.providers.nvml.calls import LIVE_CALLS
from pilotage.device.providers.nvml.library import NVMLError, Return
from pilotage.device.providers.nvml.readings import Lost, Readings, RemappedRows, Unreadable, identify, parse, read

from ..fakes import HEALTHY, MockLibrary, name_of, uuid_of


def test_identity_is_read_and_what_is_missing_is_empty() -> None:
    library = MockLibrary(2)
    library.gpus[1]["serial"] = NVMLError(Return.NO_PERMISSION, "Insufficient Permissions")
    identity = identify(library, 1)
    assert (identity.index, identity.uuid, identity.name) == (1, uuid_of(1), name_of(1))
    assert (identity.model, identity.serial, identity.slowdown_margin) == ("NVIDIA H200", "", -2)


def test_gpu_that_does_not_say_its_uuid_has_no_identity() -> None:
    library = MockLibrary()
    library.gpus[0]["uuid"] = NVMLError(Return.UNKNOWN, "Unknown Error")
    with pytest.raises(NVMLError):
        identify(library, 0)


def test_readings_of_a_gpu_at_rest() -> None:
    readings, _ = read(MockLibrary(), 0)
    assert isinstance(readings, Readings)
    assert (readings.temperature, readings.margin, readings.power, readings.power_limit) == (31, 55, 76.5, 700.0)
    assert readings.clocks == {"graphics": 345, "sm": 345, "memory": 3201, "video": 765}
    assert readings.remapped_rows == RemappedRows(0, 0, pending=False, failure=False)
    assert readings.links == (True,) * 18
    assert (readings.retired_pages, readings.retired_pending) == (None, None)


def test_call_that_is_not_supported_is_skipped_the_next_time_and_one_that_failed_is_not() -> None:
    library = MockLibrary()
    library.gpus[0]["power"] = NVMLError(Return.UNKNOWN, "Unknown Error")
    library.gpus[0]["sram"] = NVMLError(Return.ARGUMENT_VERSION_MISMATCH, "Argument version mismatch")
    _, skipped = read(library, 0)
    assert skipped == {"retired_pages", "retired_pending", "fabric", "sram"}
    library.calls.clear()
    read(library, 0, skipped)
    assert "power" in library.calls
    assert skipped.isdisjoint(library.calls)


def test_lost_gpu_is_lost_at_the_first_call_that_fails_so() -> None:
    library = MockLibrary()
    library.lose(0)
    assert read(library, 0)[0] == Lost("GPU is lost")
    assert len(library.calls) == 1


def test_gpu_that_must_be_reset_reports_it_even_if_all_other_calls_fail() -> None:
    library = MockLibrary()
    library.gpus[0]["*"] = NVMLError(Return.RESET_REQUIRED, "GPU requires restart")
    readings, _ = read(library, 0)
    assert isinstance(readings, Readings)
    assert readings.reset_demanded


def test_gpu_that_refuses_everything_is_unreadable() -> None:
    library = MockLibrary()
    library.gpus[0]["*"] = NVMLError(Return.NO_PERMISSION, "Insufficient Permissions")
    reading, skipped = read(library, 0)
    assert reading == Unreadable("all calls to the GPU failed: Insufficient Permissions")
    assert not skipped


def test_slow_gpu_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    library = MockLibrary()
    monkeypatch.setattr("time.monotonic", lambda: float(len(library.calls)))  # a second for each call
    reading, _ = read(library, 0)
    assert isinstance(reading, Unreadable)
    assert len(library.calls) == 6


def test_driver_that_is_gone_is_nothing_about_one_gpu() -> None:
    library = MockLibrary()
    library.gone = NVMLError(Return.DRIVER_NOT_LOADED, "Driver Not Loaded")
    with pytest.raises(NVMLError):
        read(library, 0)


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(LIVE_CALLS)), odd))
def test_whatever_is_answered_can_be_read(answers: dict[str, object]) -> None:
    assert isinstance(parse(answers), Readings)  # type: ignore[arg-type]  # odd on purpose


def test_everything_that_is_asked_at_each_poll_is_in_the_test_gpu_or_not_supported_by_it() -> None:
    assert set(LIVE_CALLS) - set(HEALTHY) == {"retired_pages", "retired_pending", "fabric"}
