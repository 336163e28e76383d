"""The calls on a binding that is made up, with pynvml's own names, structures and errors."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pilotage.device.providers.nvml import bindings
from pilotage.device.providers.nvml.bindings import BoundLibrary, library_paths
from pilotage.device.providers.nvml.calls import DEVICE_CALLS, LINK_COUNT, RECOVERY_ACTION, SLOWDOWN_MARGIN
from pilotage.device.providers.nvml.library import WATCHED_EVENTS, DeviceEvent, NVMLError, Return
from pilotage.errors import MissingExtra

pynvml = pytest.importorskip("pynvml")


class FakeDriver:
    """Stands where the shared library is: fills in what it is handed, as the C functions do."""

    def __init__(self) -> None:
        self.failing: dict[str, int] = {}
        self.missing: set[str] = set()
        self.events: list[tuple[int, int, int]] = []
        self.called: list[str] = []
        self.fields = {LINK_COUNT: (1, 3), SLOWDOWN_MARGIN: (5, -2), RECOVERY_ACTION: (1, 4), 161: (3, 7), 162: (3, 1)}

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name.startswith("_") or name in self.missing:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.called.append(name)
            if name in self.failing:
                return self.failing[name]
            return int(getattr(_Answers, name.removesuffix("_v2").removesuffix("_v3"), _nothing)(self, *arguments) or 0)

        return call


def _nothing(driver: FakeDriver, *arguments: Any) -> None:
    """Zero in everything, which is an answer too."""


def _set(reference: Any, value: Any) -> None:
    reference._obj.value = value


class _Answers:
    """What each function fills in."""

    @staticmethod
    def nvmlDeviceGetCount(driver: FakeDriver, count: Any) -> None:  # noqa: N802 - NVML's name
        _set(count, 1)

    @staticmethod
    def nvmlDeviceGetHandleByIndex(driver: FakeDriver, index: Any, handle: Any) -> None:  # noqa: N802
        handle._obj.contents = type(handle._obj)._type_()

    @staticmethod
    def nvmlDeviceGetUUID(driver: FakeDriver, handle: Any, buffer: Any, size: Any) -> None:  # noqa: N802
        buffer.value = b"GPU-aa"

    @staticmethod
    def nvmlDeviceGetMemoryInfo(driver: FakeDriver, handle: Any, memory: Any) -> None:  # noqa: N802
        reserved = 5  # which version 1 counts as used
        memory._obj.total, memory._obj.used = 1000, 10 if hasattr(memory._obj, "reserved") else 10 + reserved

    @staticmethod
    def nvmlDeviceGetMarginTemperature(driver: FakeDriver, handle: Any, margin: Any) -> None:  # noqa: N802
        margin._obj.marginTemperature = -7

    @staticmethod
    def nvmlDeviceGetRemappedRows(driver: FakeDriver, handle: Any, *rows: Any) -> None:  # noqa: N802
        for position, row in enumerate(rows):
            _set(row, position)

    @staticmethod
    def nvmlDeviceGetNvLinkState(driver: FakeDriver, handle: Any, link: int, state: Any) -> int:  # noqa: N802
        if link == 2:
            return Return.INVALID_ARGUMENT
        _set(state, int(link == 0))
        return 0

    @staticmethod
    def nvmlDeviceGetSramEccErrorStatus(driver: FakeDriver, handle: Any, status: Any) -> int:  # noqa: N802
        if not hasattr(status, "_obj") or status._obj.version != 0x1000000 | ctypes.sizeof(status._obj):
            return Return.ARGUMENT_VERSION_MISMATCH  # what a structure that is no reference comes to
        status._obj.aggregateUncParity, status._obj.aggregateUncSecDed, status._obj.bThresholdExceeded = 3, 4, 1
        return 0

    @staticmethod
    def nvmlDeviceGetFieldValues(driver: FakeDriver, handle: Any, count: Any, values: Any) -> None:  # noqa: N802
        for field in values._obj:
            if field.fieldId not in driver.fields:
                field.nvmlReturn = Return.NOT_SUPPORTED
                continue
            field.valueType, value = driver.fields[field.fieldId]
            setattr(field.value, ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal")[field.valueType], value)

    @staticmethod
    def nvmlDeviceGetSupportedEventTypes(driver: FakeDriver, handle: Any, types: Any) -> None:  # noqa: N802
        _set(types, 0x8 | 0x10)

    @staticmethod
    def nvmlEventSetWait(driver: FakeDriver, events: Any, data: Any, milliseconds: Any) -> int:  # noqa: N802
        if not driver.events:
            return Return.TIMEOUT
        _, data._obj.eventType, data._obj.eventData = driver.events.pop(0)
        return 0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    driver = FakeDriver()
    monkeypatch.setattr(pynvml, "nvmlLib", driver)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    return driver


@pytest.fixture
def library(driver: FakeDriver) -> BoundLibrary:
    library = BoundLibrary()
    library.open()
    return library


def test_every_call_gives_plain_data_or_an_error_of_ours(library: BoundLibrary) -> None:
    for call in DEVICE_CALLS:
        try:
            answer = library.ask(call, 0)
        except NVMLError:
            continue
        assert isinstance(answer, int | float | str | list | dict), call


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("uuid", "GPU-aa"),
        ("memory", {"total": 1000, "used": 10}),
        ("margin", -7),
        ("remapped_rows", {"corrected": 0, "uncorrected": 1, "pending": 2, "failure": 3}),
        ("links", [1, 0, None]),
        ("sram", {"uncorrected": 7, "thresholdExceeded": 1}),
        ("slowdown_margin", -2),
        ("recovery_action", 4),
        ("link_errors", {"replay": 21, "recovery": 3}),
        ("processes", 0),
    ],
)
def test_structures_of_the_binding_become_plain_answers(library: BoundLibrary, call: str, answer: object) -> None:
    assert library.ask(call, 0) == answer


def test_function_that_the_driver_does_not_have_is_an_error_and_the_older_one_is_tried(
    library: BoundLibrary, driver: FakeDriver
) -> None:
    driver.missing = {
        "nvmlDeviceGetMarginTemperature",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
    }
    with pytest.raises(NVMLError) as raised:
        library.ask("margin", 0)
    assert raised.value.code == Return.FUNCTION_NOT_FOUND
    assert library.ask("temperature", 0) == 0
    assert library.ask("clock_reasons", 0) == 0
    assert {"nvmlDeviceGetTemperature", "nvmlDeviceGetCurrentClocksThrottleReasons"} <= set(driver.called)


def test_memory_in_use_leaves_out_what_the_driver_reserves(library: BoundLibrary) -> None:
    assert library.ask("memory", 0) == {"total": 1000, "used": 10}


def test_memory_in_use_comes_from_version_1_where_the_driver_has_no_other(
    library: BoundLibrary, driver: FakeDriver
) -> None:
    driver.missing = {"nvmlDeviceGetMemoryInfo_v2"}
    assert library.ask("memory", 0) == {"total": 1000, "used": 15}


def test_memory_in_use_comes_from_version_1_where_the_binding_has_no_other(
    library: BoundLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pynvml, "nvmlMemory_v2")
    assert library.ask("memory", 0) == {"total": 1000, "used": 15}


def test_errors_of_the_driver_keep_their_code(library: BoundLibrary, driver: FakeDriver) -> None:
    driver.failing["nvmlDeviceGetPowerUsage"] = Return.GPU_IS_LOST
    with pytest.raises(NVMLError, match="lost") as raised:
        library.ask("power", 0)
    assert raised.value.lost
    assert not raised.value.driver_gone


def test_events_are_asked_for_only_as_far_as_the_gpu_has_them(library: BoundLibrary, driver: FakeDriver) -> None:
    assert library.subscribe(0, WATCHED_EVENTS) == 0x8
    assert library.wait(0) is None
    driver.events = [(0, 0x8, 79)]
    event = library.wait(0)
    assert event is not None
    assert event.xid == 79
    assert DeviceEvent(0, 0x2, 79).xid is None


def test_library_without_subscriptions_cannot_be_waited_on(library: BoundLibrary) -> None:
    with pytest.raises(NVMLError, match="no GPU supports events"):
        library.wait(0)


def test_closed_library_is_gone_and_closing_twice_is_fine(library: BoundLibrary, driver: FakeDriver) -> None:
    driver.failing["nvmlShutdown"] = Return.UNINITIALIZED
    library.subscribe(0, WATCHED_EVENTS)
    library.close()
    library.close()
    assert driver.called.count("nvmlEventSetFree") == 1
    with pytest.raises(NVMLError) as raised:
        library.ask("count")
    assert raised.value.driver_gone


def test_driver_that_is_not_loaded_is_reported_when_the_library_is_opened(driver: FakeDriver) -> None:
    driver.failing["nvmlInitWithFlags"] = Return.DRIVER_NOT_LOADED
    with pytest.raises(NVMLError) as raised:
        BoundLibrary().open()
    assert raised.value.driver_gone


def test_binding_that_is_not_installed_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pilotage\[nvml\]'"):
        BoundLibrary().open()


def test_library_is_looked_for_under_the_driver_root_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(path: str) -> FakeDriver:
        loaded.append(path)
        return FakeDriver()

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    for folder in ("usr/lib/x86_64-linux-gnu", "lib64"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libnvidia-ml.so.1").touch()
    monkeypatch.setenv(bindings.DRIVER_ROOT_VARIABLE, str(tmp_path))
    BoundLibrary().open()
    assert loaded == [str(tmp_path / "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")]
    assert next(library_paths("/r")) == Path("/r/usr/lib64/libnvidia-ml.so.1")


def test_file_that_is_not_a_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libnvidia-ml.so.1").write_text("no library")
    with pytest.raises(NVMLError, match="cannot load"):
        BoundLibrary(str(tmp_path)).open()


def test_binding_is_a_module_that_is_not_needed_to_import_ours() -> None:
    assert isinstance(pynvml, ModuleType)
    assert not hasattr(bindings, "pynvml")
