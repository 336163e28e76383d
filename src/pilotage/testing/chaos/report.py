"""Failures, and the report of an exploration: what was tried, and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.meta.text.counts import counted
from pilotage.testing.chaos.faults import KINDS
from pilotage.testing.chaos.plan import Plan

_MOST_FAILURES = 20
_MOST_DIFFERENCES = 12


@dataclass(frozen=True, slots=True)
class Failure:
    """A plan under which the program ends otherwise than without faults. `print` shows it with its timeline."""

    plan: Plan
    """The fewest faults that lead to it."""
    differences: tuple[str, ...]
    """Each begins with the object that it is about: `Secret default/main: missing`."""
    timeline: tuple[str, ...] = field(default=(), compare=False)
    """The writes of the run, with the faults in their places."""
    others: int = field(default=0, compare=False)
    """How many further plans led to the same differences."""

    @property
    def difference(self) -> str:
        """All differences, one to a line."""
        return "\n".join(self.differences)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"FAIL {self.plan}"
        for number, text in enumerate(self.differences[:_MOST_DIFFERENCES]):
            yield f"  {'difference' if not number else '':<12}{text}"
        if (more := len(self.differences) - _MOST_DIFFERENCES) > 0:
            yield f"  {'':<12}and {counted(more, 'more difference')}"
        if why := "; ".join(dict.fromkeys(KINDS[fault.kind].why for fault in self.plan.faults)):
            yield f"  {'often':<12}{why}"
        if self.others:
            yield f"  {'also':<12}{counted(self.others, 'further plan')} with the same differences"
        yield "  timeline"
        yield from (f"    {line}" for line in self.timeline)


@dataclass(frozen=True, slots=True)
class Report:
    """What an exploration has tried and found. `print` shows it."""

    scenario: str
    seed: int
    plans: int
    """How many plans were run."""
    failures: tuple[Failure, ...]
    """The different failures, the most likely cause first."""
    tried: Counter[str]
    """How many faults of each kind happened."""
    pruned: Counter[str] = field(default_factory=Counter)
    """How many faults were left out, by the reason."""
    left: int = 0
    """Single faults for which there was no room."""
    pairs: int = 0
    """Plans with two faults."""
    missed: int = 0
    """Plans whose faults did not happen: the run took another way before."""
    masks: int = 0
    """Fields that were not compared, because their values are generated."""
    doubts: tuple[str, ...] = ()
    """What differs between two runs with the same seed."""
    seconds: float = 0.0

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        found = counted(len(self.failures), "failure") if self.failures else "no failures"
        yield f"chaos {self.scenario}: {counted(self.plans, 'plan')} in {self.seconds:.1f} s, {found}"
        kinds = sorted(self.tried.items(), key=lambda one: KINDS[one[0]].rank)
        yield f"  tried     {', '.join(f'{count} {kind}' for kind, count in kinds) or 'nothing'}"
        if self.pairs:
            yield f"  pairs     {counted(self.pairs, 'plan')} with two faults"
        if self.left:
            yield f"  left      {counted(self.left, 'single fault')}: raise `plans` to try them"
        if self.missed:
            yield f"  missed    {counted(self.missed, 'plan')} whose faults did not happen"
        for reason, count in self.pruned.items():
            yield f"  pruned    {count}: {reason}"
        if self.masks:
            yield f"  masked    {counted(self.masks, 'field')} whose value is generated"
        for doubt in self.doubts:
            yield f"  not deterministic: two runs with seed {self.seed} differ at {doubt}"
            yield "            (something does not follow the seed: datetime.now(), a thread, the order of a set)"
        for number, failure in enumerate(self.failures[:_MOST_FAILURES], 1):
            yield ""
            yield f"{number}. {failure}"
        if (more := len(self.failures) - _MOST_FAILURES) > 0:
            yield f"\nand {counted(more, 'more failure')}"

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        failures = [
            {
                "plan": msgspec.to_builtins(one.plan),
                "differences": list(one.differences),
                "timeline": list(one.timeline),
                "others": one.others,
            }
            for one in self.failures
        ]
        return {
            "scenario": self.scenario,
            "seed": self.seed,
            "plans": self.plans,
            "seconds": self.seconds,
            "tried": dict(self.tried),
            "pruned": dict(self.pruned),
            "doubts": list(self.doubts),
            "failures": failures,
        }
