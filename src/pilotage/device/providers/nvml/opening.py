"""Opens the library and lists the GPUs; explains failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pilotage.device.providers.nvml.library import WATCHED_EVENTS, Library, NVMLError, Return
from pilotage.device.providers.nvml.readings import Identity, identify
from pilotage.device.providers.nvml.worker import DriverHangs
from pilotage.errors import MissingExtra

_EXPLANATIONS: Mapping[int, str] = {
    Return.LIBRARY_NOT_FOUND: "no NVIDIA driver is installed here, or its library is not mounted into this container",
    Return.DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    Return.NO_PERMISSION: "this user may not use the NVIDIA driver: give it access to /dev/nvidiactl and /dev/nvidia*",
    Return.LIB_RM_VERSION_MISMATCH: "the NVIDIA driver was replaced by another version: restart this process",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the library lists after it was opened."""

    identities: Sequence[Identity]
    unidentified: int = 0
    """The number of GPUs that cannot be identified."""
    event_gpus: frozenset[int] = frozenset()
    """The indexes of the GPUs with events."""
    driver: str = ""
    trouble: str = ""
    """Why one of them cannot be identified."""


def open_library(library: Library) -> Shown:
    """Open the library and list the GPUs. A GPU that fails does not affect the others."""
    library.close()
    library.open()
    count = library.ask("count")
    indexes = range(count if isinstance(count, int) else 0)
    identities: list[Identity] = []
    trouble = ""
    for index in indexes:
        try:
            identities.append(identify(library, index))
        except NVMLError as error:
            if error.driver_gone:
                raise
            trouble = trouble or explanation(error)
    return Shown(
        identities,
        unidentified=len(indexes) - len(identities),
        event_gpus=frozenset(identity.index for identity in identities if _supports_events(library, identity.index)),
        driver=_driver(library),
        trouble=trouble,
    )


def explanation(error: NVMLError | DriverHangs | MissingExtra) -> str:
    """The reason of an error and what to do."""
    text = _EXPLANATIONS.get(error.code) if isinstance(error, NVMLError) else None
    return f"{text} ({error})" if text else str(error)


def _supports_events(library: Library, index: int) -> bool:
    try:
        return library.subscribe(index, WATCHED_EVENTS) != 0
    except NVMLError as error:
        if error.driver_gone:
            raise
        return False


def _driver(library: Library) -> str:
    try:
        system = library.ask("system")
    except NVMLError as error:
        if error.driver_gone:
            raise
        return ""
    return str(system.get("driver", "")) if isinstance(system, dict) else ""
