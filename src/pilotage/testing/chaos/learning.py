"""From an undisturbed run to the single faults that can matter, the promising ones first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pilotage.testing.chaos.environment import is_repeatable_verb
from pilotage.testing.chaos.faults import KINDS, MOST_BACK, Fault
from pilotage.testing.chaos.session import Session, Step

_AT_WRITES = ("answer-lost", "timeout", "refused", "internal", "throttled", "slow", "clock", "deposed")
_AT_EVENTS = ("late", "repeated", "relist", "hidden")


@dataclass(slots=True)
class Faults:
    """The single faults of a scenario, and how many were left out, with the reason."""

    single: list[Fault] = field(default_factory=list)
    pruned: Counter[str] = field(default_factory=Counter)


def faults_of(session: Session) -> Faults:
    """The single faults that an undisturbed run gives occasion to."""
    found = Faults()
    own = [step for step in session.steps if step.point == "write"]
    _at_writes(own, session, found)
    _at_idles(session, found)
    _at_events(session, found)
    for step in session.steps:
        if step.point == "read":
            found.single.append(Fault("unavailable", step.number, what=step.what))
        if step.point == "action" and is_repeatable_verb(step.verb):
            found.single.append(Fault("twice", step.number, what=step.what))
    found.single = _ranked(found.single)
    return found


def _at_writes(writes: Sequence[Step], session: Session, found: Faults) -> None:
    last = -1
    for step in writes:
        changed = step.changed > step.revision
        names = [*_AT_WRITES, *(("conflict",) if step.verb != "create" else ())]
        if changed:
            names.append("killed-after")
            found.pruned["killed while a write is sent: the same as after it"] += 1
            _stale("stale", step.number, step.changed, step.what, session, found)
        else:
            found.pruned["killed after a write that changed nothing"] += 1
        if step.revision == last:
            found.pruned["killed before a write: the same as after the write before"] += 1
        else:
            names.append("killed-before")
        last = step.changed
        found.single += [Fault(name, step.number, what=step.what) for name in names]


def _at_idles(session: Session, found: Faults) -> None:
    idles = [place for place, step in enumerate(session.steps) if step.point == "idle"]
    for number, place in enumerate(idles, 1):
        later = session.steps[place + 1 :]
        action = next((at for at, step in enumerate(later) if step.point == "action"), None)
        what = f"run_until_idle {number}"
        if action is None:
            found.pruned["killed when the test has ended"] += 1
            continue
        found.single.append(Fault("down", number, what=what))
        _stale("stale-start", number, later[action].revision, what, session, found)
        looks = any(step.point == "look" for step in later[:action])
        if looks:
            found.pruned["the test reads before it acts again, so it must wait"] += 1
        else:
            found.single.append(Fault("early", number, what=what))


def _stale(name: str, at: int, revision: int, what: str, session: Session, found: Faults) -> None:
    """Each kind as it was up to sixteen versions before."""
    for resource in sorted(session.watched):
        versions = [one for one in session.versions(resource) if session.baseline < one <= revision]
        for back in range(1, min(len(versions), MOST_BACK) + 1):
            found.single.append(Fault(name, at, resource, back, what))
        if not versions:
            found.pruned["a cache that is behind, of a kind that had not changed"] += 1


def _at_events(session: Session, found: Faults) -> None:
    events = [step for step in session.steps if step.point == "event"]
    later: set[tuple[str, str]] = set()
    again: dict[int, bool] = {}
    for step in reversed(events):
        again[id(step)] = (step.resource, step.key) in later
        later.add((step.resource, step.key))
    for step in events:
        for name in _AT_EVENTS:
            if name == "hidden" and not again[id(step)]:
                found.pruned["an event hidden that is the last one of its object"] += 1
                continue
            found.single.append(Fault(name, step.number, step.resource, what=step.what))


def _ranked(faults: Sequence[Fault]) -> list[Fault]:
    """One of each kind in turn, in the order of their ranks; the first two kinds twice as often."""
    queues: dict[str, list[Fault]] = defaultdict(list)
    for fault in sorted(faults, key=lambda one: (KINDS[one.kind].rank, one.back)):
        queues[fault.kind].append(fault)
    return [*_in_turn([*queues.values()])]


def _in_turn(queues: list[list[Fault]]) -> Iterator[Fault]:
    places = [0] * len(queues)
    for queue in queues[:1]:  # killed after a write: all of them first
        if queue[0].kind == "killed-after":
            yield from queue
            places[0] = len(queue)
    while any(place < len(queue) for place, queue in zip(places, queues, strict=True)):
        for number, queue in enumerate(queues):
            for _ in range(2 if queue[0].kind in ("stale", "stale-start") else 1):
                if places[number] < len(queue):
                    yield queue[places[number]]
                    places[number] += 1
