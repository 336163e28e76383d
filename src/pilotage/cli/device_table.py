"""GPUs as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pilotage.cli.table import age
from pilotage.device.v1alpha1 import GPU
from pilotage.meta.models import Condition

HEADINGS = ("NAME", "UUID", "READY", "REASON", "CONDITIONS", "ACTION", "AGE")
WIDE_HEADINGS = ("NAME", "UUID", "READY", "REASON", "CONDITIONS", "ACTION", "AGE", "VERSION", "MESSAGE")

_FAULTS = frozenset({"Degraded", "ResetRequired", "HardwareFailure"})
"""Conditions that are good when they are False; all others are good when they are True."""


def row(gpu: GPU, now: datetime, *, wide: bool = False) -> tuple[str, ...]:
    """One GPU. CONDITIONS are those that are not as they should be; in the wide form they are all there."""
    conditions = gpu.status.conditions
    ready = next((each for each in conditions if each.type == "Ready"), None)
    others = [each for each in conditions if each.type != "Ready" and (wide or not _is_good(each))]
    cells = (
        gpu.metadata.name,
        gpu.spec.uuid,
        ready.status if ready is not None else "Unknown",
        ready.reason if ready is not None else "",
        _listed(others),
        gpu.status.recommended_action or "",
        age(gpu.metadata.creation_timestamp, now),
    )
    if not wide:
        return cells
    message = next((each.message for each in others if not _is_good(each)), ready.message if ready else "")
    return (*cells, gpu.metadata.resource_version, message)


def _listed(conditions: Sequence[Condition]) -> str:
    return ",".join(f"{each.type}={each.status}" + (f"({each.reason})" if each.reason else "") for each in conditions)


def _is_good(condition: Condition) -> bool:
    return condition.status == ("False" if condition.type in _FAULTS else "True")
