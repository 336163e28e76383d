"""Tests as scenarios: a test with the marker `pilotage_chaos` is run once for each plan, with fixtures of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from _pytest.runner import runtestprotocol

from pilotage.errors import InvalidDefinition
from pilotage.testing.chaos.exploring import PLANS, explored, replayed
from pilotage.testing.chaos.invariants import declared_in
from pilotage.testing.chaos.plan import Plan
from pilotage.testing.chaos.runs import Run, finished, quiet, template
from pilotage.testing.chaos.seeding import ChaosLoop, seeded
from pilotage.testing.chaos.session import Session

if TYPE_CHECKING:
    from pilotage.testing.chaos.report import Failure, Report

MARKER = "pilotage_chaos"
SESSION = pytest.StashKey[Session]()
"""The run that the test is in now."""
ERROR = pytest.StashKey[BaseException]()
"""The first error of this run."""
VERDICT = pytest.StashKey["Verdict"]()
"""What the runs have shown: the test passes or fails with it."""
STRENGTHS = {"quick": (25, 10.0), "ci": (None, 60.0), "night": (None, 8 * 3600.0)}
"""The most plans, and the seconds, of each test."""
_WITHOUT_LIMIT = 10**9
_DEFAULT_PLANS = 50


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a test ends."""

    error: BaseException | None = None
    """It fails without faults."""
    report: Report | None = None
    failure: Failure | None = None
    """Of one plan from a file."""

    def check(self) -> None:
        """Raise what makes the test fail."""
        __tracebackhide__ = True
        if self.error is not None:
            raise self.error
        if self.failure is not None:
            pytest.fail(str(self.failure), pytrace=False)
        if self.report is not None and self.report.failures:
            pytest.fail(str(self.report), pytrace=False)


def plans_of(item: pytest.Item) -> int | None:
    """How many plans a test asks for; None if it is no scenario."""
    marker = item.get_closest_marker(MARKER)
    if marker is not None:
        return int(marker.kwargs.get("plans", marker.args[0] if marker.args else _DEFAULT_PLANS))
    return PLANS if item.config.option.pilotage_chaos_all else None


def verdict_of(item: pytest.Item, plans: int) -> Verdict:
    """Run the test with its plans, or with the plan of a file."""
    option, runner = item.config.option, _ItemRunner(item)
    try:
        if option.pilotage_chaos_plan is not None:
            return Verdict(failure=_replayed(runner, option.pilotage_chaos_plan))
        most, seconds = _limits(option, plans)
        seed = int(option.pilotage_seed) or 1
        report = explored(runner, most, seed, seconds)
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        return Verdict(error=error)
    _save(report, option.pilotage_report)
    return Verdict(report=report)


def _limits(option: Any, plans: int) -> tuple[int, float | None]:
    """The most plans, and seconds, for a test that asks for a number of plans."""
    most, seconds = STRENGTHS.get(option.pilotage_chaos, (plans, None))
    most = min(most, plans) if most is not None else _WITHOUT_LIMIT
    return option.pilotage_chaos_plans or most, option.pilotage_chaos_seconds or seconds


def _replayed(runner: _ItemRunner, path: Path) -> Failure | None:
    plan = Plan.load(path)
    if plan.scenario not in (runner.name, ""):
        pytest.skip(f"{path} is a plan of {plan.scenario}")
    return replayed(plan, runner)


def _save(report: Report, folder: Path | None) -> None:
    """Leave the plans of failures as files."""
    if folder is None:
        return
    from pilotage.testing.plugin import file_name

    for number, failure in enumerate(report.failures, 1):
        folder.mkdir(parents=True, exist_ok=True)
        failure.plan.save(folder / file_name(report.scenario).replace(".html", f".{number}.plan.json"))


class _ItemRunner:
    """Runs one test, with its function-scoped fixtures made again each time."""

    def __init__(self, item: pytest.Item) -> None:
        self.name = item.nodeid
        self.module = str(getattr(getattr(item, "module", None), "__name__", ""))
        self._item = item
        self._invariants = declared_in(self.module)

    def run(self, plan: Plan, *, on_other_day: bool = False) -> Run:
        item, loop = self._item, ChaosLoop(plan.seed, on_other_day=on_other_day)
        session = Session(plan, loop, template(), self._invariants, dawdles=on_other_day)
        item.stash[SESSION] = session
        try:
            with seeded(plan.seed, loop), quiet(loop):
                runtestprotocol(item, log=False, nextitem=cast("pytest.Item", _Sibling(item)))
            error = item.stash.get(ERROR, None)
        finally:
            del item.stash[SESSION]
            item.stash.setdefault(ERROR, KeyError())
            del item.stash[ERROR]
            item._report_sections.clear()
        if error is None and not session.lives:
            raise InvalidDefinition(
                "chaos has no program to disturb: run it with `async with env.running(setup):`, where `setup` is the "
                "function that sets up its controllers"
            )
        return finished(session, error)


class _Sibling:
    """The next item, for pytest: fixtures of the test are torn down, and those of its module stay."""

    def __init__(self, item: pytest.Item) -> None:
        self._parent = item.parent

    def listchain(self) -> list[Any]:
        return [*(self._parent.listchain() if self._parent is not None else ()), self]
