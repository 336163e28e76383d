"""What is wrong with a run: the differences of its end, and of what the program did, to the undisturbed runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pilotage.history.differences import shown
from pilotage.manager.errors import NotIdle
from pilotage.meta.text.counts import counted
from pilotage.storage.interface import Entry, Event
from pilotage.testing.chaos.injection.storage import resource_of
from pilotage.testing.chaos.runs import Run
from pilotage.testing.chaos.session import Step
from pilotage.testing.chaos.states import (
    Flat,
    Names,
    Path,
    State,
    decoded,
    flat,
    is_time,
    names_of,
    path_text,
    title_of,
)

_MOST_WRITES = 10
"""A run may have this many times the writes of the undisturbed one, and some more."""
_SOME_WRITES = 100
_MOST_FIELDS = 8
_REGISTERED = frozenset(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))
"""Kinds whose objects a program registers when it starts, and removes when it ends."""


_TERMINATING = b'"deletionTimestamp":'
_WITHOUT_EFFECT = ("NotFound", "Conflict", "not sent")
"""Errors of deletes: what was deleted meanwhile, was deleted by others."""

END = 0
"""The number of the state in the end."""


@dataclass(slots=True)
class Reference:
    """What undisturbed runs have in common."""

    run: Run
    names: Names
    states: dict[int, State]
    """The states whenever all was idle, by the number of the wait, and in the end (`END`)."""
    masks: frozenset[tuple[str, Path]] = frozenset()
    """Fields whose values are generated: they differ between seeds, or between two runs with the same seed."""
    stable: dict[str, frozenset[Path]] = field(default_factory=dict)
    """Generated fields that were set once and stayed, by role."""
    deletes: Counter[str] = field(default_factory=Counter)
    """How often the program deleted each object."""
    loose: frozenset[str] = frozenset()
    """Objects of which there are more or fewer on another day, or later."""
    doubts: tuple[str, ...] = ()
    """What was different in two runs with the same seed."""

    @property
    def writes(self) -> int:
        return sum(1 for step in self.run.session.steps if step.point == "write")


def reference_of(first: Run, again: Run, other: Run) -> Reference:
    """From two runs with one seed, and one with another seed on another day."""
    names = names_of(_all_of(first), _all_of(other))
    states = [_states(run, names) for run in (first, again, other)]
    generated = frozenset(_all_masks(states[0], states[2]))
    masks = generated | frozenset(_all_masks(states[0], states[1]))
    reference = Reference(first, names, states[0], masks, deletes=_deletes(first, names))
    reference.loose = frozenset(_all_loose(states[0], states[2]))
    reference.doubts = (*_doubts(first, again),)
    paths: dict[str, set[Path]] = defaultdict(set)
    for role, path in generated:
        values = [_values(found, role, path) for found in (states[0], states[2])]
        if all(values) and all(isinstance(value, str) and not is_time(value) for value in (*values[0], *values[1])):
            paths[role].add(path)
    changed = _changed(first, names, {role: frozenset(found) for role, found in paths.items()})
    reference.stable = {
        role: frozenset(path for path in found if (role, path) not in changed) for role, found in paths.items()
    }
    return reference


def judged(run: Run, reference: Reference) -> tuple[str, ...]:
    """The differences of a run to the undisturbed ones, as sentences; empty if it is right."""
    if run.session.violation:
        return (run.session.violation,)
    if run.error is not None:
        is_early = any(fault.kind == "early" for fault in run.plan.faults)
        # A test that does not wait may fail for that reason alone: it expects what it did not wait for.
        return () if is_early and not isinstance(run.error, NotIdle) else (_error_text(run.error),)
    found = [*_differences(State(run.entries, reference.names), END, reference)]
    found += _earlier(run, reference) if not found else ()
    found += _extra_deletes(run, reference)
    found += _regenerated(run, reference)
    writes = sum(1 for step in run.session.steps if step.point == "write")
    if writes > reference.writes * _MOST_WRITES + _SOME_WRITES:
        found.append(f"the program wrote {writes} times, and undisturbed {reference.writes} times")
    return tuple(dict.fromkeys(found))


def _earlier(run: Run, reference: Reference) -> Iterator[str]:
    """The first difference of a state in which all was idle."""
    for number, entries in run.session.snapshots.items():
        if number not in reference.states:
            continue
        found = [*_differences(State(entries, reference.names), number, reference)]
        if found:
            yield from (f"{text}, at run_until_idle {number}" for text in found)
            return


def _differences(state: State, number: int, reference: Reference) -> Iterator[str]:
    expected = reference.states[number].objects
    for role, wanted in expected.items():
        found = state.objects.get(role, [])
        if role in reference.loose:
            continue
        if not found:
            yield f"{role}: missing"
        elif len(found) != len(wanted):
            yield f"{role}: {counted(len(found), 'object')} instead of {len(wanted)}"
    for role in state.objects:
        if role not in expected and role not in reference.loose:
            yield f"{role}: left behind, and not there without faults"
    for role, wanted in expected.items():
        found = state.objects.get(role, [])
        if len(found) == len(wanted):
            yield from _fields(role, found, wanted, reference.masks)


def _all_of(run: Run) -> list[Sequence[Entry]]:
    return [*run.session.snapshots.values(), run.entries]


def _states(run: Run, names: Names) -> dict[int, State]:
    found = {number: State(entries, names) for number, entries in run.session.snapshots.items()}
    return found | {END: State(run.entries, names)}


def _all_masks(first: dict[int, State], second: dict[int, State]) -> Iterator[tuple[str, Path]]:
    for number in first.keys() & second.keys():
        yield from _masks(first[number], second[number])


def _all_loose(first: dict[int, State], second: dict[int, State]) -> Iterator[str]:
    """The roles with another number of objects in one of two undisturbed runs."""
    for number in first.keys() & second.keys():
        one, other = first[number].objects, second[number].objects
        yield from (role for role in one.keys() | other.keys() if len(one.get(role, ())) != len(other.get(role, ())))


def _fields(role: str, found: list[Flat], wanted: list[Flat], masks: frozenset[tuple[str, Path]]) -> Iterator[str]:
    pairs = zip(
        *(sorted((_masked(role, one, masks) for one in side), key=repr) for side in (found, wanted)), strict=True
    )
    for number, (one, other) in enumerate(pairs):
        if number and role.endswith("*"):
            return  # the first one shows it
        differing = [path for path in sorted({*one, *other}) if one.get(path, _ABSENT) != other.get(path, _ABSENT)]
        for path in differing[:_MOST_FIELDS]:
            values = (shown(side[path]) if path in side else "(none)" for side in (one, other))
            yield "{}: {} is {} instead of {}".format(role, path_text(path), *values)


_ABSENT = object()


def _masked(role: str, one: Flat, masks: frozenset[tuple[str, Path]]) -> Flat:
    return dict(sorted((path, value) for path, value in one.items() if (role, path) not in masks))


def _masks(first: State, second: State) -> Iterator[tuple[str, Path]]:
    """The fields that differ between two undisturbed runs."""
    for role in first.objects.keys() & second.objects.keys():
        for one, other in zip(first.objects[role], second.objects[role], strict=False):
            for path in {*one, *other}:
                if one.get(path, _ABSENT) != other.get(path, _ABSENT):
                    yield role, path


def _values(states: dict[int, State], role: str, path: Path) -> list[Any]:
    return [one[path] for state in states.values() for one in state.objects.get(role, ()) if path in one]


def _deletes(run: Run, names: Names) -> Counter[str]:
    """How often the program deleted each object that has a fixed name. After the first fault, only objects that were
    there before: what is made from an old state, and removed when the program sees the new one, does no harm."""
    begun = _first_fault(run)
    found: Counter[str] = Counter()
    deletes = [event for event in run.commits if _deletes_it(event)]
    for step in run.session.steps:
        if step.point != "write" or not step.verb.startswith("delete") or step.error in _WITHOUT_EFFECT:
            continue
        for event in deletes:
            before = event.previous if _is_of(event, step) else None
            document = decoded(before) if before is not None else None
            if before is None or document is None or document["kind"] in _REGISTERED:
                continue
            if not 0 < begun < before.created:
                found[names.role(document)] += 1
    return found


def _is_of(event: Event, step: Step) -> bool:
    """Whether a commit happened while a write of the same object, or of all objects of its kind, was under way."""
    if not step.revision < event.revision <= step.changed or resource_of(event.key) != step.resource:
        return False
    return step.verb == "delete all" or event.key.endswith(f"/{step.key}")


def _deletes_it(event: Event) -> bool:
    """Whether a commit removes an object or, if it has finalizers and is removed later, marks it as terminating."""
    if event.previous is None or _TERMINATING in event.previous.value:
        return False
    return event.entry is None or _TERMINATING in event.entry.value


def _first_fault(run: Run) -> int:
    """The revision when the first fault had happened; 0 if there was none."""
    last = 0
    for step in run.session.steps:
        if step.point == "fault":
            return max(last, step.revision)
        last = step.changed if step.point == "write" else 0
    return 0


def _extra_deletes(run: Run, reference: Reference) -> Iterator[str]:
    if any(fault.kind == "early" for fault in run.plan.faults):
        return
    for role, count in _deletes(run, reference.names).items():
        if count > reference.deletes[role] and not role.endswith("*"):
            yield f"{role}: deleted by the program {counted(count, 'time')}, undisturbed {reference.deletes[role]}"


def _changed(run: Run, names: Names, paths: dict[str, frozenset[Path]]) -> dict[tuple[str, Path], str]:
    """The generated fields that were replaced in the life of an object, with the object's title."""
    seen: dict[tuple[str, Path], Any] = {}
    found: dict[tuple[str, Path], str] = {}
    titles = {role.partition(" ")[0].encode() for role in paths}
    for event in run.commits:
        entry = event.entry
        if entry is None or not any(b'"kind":"' + kind + b'"' in entry.value[:200] for kind in titles):
            continue
        document = decoded(entry)
        role = names.role(document) if document is not None else ""
        if document is None or role not in paths:
            continue
        values = flat(document, {})
        for path in paths[role] & values.keys():
            key = document["metadata"]["uid"], path
            if seen.setdefault(key, values[path]) != values[path]:
                found[role, path] = title_of(document)
    return found


def _regenerated(run: Run, reference: Reference) -> Iterator[str]:
    if any(fault.kind == "early" for fault in run.plan.faults):
        return  # an object that is deleted and made again in one go has another value for a good reason
    for (_, path), title in _changed(run, reference.names, reference.stable).items():
        yield f"{title}: {path_text(path)} was generated again: the first value was stored, and is lost"


def _doubts(first: Run, again: Run) -> Iterator[str]:
    """What differs in two runs with one seed: the first call, and the first object."""
    for one, other in zip(first.session.steps, again.session.steps, strict=False):
        if (one.point, one.what) != (other.point, other.what):
            yield f"{one.point} {one.number} is {one.what!r} in one run, and {other.what!r} in the other"
            return
    for event, same in zip(first.commits, again.commits, strict=False):
        if event.entry is None or same.entry is None or event.entry.value == same.entry.value:
            continue
        document = decoded(event.entry)
        if document is None or decoded(same.entry) is None:
            continue
        call = next((step for step in first.session.steps if step.revision < event.revision <= step.changed), None)
        sides = State((event.entry,), Names()), State((same.entry,), Names())
        fields = [path_text(path) for _, path in _masks(*sides)] or ["its bytes"]
        what = f"{call.point} {call.number} ({call.what})" if call is not None else f"a write of {title_of(document)}"
        yield f"{what}: {', '.join(sorted(fields))}"
        return
    if len(first.session.steps) != len(again.session.steps):
        yield f"one run has {len(first.session.steps)} steps, and the other {len(again.session.steps)}"


def _error_text(error: BaseException) -> str:
    first = next(iter(str(error).splitlines()), "")  # the other lines are for people, and have addresses
    text = f"{type(error).__name__}: {first}".removesuffix(": ")
    if isinstance(error, NotIdle):
        return f"it does not become idle: {error}"
    return f"the test fails: {text}"
