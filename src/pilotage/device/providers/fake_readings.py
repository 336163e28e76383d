"""Readings of a fake GPU: plausible values that depend on the GPU and the time. No I/O.

The load of the GPU rises and falls within minutes. Power and utilisation change with it, temperature a little later,
memory with the longer of its two waves; corrected errors occur every few hours.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime

from pilotage.device.providers.nvml.readings import ECCErrors, Readings

MEMORY_BYTES = 150_754_820_096
"""Those of an H200, as the limits of power and clocks."""
_POWER_IDLE, _POWER_LIMIT = 76.0, 700.0
_COLD, _HOT, _LIMIT = 31, 74, 87
_CLOCK_IDLE, _CLOCK_MOST, _CLOCK_MEMORY = 345, 1980, 3201
_LAG_SECONDS = 15.0
_FLICKER = 4.0
"""Watts by which the power changes while the GPU is idle."""
_BUSY = 0.05
"""Below this share of its load a GPU is idle."""


@dataclass(frozen=True, slots=True)
class Temperament:
    """The differences between fake GPUs."""

    long_seconds: float
    short_seconds: float
    long_phase: float
    short_phase: float
    error_seconds: float

    @classmethod
    def of(cls, uuid: str) -> Temperament:
        """The character of the GPU with this UUID."""
        chance = random.Random(uuid)  # noqa: S311 - not used for secrets
        return cls(
            chance.uniform(240, 900),
            chance.uniform(20, 60),
            chance.uniform(0, math.tau),
            chance.uniform(0, math.tau),
            chance.uniform(2, 8) * 3600,
        )


def readings(temperament: Temperament, now: datetime, began: datetime, *, failures: int = 0) -> Readings:
    """The current readings of a GPU that was started at `began` and has failed `failures` times."""
    seconds = now.timestamp()
    load, warmth = _load(temperament, seconds), _load(temperament, seconds - _LAG_SECONDS)
    short = _wave(seconds, temperament.short_seconds, temperament.short_phase)
    busy = load > _BUSY
    temperature = round(_COLD + (_HOT - _COLD) * warmth)
    corrected = int(max((now - began).total_seconds(), 0.0) // temperament.error_seconds)
    return Readings(
        temperature=temperature,
        margin=_LIMIT - temperature,
        power=round(_POWER_IDLE + _FLICKER * short + (_POWER_LIMIT - _POWER_IDLE) * 0.9 * load, 1),
        power_limit=_POWER_LIMIT,
        clocks={
            "graphics": _CLOCK_MOST if busy else _CLOCK_IDLE,
            "sm": _CLOCK_MOST if busy else _CLOCK_IDLE,
            "memory": _CLOCK_MEMORY,
            "video": round((_CLOCK_MOST if busy else _CLOCK_IDLE) * 0.85),
        },
        utilisation=round(100 * load) if busy else 0,
        memory_utilisation=round(60 * load) if busy else 0,
        memory_used=round(
            MEMORY_BYTES * (0.004 + 0.9 * _wave(seconds, temperament.long_seconds, temperament.long_phase))
        ),
        memory_total=MEMORY_BYTES,
        ecc=ECCErrors(corrected, failures, corrected, failures),
        processes=1 if busy else 0,
    )


def _load(temperament: Temperament, seconds: float) -> float:
    """From 0 to 1: mostly the long wave, cut off where it is low, with a little of the short one on it."""
    long = _wave(seconds, temperament.long_seconds, temperament.long_phase)
    short = _wave(seconds, temperament.short_seconds, temperament.short_phase)
    return min(max(1.25 * long - 0.2, 0.0), 1.0) * (0.85 + 0.15 * short)


def _wave(seconds: float, period: float, phase: float) -> float:
    return 0.5 + 0.5 * math.sin(math.tau * (seconds % period) / period + phase)
