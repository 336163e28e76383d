"""Explores a scenario: learns an undisturbed run, tries the faults that it gives occasion to, and judges each run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace as with_fields

from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.amounts import Seconds, optional_seconds
from pilotage.testing.chaos.faults import KINDS, Fault
from pilotage.testing.chaos.judging import Reference, judged, reference_of
from pilotage.testing.chaos.learning import Faults, faults_of
from pilotage.testing.chaos.plan import Plan
from pilotage.testing.chaos.report import Failure, Report
from pilotage.testing.chaos.runs import Run, Runner, Scenario, ScenarioRunner, many_runs
from pilotage.testing.chaos.timeline import timeline

if TYPE_CHECKING:
    from pilotage.manager.options import ManagerOptions
    from pilotage.testing.chaos.invariants import Invariant

PLANS = 200
_OTHER_SEEDS = 3
"""Each plan of this number has another seed: another order of tasks."""


def explore(
    scenario: Scenario,
    plans: int = PLANS,
    seed: int = 1,
    *,
    seconds: Seconds | None = None,
    faults: Collection[str] = (),
    options: ManagerOptions | None = None,
    invariants: Sequence[Invariant] = (),
) -> Report:
    """Run a scenario `plans` times, each time with other faults, and report the runs that end otherwise than without.

    All random choices follow the `seed`. `seconds` ends it earlier. `faults` are the kinds of faults to try, such as
    `killed-after`; all, unless some are given. `options` are the options of the manager, and `invariants` are checked
    after every write, as the functions that are declared in the module of the scenario. Raises the error of the
    scenario if it fails without faults.
    """
    if unknown := sorted({*faults} - KINDS.keys()):
        raise InvalidDefinition(f"unknown faults: {', '.join(unknown)}; there are: {', '.join(KINDS)}")
    return explored(
        ScenarioRunner(scenario, options, invariants), plans, seed, optional_seconds(seconds, "seconds"), faults
    )


def replay(
    plan: Plan | str | Path,
    scenario: Scenario,
    *,
    options: ManagerOptions | None = None,
    invariants: Sequence[Invariant] = (),
) -> Failure | None:
    """Run a scenario with one plan, or the plan of a file: the failure, as it was found; None if it is right now."""
    return replayed(plan if isinstance(plan, Plan) else Plan.load(plan), ScenarioRunner(scenario, options, invariants))


def replayed(plan: Plan, runner: Runner) -> Failure | None:
    """Run one plan again."""
    return _failure(runner.run(plan), _learned(runner, plan.seed))


def explored(
    runner: Runner, plans: int, seed: int, seconds: float | None = None, kinds: Collection[str] = ()
) -> Report:
    """Explore what a runner runs."""
    began = time.perf_counter()
    reference = _learned(runner, seed)
    faults = faults_of(reference.run.session)
    if kinds:
        faults.single = [fault for fault in faults.single if fault.kind in kinds]
    found = _Exploration(runner, reference)
    with many_runs() as ended:
        for plan in _plans(faults, seed, runner.name, found.failing):
            if found.plans >= plans or (seconds is not None and time.perf_counter() - began > seconds):
                break
            found.attempt(plan)
            ended()
    return Report(
        scenario=runner.name,
        seed=seed,
        plans=found.plans,
        failures=tuple(found.failures.values()),
        tried=found.tried,
        pruned=faults.pruned,
        left=max(0, len(faults.single) - found.plans),
        pairs=found.pairs,
        missed=found.missed,
        masks=len(reference.masks),
        doubts=reference.doubts,
        seconds=time.perf_counter() - began,
    )


def _learned(runner: Runner, seed: int) -> Reference:
    """Three undisturbed runs: two with the seed, one with another seed on another day. Raises their error."""
    runs = [
        runner.run(Plan(seed=seed, scenario=runner.name)),
        runner.run(Plan(seed=seed, scenario=runner.name)),
        runner.run(Plan(seed=seed + 1, scenario=runner.name), on_other_day=True),
    ]
    for run in runs:
        if run.error is not None:
            run.error.add_note(f"chaos: the scenario failed without faults (seed {run.plan.seed})")
            raise run.error
        if run.session.violation:
            raise AssertionError(f"{run.session.violation}, without faults (seed {run.plan.seed})")
    return reference_of(*runs)


@dataclass(slots=True)
class _Exploration:
    """What was tried and found so far."""

    runner: Runner
    reference: Reference
    failures: dict[tuple[str, ...], Failure] = field(default_factory=dict)
    """By their differences."""
    failing: set[Fault] = field(default_factory=set)
    """Single faults that lead to a failure: a pair with one of them shows nothing new."""
    tried: Counter[str] = field(default_factory=Counter)
    plans: int = 0
    pairs: int = 0
    missed: int = 0

    def attempt(self, plan: Plan) -> None:
        """Run a plan; shrink it if it fails."""
        run = self.runner.run(plan)
        self.plans += 1
        self.pairs += len(plan.faults) > 1
        self.missed += not run.session.hits
        self.tried.update(fault.kind for fault in run.session.hits)
        failure = _failure(run, self.reference)
        if failure is not None:
            self._add(_shrunk(failure, self.runner, self.reference))

    def _add(self, failure: Failure) -> None:
        if len(failure.plan.faults) == 1:
            self.failing.add(failure.plan.faults[0])
        known = self.failures.get(failure.differences)
        if known is not None:
            failure = replace(known, others=known.others + 1)
        self.failures[failure.differences] = failure


def _failure(run: Run, reference: Reference) -> Failure | None:
    """The failure of a run; None if it is right."""
    if not (differences := judged(run, reference)):
        return None
    return Failure(run.plan, differences, timeline(run.session))


def _shrunk(failure: Failure, runner: Runner, reference: Reference) -> Failure:
    """The failure with the fewest faults that still lead to one, and with the first seed if that does."""
    base = reference.run.plan.seed
    for plan in _smaller(failure.plan, base):
        smaller = _failure(runner.run(plan), reference)
        if smaller is not None:
            return _shrunk(smaller, runner, reference)
    return failure


def _smaller(plan: Plan, seed: int) -> Iterator[Plan]:
    """The plans with one fault less, with the first seed, and with a cache that is less behind."""
    faults = plan.faults
    if len(faults) > 1:
        for left_out in range(len(faults)):
            yield with_fields(plan, faults=faults[:left_out] + faults[left_out + 1 :])
    if plan.seed != seed:
        yield with_fields(plan, seed=seed)


def _apart(faults: Iterable[Fault]) -> list[Fault]:
    """The faults without a second one at the same point of the run."""
    found: dict[object, Fault] = {}
    for fault in faults:
        found.setdefault((fault.point, fault.resource if fault.point == "event" else "", fault.at), fault)
    return [*found.values()]


def _plans(faults: Faults, seed: int, name: str, failing: set[Fault]) -> Iterator[Plan]:
    """The single faults, then pairs without end."""
    single = faults.single
    for fault in single:
        yield Plan((fault,), seed, name)
    random = Random(seed)  # noqa: S311 - which pairs are tried can be repeated
    number = 0
    while single:
        number += 1
        candidates = _apart(fault for fault in random.sample(single, min(6, len(single))) if fault not in failing)
        other = seed if number % _OTHER_SEEDS else seed + 1 + random.randrange(1000)
        if not candidates and failing.issuperset(single):
            return
        if candidates:
            yield Plan(tuple(candidates[:2]), other, name)
