"""What is remembered of a GPU between polls: which XIDs still count, and what was seen twice in a row.

An XID is a moment, a condition is a state: the XID counts until there is a sign that what it asked for was done.

- Whatever the XID: the GPU was lost and answers again, its errors since the last reset are fewer than before, or the
  driver no longer asks for the action that it had asked for. These are signs of a reset. When the driver was reloaded
  or the machine booted, everything before is forgotten (`History()`).
- Where the driver says what is to be done (recovery action, R560 and later) and says that it is nothing: XIDs that are
  older than `SETTLE`. The driver knows better than a table; it only needs a moment to make up its mind.

A slowdown, and an NVLink that went down, count when two polls in a row see them, and no longer when two polls in a row
do not: a GPU under load touches its limits for moments.
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
"""How each XID is named in the message of the condition that it made."""


@dataclass(frozen=True, slots=True)
class Latched:
    """What an XID said, until it is forgotten."""

    type: str
    reason: str
    message: str
    action: Action
    at: datetime
    known: bool = True


@dataclass(frozen=True, slots=True)
class History:
    """What is remembered of one GPU. `History()` remembers nothing."""

    latched: tuple[Latched, ...] = ()
    lost: bool = False
    recovery_action: int | None = None
    uncorrected_volatile: int | None = None
    reasons_before: int = 0
    slowed: int = 0
    """Why the GPU is slowed down: reasons that were confirmed (ClockReason)."""
    links_up: frozenset[int] = frozenset()
    """The NVLinks that have been up."""
    links_down_before: frozenset[int] = frozenset()
    links_down: frozenset[int] = frozenset()
    """Those of them that are down, confirmed."""


def with_xid(history: History, xid: int, at: datetime) -> History:
    """The history after an XID; one that means nothing for the GPU is not remembered."""
    kind = xids.classify(xid)
    if not kind.type:
        return history
    seen = Latched(kind.type, kind.reason, f"XID {xid}: {kind.text}", kind.action, at, kind.known)
    others = [latched for latched in history.latched if latched.message != seen.message]
    return replace(history, latched=(*others, seen)[-MAX_LATCHED:])


def advanced(history: History, reading: Reading, now: datetime) -> History:
    """The history after a poll."""
    if isinstance(reading, Lost):
        return replace(history, lost=True)
    if not isinstance(reading, Readings):
        return history
    reasons = reading.clock_reasons or 0
    down = frozenset(link for link, up in enumerate(reading.links) if up is False) & history.links_up
    return History(
        latched=_still(history, reading, now),
        recovery_action=reading.recovery_action,
        uncorrected_volatile=reading.ecc.uncorrected_volatile,
        reasons_before=reasons,
        slowed=(reasons & history.reasons_before) | (history.slowed & (reasons | history.reasons_before)),
        links_up=history.links_up | {link for link, up in enumerate(reading.links) if up},
        links_down_before=down,
        links_down=(down & history.links_down_before) | (history.links_down & (down | history.links_down_before)),
    )


def adopted(conditions: Iterable[Condition], since: datetime) -> History:
    """What the conditions that a provider before us has left say of XIDs since then (when the machine booted)."""
    history = History()
    for condition in conditions:
        at = condition.last_transition_time
        if condition.status == "False" or at is None or at < since:
            continue
        for xid in map(int, _XID.findall(condition.message)):
            if xids.classify(xid).type == condition.type:
                history = with_xid(history, xid, at)
    return history


def _still(history: History, readings: Readings, now: datetime) -> tuple[Latched, ...]:
    """The XIDs that still count."""
    if _was_reset(history, readings):
        return ()
    if readings.recovery_action == RecoveryAction.NONE:
        return tuple(latched for latched in history.latched if abs(now - latched.at) < SETTLE)  # a clock may jump
    return history.latched


def _was_reset(history: History, readings: Readings) -> bool:
    if history.lost:
        return True
    if history.recovery_action and readings.recovery_action == RecoveryAction.NONE:
        return True
    before, after = history.uncorrected_volatile, readings.ecc.uncorrected_volatile
    return before is not None and after is not None and after < before
