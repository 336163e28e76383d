"""The state of one run: what has happened so far, which faults are due, and which are in force."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pilotage.rest import APIRequest, Verb
from pilotage.rest.request import READS
from pilotage.storage.interface import Entry, Event
from pilotage.testing.chaos.faults import Fault, Point
from pilotage.testing.chaos.injection.storage import RecordedStorage, Template, resource_of
from pilotage.testing.chaos.invariants import Invariant, Objects, broken
from pilotage.testing.chaos.plan import Plan

if TYPE_CHECKING:
    from pilotage.history.history import History
    from pilotage.history.runs import Run as Reconcile
    from pilotage.testing.chaos.seeding import ChaosLoop

OWN = frozenset(("events", "events.events.k8s.io", "leases.coordination.k8s.io", "leasecandidates.coordination.k8s.io"))
"""Resources that the runtime itself writes. No fault is counted by them, and they are no part of an end state."""
MOST_WRITES = 5_000
"""Writes of the program after which a run is ended: it does not become idle."""


@dataclass(slots=True)
class Step:
    """Something that has happened in a run: a write, a read, an event, a wait of the test, or a fault."""

    point: Point | str
    number: int
    what: str
    at: float
    resource: str = ""
    verb: str = ""
    key: str = ""
    life: int = 0
    revision: int = 0
    """Of the storage, when it began."""
    changed: int = 0
    """Of the storage, when it had ended."""
    error: str = ""
    reconcile: Reconcile | None = None
    """The reconcile that made the write."""
    ordinal: int = 0
    """Which of the writes of that reconcile it is."""


class Session:
    """One run of a scenario with one plan."""

    def __init__(
        self,
        plan: Plan,
        loop: ChaosLoop,
        template: Template | None = None,
        invariants: tuple[Invariant, ...] = (),
        *,
        dawdles: bool = False,
    ) -> None:
        self.plan = plan
        self.loop = loop
        self.invariants = invariants
        self.dawdles = dawdles
        """Whether the test takes its time whenever all is idle: a state that changes then depends on time."""
        self.storage = RecordedStorage(template)
        self.storage.on_commit = self._committed
        self.steps: list[Step] = []
        self.commits: list[Event] = []
        self.snapshots: dict[int, list[Entry]] = {}
        """The objects that the scenario has written, each time that it has waited until all is idle."""
        self.histories: list[History] = []
        self.watched: set[str] = set()
        """The resources that caches of the program watch."""
        self.hits: list[Fault] = []
        self.lives = 0
        self.baseline = 0
        self.is_over = False
        """Whether the scenario has ended the program: no fault happens while it stops."""
        self.violation = ""
        """The first invariant that did not hold."""
        self.stopped = ""
        """Why the run was ended."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ordinals: Counter[int] = Counter()
        self._versions: dict[str, list[int]] = defaultdict(list)
        self._in_force: dict[object, float] = {}  # with the times at which they end at the latest
        self._calmed = asyncio.Event()
        self._due: dict[tuple[str, str, int], list[Fault]] = defaultdict(list)
        for fault in plan.faults:
            self._due[fault.point, fault.resource if fault.point == "event" else "", fault.at].append(fault)

    # What happens

    def begin(self) -> None:
        """The server has started: what is written from now on is the scenario's."""
        self.baseline = self.storage.revision

    def note(self, point: Point, what: str, resource: str = "", **details: Any) -> tuple[Step, list[Fault]]:
        """Note that a point is reached. Returns the step, and the faults that are due here."""
        place = resource if point == "event" else ""
        self._counts[point, place] += 1
        number = self._counts[point, place]
        step = Step(point, number, what, self.loop.time(), resource, revision=self.storage.revision, **details)
        self.steps.append(step)
        return step, self._due.get((point, place, number), [])

    def hit(self, fault: Fault, what: str) -> None:
        """Note that a fault happens now."""
        self.hits.append(fault)
        text, now = f"{fault.kind}: {what}", self.loop.time()
        self.steps.append(Step("fault", len(self.hits), text, now, revision=self.storage.revision))

    def say(self, what: str) -> None:
        """Note a consequence of a fault."""
        self.steps.append(Step("fault", 0, what, self.loop.time()))

    def ordinal(self, run: Reconcile) -> int:
        """Which of the writes of its reconcile the next one is, from 0."""
        self._ordinals[id(run)] += 1
        return self._ordinals[id(run)] - 1

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            resource = resource_of(event.key)
            self._versions[resource].append(event.revision)
            if resource not in OWN:
                self.commits.append(event)
        if self.invariants and not self.violation and self.baseline:
            self.violation = broken(self.invariants, Objects(self.storage.entries))

    def versions(self, resource: str) -> list[int]:
        """The revisions of the changes of a resource."""
        return self._versions[resource]

    def version_before(self, resource: str, back: int) -> int | None:
        """The revision that a cache shows that is `back` versions of a resource behind; None if there is none."""
        versions = self._versions[resource]
        if not 0 < back <= len(versions):
            return None
        before = versions[-back] - 1
        return before if before >= max(1, self.storage.oldest, self.baseline) else None

    def entries(self) -> list[Entry]:
        """The objects that were written in this run."""
        found = (entry for entry in self.storage.entries() if entry.revision > self.baseline)
        return [entry for entry in found if resource_of(entry.key) not in OWN]

    # Faults in force

    @property
    def is_calm(self) -> bool:
        return self._left() <= 0

    @contextmanager
    def disturbed(self, seconds: float) -> Iterator[None]:
        """A fault is in force in the block, for so long. (What a killed program has left open may never be closed.)"""
        token = object()
        self._in_force[token] = self.loop.time() + seconds
        try:
            yield
        finally:
            del self._in_force[token]
            self._calmed.set()

    async def calm(self) -> None:
        """Wait until no fault is in force."""
        while (left := self._left()) > 0:
            self._calmed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._calmed.wait()

    def _left(self) -> float:
        """The seconds until the faults that are in force end at the latest."""
        return max(self._in_force.values(), default=0.0) - self.loop.time() if self._in_force else 0.0


def is_write(request: APIRequest) -> bool:
    """Whether a request is a write of the program itself, not of the runtime."""
    if request.verb in READS or request.write.dry_run or request.delete.dry_run:
        return False
    return resource_name(request) not in OWN


def resource_name(request: APIRequest) -> str:
    """The resource of a request, as `secrets` or `deployments.apps`."""
    resource = request.resource
    return f"{resource.resource}.{resource.group}" if resource.group else resource.resource


def verb_of(request: APIRequest) -> str:
    return "delete all" if request.verb is Verb.DELETE_COLLECTION else request.verb.value
