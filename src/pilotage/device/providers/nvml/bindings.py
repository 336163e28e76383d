"""NVIDIA's management library, called through its Python binding (`pip install 'pilotage[nvml]'`)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pilotage.device.providers.nvml.calls import DEVICE_CALLS, SYSTEM_CALLS
from pilotage.device.providers.nvml.library import WATCHED_EVENTS, Answer, DeviceEvent, NVMLError, Return
from pilotage.errors import MissingExtra

DRIVER_ROOT_VARIABLE = "NVIDIA_DRIVER_ROOT"
DRIVER_ROOT = "/run/nvidia/driver"
"""The root of a driver that is installed by a container."""
LIBRARY_FILE = "libnvidia-ml.so.1"
LIBRARY_FOLDERS = (
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib",
    "lib64",
    "lib",
)


def library_paths(driver_root: str) -> Iterator[Path]:
    """The paths of the library under a driver root, in the order of the search."""
    return (Path(driver_root) / folder / LIBRARY_FILE for folder in LIBRARY_FOLDERS)


class BoundLibrary:
    """A `Library` over the binding. The default `driver_root` is NVIDIA_DRIVER_ROOT, a driver container, or the
    system's own library."""

    def __init__(self, driver_root: str = "") -> None:
        self._driver_root = driver_root or os.environ.get(DRIVER_ROOT_VARIABLE, "") or DRIVER_ROOT
        self._handles: dict[int, Any] = {}
        self._events: Any = None
        self._binding: Any = None

    def open(self) -> None:
        """Raises MissingExtra if the binding is not installed."""
        try:
            import pynvml
        except ImportError:
            raise MissingExtra("reading NVIDIA GPUs", "nvml") from None
        if pynvml.nvmlLib is None:
            pynvml.nvmlLib = _loaded(self._driver_root)  # None: the binding searches the system's library
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise _translated(error) from None
        self._binding = pynvml

    def close(self) -> None:
        binding, events = self._binding, self._events
        self._binding = self._events = None
        self._handles.clear()
        if binding is None:
            return
        for let_go in (lambda: events is not None and binding.nvmlEventSetFree(events), binding.nvmlShutdown):
            with suppress(binding.NVMLError):  # the driver is not loaded any more
                let_go()

    def ask(self, call: str, device: int = -1) -> Answer:
        binding = self._opened()
        try:
            if call in SYSTEM_CALLS:
                return SYSTEM_CALLS[call](binding)
            return DEVICE_CALLS[call](binding, self._handle(device))
        except binding.NVMLError as error:
            raise _translated(error) from None
        except AttributeError:
            raise NVMLError(
                Return.FUNCTION_NOT_FOUND, f"the installed nvidia-ml-py is too old for {call}: upgrade it"
            ) from None

    def subscribe(self, device: int, types: int = WATCHED_EVENTS) -> int:
        binding = self._opened()
        try:
            if self._events is None:
                self._events = binding.nvmlEventSetCreate()
            handle = self._handle(device)
            wanted = types & int(binding.nvmlDeviceGetSupportedEventTypes(handle))
            if wanted:
                binding.nvmlDeviceRegisterEvents(handle, wanted, self._events)
        except binding.NVMLError as error:
            raise _translated(error) from None
        return wanted

    def wait(self, seconds: float) -> DeviceEvent | None:
        binding = self._opened()
        if self._events is None:
            raise NVMLError(Return.NOT_SUPPORTED, "no GPU supports events")
        try:
            data = binding.nvmlEventSetWait(self._events, max(0, round(seconds * 1000)))
        except binding.NVMLError as error:
            if error.value == Return.TIMEOUT:
                return None
            raise _translated(error) from None
        return DeviceEvent(self._index(data.device), int(data.eventType), int(data.eventData))

    def _opened(self) -> Any:
        if self._binding is None:
            raise NVMLError(Return.UNINITIALIZED, "the library is not open")
        return self._binding

    def _handle(self, device: int) -> Any:
        handle = self._handles.get(device)
        if handle is None:
            handle = self._handles[device] = self._binding.nvmlDeviceGetHandleByIndex(device)
        return handle

    def _index(self, handle: Any) -> int:
        """The index of a handle, by its address: a lost GPU does not report its index."""
        address = _address(handle)
        return next((index for index, known in self._handles.items() if _address(known) == address), -1)


def _loaded(driver_root: str) -> ctypes.CDLL | None:
    for path in library_paths(driver_root):
        if path.exists():
            try:
                return ctypes.CDLL(str(path))
            except OSError as error:
                raise NVMLError(Return.LIBRARY_NOT_FOUND, f"cannot load {path}: {error}") from error
    return None


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


def _translated(error: Any) -> NVMLError:
    return NVMLError(int(error.value), str(error))
