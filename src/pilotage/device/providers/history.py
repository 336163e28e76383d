"""The state of a GPU between polls: the XIDs that still count, and what two polls in a row have seen.

An XID is an event, a condition is a state: the XID counts until there is evidence that its action was taken.

- For every XID: the GPU was lost and is readable again, its errors since the last reset have decreased, or the driver
no longer requests an action. These are signs of a reset. After the driver was reloaded or the machine booted, the
  history is empty (`GPUHistory()`).
- If the driver reports a recovery action (R560 and later) and it is none: XIDs that are older than `SETTLE`. The driver
is more reliable than the catalogue, but needs a moment to update its recovery action.

A slowdown, and an NVLink that went down, count after two polls in a row have seen them, until two polls in a row have
not: a GPU under load reaches its limits for short moments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pilotage.device.providers import xids
from pilotage.device.providers.actions import Action
from pilotage.device.providers.nvml.readings import Lost, Reading, Readings, RecoveryAction
from pilotage.meta.models import Condition

SETTLE = timedelta(seconds=30)
MAX_LATCHED = 100
_XID = re.compile(r"\bXID ([0-9]{1,6}): ")
"""Matches the XIDs in the message of a condition."""


@dataclass(frozen=True, slots=True)
class Latched:
    """An XID that still counts."""

    type: str
    reason: str
    message: str
    action: Action
    at: datetime
    known: bool = True


@dataclass(frozen=True, slots=True)
class GPUHistory:
    """The history of one GPU. `GPUHistory()` is empty."""

    latched: tuple[Latched, ...] = ()
    lost: bool = False
    recovery_action: int | None = None
    uncorrected_volatile: int | None = None
    reasons_before: int = 0
    slowed: int = 0
    """The confirmed reasons of a slowdown (ClockReason)."""
    links_up: frozenset[int] = frozenset()
    """NVLinks that have been up."""
    links_down_before: frozenset[int] = frozenset()
    links_down: frozenset[int] = frozenset()
    """NVLinks that are down, confirmed."""


def with_xid(history: GPUHistory, xid: int, at: datetime) -> GPUHistory:
    """The history after an XID. An XID without effect on the GPU is not added."""
    kind = xids.classify(xid)
    if not kind.type:
        return history
    seen = Latched(kind.type, kind.reason, f"XID {xid}: {kind.text}", kind.action, at, kind.known)
    others = [latched for latched in history.latched if latched.message != seen.message]
    return replace(history, latched=(*others, seen)[-MAX_LATCHED:])


def advanced(history: GPUHistory, reading: Reading, now: datetime) -> GPUHistory:
    """The history after a poll."""
    if isinstance(reading, Lost):
        return replace(history, lost=True)
    if not isinstance(reading, Readings):
        return history
    reasons = reading.clock_reasons or 0
    down = frozenset(link for link, up in enumerate(reading.links) if up is False) & history.links_up
    return GPUHistory(
        latched=_still(history, reading, now),
        recovery_action=reading.recovery_action,
        uncorrected_volatile=reading.ecc.uncorrected_volatile,
        reasons_before=reasons,
        slowed=(reasons & history.reasons_before) | (history.slowed & (reasons | history.reasons_before)),
        links_up=history.links_up | {link for link, up in enumerate(reading.links) if up},
        links_down_before=down,
        links_down=(down & history.links_down_before) | (history.links_down & (down | history.links_down_before)),
    )


def adopted(conditions: Iterable[Condition], since: datetime) -> GPUHistory:
    """The history from the conditions that a previous run has written since the machine booted."""
    history = GPUHistory()
    for condition in conditions:
        at = condition.last_transition_time
        if condition.status == "False" or at is None or at < since:
            continue
        for xid in map(int, _XID.findall(condition.message)):
            if xids.classify(xid).type == condition.type:
                history = with_xid(history, xid, at)
    return history


def _still(history: GPUHistory, readings: Readings, now: datetime) -> tuple[Latched, ...]:
    """The XIDs that still count."""
    if _was_reset(history, readings):
        return ()
    if readings.recovery_action == RecoveryAction.NONE:
        return tuple(latched for latched in history.latched if abs(now - latched.at) < SETTLE)  # a clock may jump
    return history.latched


def _was_reset(history: GPUHistory, readings: Readings) -> bool:
    if history.lost:
        return True
    if history.recovery_action and readings.recovery_action == RecoveryAction.NONE:
        return True
    before, after = history.uncorrected_volatile, readings.ecc.uncorrected_volatile
    return before is not None and after is not None and after < before
