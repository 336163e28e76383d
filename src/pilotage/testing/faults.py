"""The faults that a `FaultProxy` can inject, as values: what fails, where, and how often.

Byte faults know nothing of HTTP and also work on TLS that passes through. HTTP faults are picked by the request.
`times` is how often a fault happens (None: always); `connection` is the number of one connection (from 1; None: any).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

from pilotage.http.messages import HTTPRequest
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field

Direction = Literal["up", "down"]
"""Up: from the client to the server. Down: back."""

When = Callable[[HTTPRequest], bool]


def always(request: HTTPRequest) -> bool:
    return True


def path_contains(text: str) -> When:
    """Requests whose path has `text` in it."""
    return lambda request: text in request.target.partition("?")[0]


def method_is(*methods: str) -> When:
    """Requests with one of these methods."""
    return lambda request: request.method in methods


def is_watch(request: HTTPRequest) -> bool:
    """Kubernetes watches."""
    query = request.target.partition("?")[2].split("&")
    return "watch=true" in query or "watch=1" in query


def all_of(*conditions: When) -> When:
    """Requests that meet every condition."""
    return lambda request: all(condition(request) for condition in conditions)


def chance(probability: float, random: Random) -> When:
    """Requests picked at random."""
    return lambda request: random.random() < probability


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByteFault:
    connection: int | None = count_field(None, least=1)
    times: int | None = count_field(None)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(_ByteFault):
    """End the connection after this many bytes in one direction: gracefully, or with a reset."""

    after_bytes: int = count_field(0)
    direction: Direction = "down"
    reset: bool = False
    times: int | None = count_field(1, optional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall(_ByteFault):
    """Forward nothing after this many bytes, until the fault is removed: the connection only looks alive."""

    after_bytes: int = count_field(0)
    direction: Direction = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay(_ByteFault):
    """Hold every block of bytes back for `seconds`, and for a random time up to `jitter` more."""

    seconds: SecondsField = seconds_field(0.0)
    jitter: SecondsField = seconds_field(0.0)
    direction: Direction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth(_ByteFault):
    """Limit the bytes per second."""

    bytes_per_second: float
    direction: Direction | None = None


ByteFault = Cut | Stall | Delay | Bandwidth


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer instead of the server, with a Kubernetes Status: 410, 429, 503 … or with your own `body`."""

    status: int
    reason: str = ""
    message: str = "injected by the fault proxy"
    retry_after: int | None = None
    when: When = always
    times: int | None = 1
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestFault:
    when: When = always
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseRequest(_RequestFault):
    """Cut the connection instead of passing the request on: the server does not receive it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseAnswer(_RequestFault):
    """Pass the request on, and cut when the server has answered: it took effect, and the client gets no response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfBody(_RequestFault):
    """Send the head and half of the body of an answer that has a length, then cut."""


@dataclass(frozen=True, slots=True)
class _LineFault:
    number: int
    when: When = always
    times: int | None = 1


@dataclass(frozen=True, slots=True)
class DropLine(_LineFault):
    """Leave out the n-th line (from 1) of a stream."""


@dataclass(frozen=True, slots=True)
class DuplicateLine(_LineFault):
    """Send the n-th line (from 1) of a stream twice."""


@dataclass(frozen=True, slots=True)
class SwapLines(_LineFault):
    """Send the n-th line (from 1) of a stream after the one that follows it."""


@dataclass(frozen=True, slots=True)
class CutLine:
    """Cut a stream inside its n-th line (from 1), after `keep_bytes` of it (None: half)."""

    number: int
    keep_bytes: int | None = None
    when: When = always
    times: int | None = 1


LineFault = DropLine | DuplicateLine | SwapLines | CutLine
HTTPFault = Answer | LoseRequest | LoseAnswer | HalfBody | LineFault
Fault = ByteFault | HTTPFault


class Script:
    """The faults in force. Each addition is separate, so that the same fault can be added twice."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.committed: dict[str, int] = {}
        self._scheduled: list[_ScheduledFault] = []
        self._changed = asyncio.Event()

    def add(self, fault: Fault) -> None:
        self._scheduled.append(_ScheduledFault(fault, fault.times))
        self.poke()

    def remove(self, fault: Fault) -> None:
        """Remove a fault; nothing happens if it is used up or was never added."""
        self._scheduled = [scheduled for scheduled in self._scheduled if scheduled.fault is not fault]
        self.poke()

    def clear(self) -> None:
        self._scheduled.clear()
        self.poke()

    async def changed(self) -> None:
        """Wait for the next change."""
        await self._changed.wait()

    def poke(self) -> None:
        """Wake the tasks that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    def byte_faults(self, connection: int, direction: Direction) -> list[ByteFault]:
        """The byte faults that concern this connection and direction now."""
        return [
            scheduled.fault
            for scheduled in self._scheduled
            if isinstance(scheduled.fault, ByteFault)
            and scheduled.fault.connection in (None, connection)
            and scheduled.fault.direction in (None, direction)
        ]

    def http_faults(self, request: HTTPRequest) -> list[HTTPFault]:
        """The HTTP faults that concern this request; they are used up by asking."""
        found: list[HTTPFault] = []
        for scheduled in list(self._scheduled):
            fault = scheduled.fault
            if not isinstance(fault, ByteFault) and fault.when(request):
                found.append(fault)
                self.commit(fault)
                if isinstance(fault, Answer | LoseRequest):
                    break  # what the server would say to it does not matter any more
        return found

    def commit(self, fault: Fault) -> None:
        """Record that a fault happens once more."""
        name = type(fault).__name__
        self.committed[name] = self.committed.get(name, 0) + 1
        for scheduled in self._scheduled:
            if scheduled.fault is fault and scheduled.left is not None:
                scheduled.left -= 1
                if scheduled.left <= 0:
                    self._scheduled.remove(scheduled)
                return


@dataclass(slots=True, eq=False)
class _ScheduledFault:
    fault: Fault
    left: int | None
