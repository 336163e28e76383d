"""One look at a Pod on its node: what the kubelet knows beyond the Pod, and what it has found to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from pilotage.types.core.v1 import Container
from pilotage.workloads.durations import span
from pilotage.workloads.faults.behaviour import Behaviour


class PodEvent(NamedTuple):
    """An Event about a Pod, or with a `field_path` about one of its containers."""

    type: str
    reason: str
    message: str
    field_path: str = ""


class BackOff(NamedTuple):
    """How long the kubelet waits before it starts a container again, or pulls an image again."""

    seconds: float
    since: datetime


LEAST_BACK_OFF, MOST_BACK_OFF = 10.0, 300.0


def is_expired(back_off: BackOff, now: datetime) -> bool:
    """Whether it begins again: after ten quiet minutes."""
    return (now - back_off.since).total_seconds() > 2 * MOST_BACK_OFF


def next_back_off(before: BackOff | None, now: datetime) -> BackOff:
    """Ten seconds, then doubled up to five minutes."""
    if before is None or is_expired(before, now):
        return BackOff(LEAST_BACK_OFF, now)
    return BackOff(min(before.seconds * 2, MOST_BACK_OFF), now)


@dataclass(slots=True)
class Memory:
    """What the kubelet remembers of a Pod and does not write into its status."""

    back_offs: dict[str, BackOff] = field(default_factory=dict)
    """By the name of the container, or by `image` and its name."""
    is_stopping: bool = False


@dataclass(slots=True)
class Moment:
    """The time of the look, what the node has, and, collected on the way, Events and the time of the next look."""

    now: datetime
    behaviour: Callable[[Container], Behaviour]
    images: set[str]
    """The images that the node has."""
    memory: Memory
    ip: Callable[[], str]
    """The address of the Pod, assigned when its first container starts."""
    host_ip: str
    events: list[PodEvent] = field(default_factory=list)
    next: datetime | None = None
    """When there is something to do again."""
    is_progress: bool = False
    """Whether it is a step of a start or of a stop, which will be over, and not the retry of a failure."""

    def is_due(self, since: datetime, seconds: float, *, is_progress: bool = True) -> bool:
        """Whether this many seconds have passed; if not, the next look is then."""
        due = since + span(seconds)
        if due <= self.now:
            return True
        if self.next is None or due < self.next:
            self.next = due
        self.is_progress = self.is_progress or is_progress
        return False

    def record(self, reason: str, message: str, container: str = "", *, warning: bool = False) -> None:
        """Record an Event; `container` is the path of a field, as `spec.containers{web}`."""
        self.events.append(PodEvent("Warning" if warning else "Normal", reason, message, container))
