"""Faults as values: what happens, at which point of a run, and to which kind of objects."""

from __future__ import annotations

from typing import Literal

from pilotage.meta.values import Value

Point = Literal["write", "read", "event", "idle", "action"]
"""What a fault is counted by: writes and live reads of the program, events of one kind that reach its caches, calls of
`run_until_idle`, and writes of the test. All begin at 1."""


class FaultKind(Value, frozen=True):
    """One kind of fault: its name, where it can happen, and its sentence."""

    name: str
    point: Point
    text: str
    """With `{}` for what it happens to."""
    rank: int
    """What found bugs before has a low number."""
    why: str
    """What a program that fails under it has done wrong, as a rule."""


_KINDS = (
    FaultKind("killed-after", "write", "killed after {}", 0, "it takes one write as proof that the next ones exist"),
    FaultKind("stale", "write", "killed after {}, then shown", 1, "it trusts its cache where it must ask the server"),
    FaultKind("down", "idle", "killed after {}, and started again later", 2, "it needs to see the event itself"),
    FaultKind("stale-start", "idle", "killed after {}, then shown", 3, "it trusts its cache after a restart"),
    FaultKind("answer-lost", "write", "the answer to {} is lost", 4, "it repeats a write that has taken effect"),
    FaultKind("killed-before", "write", "killed before {}", 5, "it keeps in memory what it has to do"),
    FaultKind("hidden", "event", "{} is not seen, only the state after it", 6, "it needs to see each state"),
    FaultKind("late", "event", "{} arrives five seconds late", 7, "it relies on the order of events of two kinds"),
    FaultKind("conflict", "write", "{} is refused with a conflict", 8, "it drops a write that was refused"),
    FaultKind("deposed", "write", "another replica leads before {} arrives", 9, "a former leader writes"),
    FaultKind("timeout", "write", "{} takes effect, and its answer is a time-out", 10, "it takes an error for a no"),
    FaultKind("refused", "write", "{} fails with a time-out, and has no effect", 11, "it takes a try for a write"),
    FaultKind("internal", "write", "{} fails with an internal error", 12, "it drops a write that has failed"),
    FaultKind("throttled", "write", "{} is refused: too many requests", 13, "it drops a write that was refused"),
    FaultKind("relist", "event", "all objects are listed again after {}", 14, "it acts on each event once"),
    FaultKind("repeated", "event", "{} arrives twice", 15, "it acts on each event once"),
    FaultKind("unavailable", "read", "{} fails: the server is not available", 16, "it takes an error for not found"),
    FaultKind("early", "idle", "the test does not wait at {}", 17, "it needs to see each state"),
    FaultKind("twice", "action", "{} is sent twice", 18, "it acts on each event once"),
    FaultKind("slow", "write", "{} takes twenty seconds", 19, "it gives up, or acts a second time"),
    FaultKind(
        "clock", "write", "the clock jumps forward by an hour before {}", 20, "it measures durations by the clock"
    ),
)
KINDS = {kind.name: kind for kind in _KINDS}
HOLD_SECONDS = 5.0
"""How long events are held back, and a program is not running. Shorter than a watch may be silent."""
SLOW_SECONDS = 20.0
LATENCY_SECONDS = 0.1
"""What a write takes while a fault is in force."""
CLOCK_SECONDS = 3600.0
MOST_BACK = 16
"""How many versions of a kind a cache may be behind after a restart."""


class Fault(Value, frozen=True, omit_defaults=True):
    """One fault at one point of a run."""

    kind: str
    """A name of `KINDS`."""
    at: int
    """The number of the write, read, event, wait or action."""
    resource: str = ""
    """The resource of an event, or of a cache that is behind: `secrets`, `deployments.apps`."""
    back: int = 0
    """How many versions this cache is behind."""
    what: str = ""
    """What it happens to, as it was in the undisturbed run: `create Secret default/main`."""

    @property
    def point(self) -> Point:
        return KINDS[self.kind].point

    def __str__(self) -> str:
        what = self.what or f"{self.point} {self.at}"
        text = KINDS[self.kind].text.format(f"{self.point} {self.at} ({what})" if self.what else what)
        if self.back:
            versions = "1 version" if self.back == 1 else f"{self.back} versions"
            text += f" {self.resource} as they were {versions} before"
        return text
